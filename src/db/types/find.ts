import type { DecisionNote } from "./failure.js";
import type { JobId, JobState } from "./job.js";

/** Which jobs to list: those that match all that is given. */
export interface ListFilter {
  readonly queue?: string;
  readonly state?: JobState;
  readonly type?: string;
  readonly tenant?: string;
  /** Only failed and expired jobs that wait for a decision: nobody has retried or discarded them. Default false. */
  readonly undecided?: boolean;
  /** Enqueued at this time or later. */
  readonly since?: Date;
  /** Enqueued before this time. */
  readonly until?: Date;
  /** Only jobs older than this id: the last id of the page before. */
  readonly before?: JobId;
  /** 1 to 10,000. Default 100. */
  readonly limit?: number;
}

/** Which jobs to find, and for how long to look. */
export interface FindFilter extends ListFilter {
  readonly group?: string;
  readonly fingerprint?: string;
  /** A part of the last error's message, whatever the case of its letters. */
  readonly error?: string;
  /** The kind of the last error, as `failures` tells it (`fingerprint`). */
  readonly failure?: string;
  /** Only jobs that ended at this time or later. */
  readonly endedSince?: Date | string;
  /** Only jobs that ended before this time. */
  readonly endedUntil?: Date | string;
  /** A part of the input as it is written, whatever the case; JSON in brackets: what the input contains. */
  readonly input?: string;
  /** A part of the names of its queue, type, group, tenant, of its fingerprint, its input or its last error. */
  readonly text?: string;
  /** Only jobs that have not ended. Default false. */
  readonly isLive?: boolean;
  /** After this long, what was found until then is the answer. Default 2. */
  readonly seconds?: number;
}

/** Ids of jobs that were found, newest first, and the `before` to go on with: null when that was all. */
export interface Found {
  readonly ids: readonly JobId[];
  readonly next: JobId | null;
}

/** Which jobs to count; at least one filter. */
export interface CountFilter {
  readonly queue?: string;
  readonly type?: string;
  readonly tenant?: string;
  readonly group?: string;
  /** Enqueued at this time or later. */
  readonly since?: Date;
  /** Enqueued before this time. */
  readonly until?: Date;
}

/** How many jobs are in each state. */
export type JobCounts = { readonly [State in JobState]: number };

/** Which jobs to cancel: those that match all that is given; who does it, and why. */
export interface CancelFilter extends DecisionNote {
  readonly queue?: string;
  readonly type?: string;
  readonly tenant?: string;
  readonly fingerprint?: string;
}

/** Which attempts to look at, and how far back. */
export interface RunStatsFilter {
  readonly type?: string;
  readonly queue?: string;
  /** Windows up to now, 1 to 100 of them. Default `[60, 3600, 86400]`. */
  readonly windowsSeconds?: readonly number[];
}

/** How many attempts of a type ended within a window up to now, and how long they took from claim to end. */
export interface RunStats {
  readonly type: string;
  readonly windowSeconds: number;
  /** All of them; those neither succeeded nor failed were lost, cancelled or expired. */
  readonly runs: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly totalSeconds: number;
  readonly averageSeconds: number | null;
  /** Of the one that ended last. */
  readonly lastSeconds: number | null;
  readonly lastFinishedAt: Date | null;
}
