import type { Cells } from "../cells/cells.js";
import type { Engine } from "../db/engine.js";
import type { JobId, Json } from "../db/types.js";
import type { Logger } from "../observe/logger.js";
import type { Worker } from "../worker/worker.js";
import type { WorkerParts } from "../worker/worker-parts.js";
import type { WorkerOptions } from "../worker/worker-options.js";
import type { MillraceOptions } from "./millrace-options.js";

/** Where jobs are kept: one cell, or several. What a client does differently there. */
export interface Place {
  readonly engine: Engine;
  readonly cells: Cells | undefined;
  /** A transaction of this number, which has not ended, has done something that is to be told when it has committed. */
  committing(xid: string, told: Told): void;
  /** The result of a job, once it has succeeded. */
  result(job: JobId, timeoutMs: number, signal?: AbortSignal): Promise<Json>;
  worker(options: WorkerOptions, parts: Omit<WorkerParts, "engine" | "pool" | "cell">): Worker;
  /** Tell what is left to tell. */
  settle(): Promise<void>;
  /** Close the connections that are its own. */
  close(): Promise<void>;
}

/** What a client gives to its place. */
export interface PlaceParts {
  readonly options: Pick<MillraceOptions, "citus" | "schema" | "prepare">;
  readonly logger: Logger | undefined;
  /** Tell of what was stored, now that it is committed. */
  readonly tell: (told: Told) => void;
}

/** What follows from something that was stored. */
export interface Told {
  /** Queues whose workers are to be woken. */
  readonly queues: readonly string[];
  /** On Citus: whose node they are woken on. */
  readonly near?: string;
  /** A job that something has happened to: who waits for that is to go on. */
  readonly job?: JobId;
}
