import type pg from "pg";
import type { Engine } from "../db/engine.js";
import type { Middlewares } from "../job/middleware.js";
import type { Logger } from "../observe/logger.js";
import type { Metrics } from "../observe/metrics.js";
import type { Tracing } from "../observe/tracing.js";
import type { Slots } from "./slots.js";

/** What a worker is made of, beside its options. */
export interface WorkerParts {
  readonly engine: Engine;
  readonly pool: pg.Pool;
  readonly metrics: Metrics | undefined;
  readonly tracing: Tracing | undefined;
  /** Where failures and troubles are told. */
  readonly logger: Logger | undefined;
  /** What happens around runs. */
  readonly middlewares: Middlewares;
  /** The release of the application. */
  readonly release: string | null;
  /** Schedules that may not be in the code any more. */
  readonly undeclared: () => Promise<readonly string[]>;
  /** Where this is the part of a worker that serves one of several cells. */
  readonly cell?: WorkerCell;
}

/** What the part of a worker that serves one of several cells shares with the others, and has for itself. */
export interface WorkerCell {
  readonly name: string;
  readonly slots: Slots;
  /** Those of the worker's queues that are in this cell, by now. */
  readonly queues: () => readonly string[];
  /** Others serve it: this part takes no more jobs, and those that run may take as long as they do. */
  readonly isLeft: () => boolean;
}
