import type { JobError, JobId, Json } from "./job.js";
import type { NewStep, Wait } from "./steps.js";

/** What to claim, for whom and for how long. */
export interface ClaimOptions {
  /** Queues to take from. Default `["default"]`. */
  readonly queues?: readonly string[];
  /** Types to take; unknown ones are left alone. Default all. */
  readonly types?: readonly string[];
  /** At most this many jobs, 1 to 10,000. Default 1. */
  readonly limit?: number;
  /** Where groups are `ordered: "batches"`, at most this many jobs of each group. Default no bound of its own. */
  readonly groupLimit?: number;
  /** At most this many bytes of input and inline payload, but always one job. Default 64 MiB. */
  readonly maxBytes?: number;
  /** Who claims; shown in listings. Default none. */
  readonly worker?: string;
  /** Length of the lease. Default that of the type, the queue, the cell, or 30. */
  readonly leaseSeconds?: number;
  /** Growth of the lease with each attempt: `lease * factor ^ (attempt - 1)`. Default none. */
  readonly leaseFactor?: number;
  /** The longest a growing lease gets. Default 43,200. */
  readonly leaseCapSeconds?: number;
  /**
   * Report each start with `start`; when the claim is lost, jobs never started go back without using an attempt.
   * Default false.
   */
  readonly trackStart?: boolean;
}

/** A job in the hands of the worker, or other caller, that claimed it. */
export interface ClaimedJob {
  readonly id: JobId;
  readonly token: string;
  readonly queue: string;
  readonly type: string;
  readonly priority: number;
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly input: Json;
  readonly createdAt: Date;
  readonly claimedAt: Date;
  readonly leaseEndsAt: Date;
  /**
   * Where something is limited, in order, or one at a time: a number higher than that of every job handed out there
   * before. Store it beside what you write, and refuse lower ones: then a process that was frozen cannot write after
   * its successor.
   */
  readonly fence?: number;
  /** It was in a lost claim before and must not share its process with others. */
  readonly alone: boolean;
  readonly group?: string;
  readonly tenant?: string;
  readonly headers?: { readonly [key: string]: Json };
  readonly deadline?: Date;
  readonly attemptTimeoutSeconds?: number;
  /** Present up to 64 KiB; larger ones are read with `Engine.payloadRead`. */
  readonly payload?: Uint8Array;
  readonly payloadSize?: number;
  readonly contentType?: string;
  readonly source?: Json;
  readonly schedule?: string;
  readonly slotAt?: Date;
  readonly fingerprint?: string;
  /** The job that started it as one of its steps. */
  readonly parent?: JobId;
}

/** What it takes to report on a job. */
export type Held = Pick<ClaimedJob, "id" | "token">;

/** What became of some jobs of one claim. */
export type Settlement =
  | {
      readonly token: string;
      readonly outcome: "succeeded";
      readonly jobs: readonly JobId[];
      /** One per job, in the same order. */
      readonly results?: readonly unknown[];
      /** Notes of each attempt, one list per job; null where there are none. */
      readonly logs?: readonly (readonly string[] | null)[];
    }
  | { readonly token: string; readonly outcome: "failed"; readonly jobs: readonly JobId[]; readonly error?: JobError }
  | {
      readonly token: string;
      readonly outcome: "retryLater";
      readonly jobs: readonly JobId[];
      readonly error?: JobError;
      readonly delaySeconds?: number;
    }
  | {
      readonly token: string;
      readonly outcome: "released";
      readonly jobs: readonly JobId[];
      readonly delaySeconds?: number;
    }
  | {
      readonly token: string;
      readonly outcome: "suspended";
      /** One. */
      readonly jobs: readonly [JobId];
      /** What it waits for: the first that comes true brings it back. */
      readonly waits: readonly Wait[];
      /** What it has done, and not told yet. */
      readonly steps?: readonly NewStep[];
    };
