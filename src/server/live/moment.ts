import type { MissingCell, QueueState } from "../../db/types.js";

/** One queue at one moment; rates are per second, null while nothing is known. */
export interface LiveQueue {
  readonly queue: string;
  readonly state: QueueState;
  readonly ready: number;
  /** Behind a pause, an open breaker, or a queue that is waited for. */
  readonly blocked: number;
  /** Not due yet; suspended ones are counted apart, as states are. */
  readonly delayed: number;
  readonly suspended: number;
  readonly running: number;
  readonly oldestReadySeconds: number | null;
  readonly in: number | null;
  readonly out: number | null;
  readonly failed: number | null;
  /** With several cells: those that have something of it. */
  readonly cell?: string;
}

/** All queues at one moment. */
export interface Overview {
  readonly at: Date;
  readonly queues: number;
  readonly ready: number;
  readonly blocked: number;
  /** Not due yet; suspended ones are counted apart, as states are. */
  readonly delayed: number;
  readonly suspended: number;
  readonly running: number;
  /** How often jobs failed for good, whatever was decided on them since. */
  readonly failedLastHour: number;
  /** False: at least so often. */
  readonly failedLastHourIsExact: boolean;
  readonly oldestReadySeconds: number | null;
  readonly rates: {
    readonly enqueuedPerSecond: number | null;
    readonly finishedPerSecond: number | null;
    readonly failedPerSecond: number | null;
  };
  readonly latency: { readonly p50: number | null; readonly p95: number | null };
  /** Of processes whose heartbeat is not late, idle ones too. */
  readonly workers: number;
  /** Who holds jobs, whether a process tells of them or not. */
  readonly holders: number;
  /** What the doctor found wrong. */
  readonly warnings: number;
  /** Those that fire and are not silenced. */
  readonly alerts: number;
  /** With several cells: those that do not answer. */
  readonly missing?: readonly MissingCell[];
}

/** What viewers get. */
export interface Moment {
  readonly overview: Overview;
  readonly queues: readonly LiveQueue[];
}
