import type { JobError, JobId } from "./job.js";

/** Who decided, and why; kept with the job. */
export interface DecisionNote {
  readonly by?: string;
  readonly because?: string;
}

/** What somebody decided on a failed or expired job, or that somebody cancelled it. */
export interface DecisionRecord {
  readonly jobId: JobId;
  readonly action: "retry" | "discard" | "cancel";
  /** How many attempts a retry added. */
  readonly attempts: number | null;
  readonly decidedAt: Date;
  readonly by: string | null;
  readonly because: string | null;
}

/** Which failures to look at. */
export interface FailureFilter {
  readonly queue?: string;
  readonly type?: string;
  /** Only jobs that failed at this time or later. Default any. */
  readonly since?: Date | string;
  /** Only jobs that failed before this time. Default any. */
  readonly until?: Date | string;
  /** How many groups, 1 to 10,000. Default 100. */
  readonly limit?: number;
}

/** Failed jobs whose errors are alike but for numbers, ids and quoted texts. */
export interface FailureGroup {
  /** 16 hexadecimal digits; see `Jobs.failureRetry`. */
  readonly fingerprint: string;
  /** Name, code and message of the newest job's error. */
  readonly name: string | null;
  readonly code: string | null;
  readonly message: string | null;
  readonly jobs: number;
  readonly firstAt: Date;
  readonly lastAt: Date;
  readonly types: readonly string[];
  readonly queues: readonly string[];
  /** The newest of them, to look at. */
  readonly lastJobId: JobId;
}

/** Which failed jobs to retry: those that match all that is given, oldest first. */
export interface FailureRetry extends DecisionNote {
  /** Only those of this group of failures. Default all. */
  readonly fingerprint?: string;
  readonly queue?: string;
  readonly type?: string;
  /** Only jobs that failed at this time or later. Default any. */
  readonly since?: Date | string;
  /** Only jobs that failed before this time. Default any. */
  readonly until?: Date | string;
  /** How many more attempts each gets. Default 1. */
  readonly attempts?: number;
  /** Let only so many become ready per second. Default all at once. */
  readonly perSecond?: number;
  /** When the first one becomes ready. Default now. */
  readonly startAt?: Date | string;
  /** At most this many jobs in one batch, 1 to 10,000. Default 1000. A batch may have less, and more follow. */
  readonly limit?: number;
  /** Where the batch before has stopped; part of its answer. */
  readonly after?: JobId;
  /** Only count them. Default false. */
  readonly dryRun?: boolean;
}

/** What became of a batch, and what to ask for next: null when that was all. */
export interface FailuresRetried {
  readonly jobs: number;
  readonly next: FailureRetry | null;
}

/**
 * Which jobs to replay: those that ended within a time range and match all that is given, in the order in which they
 * were enqueued.
 */
export interface Replay {
  /** Ended at this time or later. */
  readonly since: Date | string;
  /** Ended before this time. Default the database's now. */
  readonly until?: Date | string;
  readonly queue?: string;
  readonly type?: string;
  /** Ended in one of these states. Default succeeded and failed. */
  readonly states?: readonly ("succeeded" | "failed" | "expired")[];
  /** The queue the copies go to. Default the one their job was in. */
  readonly target?: string;
  /** Let only so many become ready per second. Default all at once. */
  readonly perSecond?: number;
  /** When the first copy becomes ready. Default now. */
  readonly startAt?: Date | string;
  /** Make no copies, only count. Default false. */
  readonly dryRun?: boolean;
  /**
   * At most this many jobs: of `Engine.replay` in one batch, 1 to 10,000, default 1000; of `Jobs.replay` in all,
   * default no limit.
   */
  readonly limit?: number;
  /** Where the batch before has stopped; part of its answer. */
  readonly after?: JobId;
}

/** How many copies were made, and what to ask for next: null when that was all. */
export interface Replayed {
  readonly jobs: number;
  readonly next: Replay | null;
}

/** A circuit breaker that has counted something, as the view `breakers` shows it. */
export interface BreakerRecord {
  readonly queue: string;
  readonly type: string;
  /** `half-open`: the pause is over, and one job at a time is tried. */
  readonly state: "closed" | "open" | "half-open";
  /** Failures counted while it is closed. */
  readonly failures: number | null;
  /** With how many it opens. */
  readonly opensAt: number;
  readonly openedAt: Date | null;
  readonly openUntil: Date | null;
  readonly pauseSeconds: number | null;
  readonly failedAt: Date | null;
  readonly lastError: JobError | null;
  /** With several cells: the one it is in. */
  readonly cell?: string;
}
