import type { ClaimedJob, JobId, ObeyedOrder } from "../db/types.js";
import type { StepEnd } from "../steps/observer.js";

/** What a worker tells, each with the job it is about. Listed in docs/observability.md; a test compares. */
export interface WorkerEvents {
  /** A handler is about to be called. */
  start: [job: ClaimedJob];
  /** A handler returned; the success is about to be recorded. */
  success: [job: ClaimedJob, durationSeconds: number];
  /** An attempt failed; `final` when the handler said that no other will follow. */
  failure: [job: ClaimedJob, error: unknown, final: boolean];
  /** The handler gave the job back. */
  released: [job: ClaimedJob];
  /** The handler waits for time, a signal or other jobs: it goes on when that has come, here or elsewhere. */
  suspended: [job: ClaimedJob, durationSeconds: number];
  /** A handler goes on with a run that began before. */
  resumed: [job: ClaimedJob];
  /** A try of a step has ended: it is done, has failed, or will be tried again. */
  step: [job: ClaimedJob, end: StepEnd];
  /** The job was taken away: cancelled, expired, or its lease ended. */
  lost: [job: ClaimedJob];
  /** A report came too late and changed nothing. */
  refused: [ids: readonly JobId[]];
  /** A handler went on after its jobs had ended; its slot was given to others. */
  abandoned: [jobs: readonly ClaimedJob[]];
  /**
   * Schedules of this application that are in the database, and were declared by others than this process: perhaps they
   * are not in the code any more.
   */
  undeclared: [schedules: readonly string[]];
  /**
   * Somebody ordered from afar that it takes no jobs, or runs so many at once, or such an order has changed; undefined
   * when the last one has ended.
   */
  ordered: [order: ObeyedOrder | undefined];
  /** It was ordered to drain, and the last handler has ended: it may be stopped. */
  drained: [];
  /** Something failed around the handlers, such as the connection. The worker goes on. */
  error: [error: unknown];
  started: [];
  stopped: [];
}

export const workerEventNames = [
  "start",
  "success",
  "failure",
  "released",
  "suspended",
  "resumed",
  "step",
  "lost",
  "refused",
  "abandoned",
  "undeclared",
  "ordered",
  "drained",
  "error",
  "started",
  "stopped",
] as const satisfies readonly (keyof WorkerEvents)[];
