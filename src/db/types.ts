/** A value JSON can carry. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** A job's id: 64 bits with its creation time inside, always a string in JavaScript. */
export type JobId = string;

/** The one vocabulary of states. */
export type JobState = "delayed" | "ready" | "running" | "blocked" | "succeeded" | "failed" | "expired" | "cancelled";

/** Seconds to wait after each failed attempt: constant, a list whose last entry repeats, or exponential. */
export type RetryPolicy = number | readonly number[] | { readonly base?: number; readonly factor?: number; readonly cap?: number; readonly jitter?: number };

/** Options of one job. Every default is listed in docs/options.md. */
export interface EnqueueOptions {
  /** Queue name. Default `default`. */
  readonly queue?: string;
  /** 0 (most urgent) to 10. Default 5. */
  readonly priority?: number;
  /** Fairness key. Default none. */
  readonly group?: string;
  /** Tenant, for filters in listing, cancelling and counting. Default none. */
  readonly tenant?: string;
  /** Not before this time. Default the database's now. */
  readonly runAt?: Date | string;
  /** Not before this many seconds from now. Default 0. */
  readonly delaySeconds?: number;
  /** Must start by this time, else it expires. Default none. */
  readonly expiresAt?: Date | string;
  /**
   * Must start within this many seconds of the first time it could run. `"computed"`: must finish, counted from its first claim, within what all its
   * attempts and the delays between them take at most; needs an attempt timeout. Default none.
   */
  readonly ttlSeconds?: number | "computed";
  /** Must finish by this time, else it expires. Default none. */
  readonly deadline?: Date | string;
  /** How many attempts at most; `Infinity` for no limit. Default 25. */
  readonly maxAttempts?: number;
  /** How long one attempt may take. Default no limit. */
  readonly attemptTimeoutSeconds?: number;
  /** Delay before the next attempt. Default 1 s doubling up to 1 h, jitter 0.1. */
  readonly retry?: RetryPolicy;
  /** While a job with this fingerprint lives in the queue, another is not made. Default none. */
  readonly fingerprint?: string;
  /** What a duplicate does to the first one: nothing, replace its input, also push its run time, or queue one follow-up while it runs. Default `keep`. */
  readonly fingerprintMode?: "keep" | "replace" | "debounce" | "followUp";
  /** Keep refusing duplicates for this long after the enqueue, even when the first has finished. Default 0. */
  readonly fingerprintSeconds?: number;
  /** Small values carried beside the input. Default none. */
  readonly headers?: { readonly [key: string]: Json };
  /** Bytes carried beside the input. Large ones: `Engine.enqueueStream`. Default none. */
  readonly payload?: Uint8Array;
  /** Content type of the payload. Default none. */
  readonly contentType?: string;
  /** The schedule that made this job, and its slot; the pair is unique. Default none. */
  readonly schedule?: string;
  readonly slotAt?: Date | string;
}

/** A job to enqueue. */
export interface NewJob extends EnqueueOptions {
  readonly type: string;
  readonly input?: unknown;
}

/** What an enqueue answers. */
export interface Enqueued {
  readonly id: JobId;
  /** True when the fingerprint or schedule slot was taken; `id` is the job that has it. */
  readonly duplicate: boolean;
}

/** What to claim, for whom and for how long. */
export interface ClaimOptions {
  /** Queues to take from. Default `["default"]`. */
  readonly queues?: readonly string[];
  /** Types to take; unknown ones are left alone. Default all. */
  readonly types?: readonly string[];
  /** At most this many jobs, 1 to 10,000. Default 1. */
  readonly limit?: number;
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
  /** Report each start with `start`; when the claim is lost, jobs never started go back without using an attempt. Default false. */
  readonly trackStart?: boolean;
}

/** A job in the hands of whoever claimed it. */
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
  /** It was in a lost claim before and must not share its process with others. */
  readonly alone: boolean;
  readonly group?: string;
  readonly tenant?: string;
  readonly headers?: { readonly [key: string]: Json };
  readonly deadline?: Date;
  readonly attemptTimeoutMs?: number;
  /** Present up to 64 KiB; larger ones are read with `Engine.payloadRead`. */
  readonly payload?: Uint8Array;
  readonly payloadSize?: number;
  readonly contentType?: string;
  readonly source?: Json;
  readonly schedule?: string;
  readonly slotAt?: Date;
  readonly fingerprint?: string;
}

/** What an attempt died of; anything JSON can carry beside the message. */
export interface JobError {
  readonly message: string;
  readonly stack?: string;
  readonly name?: string;
  readonly code?: string;
  readonly [key: string]: Json | undefined;
}

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
  | { readonly token: string; readonly outcome: "retry"; readonly jobs: readonly JobId[]; readonly error?: JobError; readonly delaySeconds?: number }
  | { readonly token: string; readonly outcome: "released"; readonly jobs: readonly JobId[]; readonly delaySeconds?: number };

/** A job as the view `jobs` shows it. */
export interface JobRecord {
  readonly id: JobId;
  readonly queue: string;
  readonly type: string;
  readonly state: JobState;
  readonly reason: "permanent" | "exhausted" | "lost" | "purged" | null;
  readonly priority: number;
  readonly group: string | null;
  readonly tenant: string | null;
  readonly attempts: number;
  readonly maxAttempts: number;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly runAt: Date;
  readonly expiresAt: Date | null;
  readonly deadline: Date | null;
  readonly lastAttemptAt: Date | null;
  readonly finishedAt: Date | null;
  readonly worker: string | null;
  readonly leaseEndsAt: Date | null;
  readonly leaseEnded: boolean;
  /** When somebody decided that nobody will retry it; see `Engine.discard`. */
  readonly discardedAt: Date | null;
  readonly lastError: JobError | null;
  readonly result: Json;
  readonly attemptTimeoutMs: number | null;
  readonly retry: RetryPolicy | null;
  readonly fingerprint: string | null;
  readonly schedule: string | null;
  readonly scheduleSlot: Date | null;
  readonly source: Json;
  readonly headers: Json;
  readonly input: Json;
  readonly payloadSize: number | null;
  readonly contentType: string | null;
}

/** A finished attempt as the view `attempts` shows it. */
export interface AttemptRecord {
  readonly jobId: JobId;
  readonly attempt: number;
  readonly outcome: "succeeded" | "failed" | "lost" | "expired" | "cancelled";
  readonly finalState: JobState | null;
  readonly reason: string | null;
  readonly worker: string | null;
  readonly startedAt: Date;
  readonly finishedAt: Date;
  readonly error: JobError | null;
  readonly result: Json;
  /** What its handler noted, each line with its time. */
  readonly log: readonly string[] | null;
}

/** A job with its finished attempts and its latest progress. */
export interface JobDetails {
  readonly job: JobRecord;
  readonly attempts: readonly AttemptRecord[];
  readonly progress: Json;
}

/** How a job ended. */
export interface JobOutcome {
  readonly id: JobId;
  readonly state: "succeeded" | "failed" | "expired" | "cancelled" | "unknown";
  readonly reason: string | null;
  readonly result: Json;
  readonly error: JobError | null;
}

/** Which jobs to list: those that match all that is given. */
export interface ListFilter {
  readonly queue?: string;
  readonly state?: JobState;
  readonly type?: string;
  readonly tenant?: string;
  /** Only failed and expired jobs that wait for a decision: nobody has retried or discarded them. Default false. */
  readonly undecided?: boolean;
  readonly createdFrom?: Date;
  readonly createdTo?: Date;
  /** Only jobs older than this id: the last id of the page before. */
  readonly before?: JobId;
  /** 1 to 10,000. Default 100. */
  readonly limit?: number;
}

/** Which jobs to count; at least one filter. */
export interface CountFilter {
  readonly queue?: string;
  readonly type?: string;
  readonly tenant?: string;
  readonly group?: string;
  readonly createdFrom?: Date;
  readonly createdTo?: Date;
}

/** How many jobs are in each state. */
export type JobCounts = { readonly [State in JobState]: number };

/** Who decided, and why; kept with the job. */
export interface DecisionNote {
  readonly by?: string;
  readonly because?: string;
}

/** What somebody decided on a failed or expired job. */
export interface DecisionRecord {
  readonly jobId: JobId;
  readonly action: "retry" | "discard";
  /** How many attempts a retry added. */
  readonly attempts: number | null;
  readonly decidedAt: Date;
  readonly by: string | null;
  readonly because: string | null;
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

/** What one group has in a queue. */
export interface GroupDepth {
  /** Null for jobs without a group. */
  readonly group: string | null;
  /** Ready or blocked. */
  readonly waiting: number;
  readonly delayed: number;
  readonly running: number;
  /** For how long the oldest waiting one could have run; null when none waits. */
  readonly oldestAgeSeconds: number | null;
}

/** What one type has in a queue. */
export interface TypeDepth {
  readonly type: string;
  /** Ready or blocked. */
  readonly waiting: number;
  readonly delayed: number;
  readonly running: number;
  /** For how long the oldest waiting one could have run; null when none waits. */
  readonly oldestAgeSeconds: number | null;
}

/** Which jobs to cancel: those that match all that is given, and why. */
export interface CancelFilter {
  readonly queue?: string;
  readonly type?: string;
  readonly tenant?: string;
  readonly fingerprint?: string;
  readonly because?: string;
}

/** A queue as the view `queues` shows it. */
export interface QueueRecord {
  readonly name: string;
  readonly state: "active" | "paused";
  readonly options: Json;
  readonly pausedAt: Date | null;
  readonly pausedBy: string | null;
  readonly pausedBecause: string | null;
  readonly createdAt: Date;
  readonly waiting: number;
  readonly delayed: number;
  readonly running: number;
}

/** A part of a queue: a type, a group, or a group's jobs of a type. */
export interface QueuePart {
  readonly type?: string;
  readonly group?: string;
}

/** Something that is paused, as the view `pauses` shows it; without a type and a group, a whole queue. */
export interface PauseRecord {
  readonly queue: string;
  readonly type: string | null;
  readonly group: string | null;
  readonly pausedAt: Date;
  readonly pausedBy: string | null;
  readonly pausedBecause: string | null;
}

/** A group that something was set for, as the view `groups` shows it. */
export interface GroupRecord {
  readonly queue: string;
  readonly group: string;
  readonly weight: number;
}

/** How a group of a queue is treated. */
export interface GroupOptions {
  /** Its share beside other groups, an integer from 1 to 1000. Default 1; null puts it back. */
  readonly weight?: number | null;
}

/** How much a queue holds. */
export interface Depth {
  readonly ready: number;
  readonly blocked: number;
  readonly delayed: number;
  readonly running: number;
  readonly oldestReadyAt: Date | null;
  readonly oldestAgeSeconds: number | null;
}

/** Defaults that a cell, a queue or a type sets for its jobs. */
export interface Defaults {
  readonly priority?: number | null;
  readonly maxAttempts?: number | null;
  readonly ttlSeconds?: number | null;
  readonly attemptTimeoutSeconds?: number | null;
  readonly retry?: RetryPolicy | null;
  readonly leaseSeconds?: number | null;
  readonly leaseFactor?: number | null;
  readonly leaseCapSeconds?: number | null;
  readonly deadLetterQueue?: string | null;
  /** Of a queue or a type: the most jobs of it that run at once, in all processes together. Claimed ones count, started or not. */
  readonly maxRunning?: number | null;
  /** Of a queue: the most jobs of each group that run at once, in all processes together. */
  readonly groupMaxRunning?: number | null;
  /** Of a queue: the jobs of each group run one at a time, in order; one that is retried goes before its successors. */
  readonly ordered?: boolean | null;
  /** Of a queue: while this many jobs wait, ready or delayed, no more are accepted; see `QueueFullError`. */
  readonly maxDepth?: number | null;
  /** Of a queue: while a ready job has waited for longer than this, no more are accepted. */
  readonly maxAgeSeconds?: number | null;
  /** Of a queue without groups: when the oldest ready job has waited for longer than this, what waits is set aside, and newer jobs go first. */
  readonly freshnessSeconds?: number | null;
  /** Of a queue: when jobs run that do not ask for a time. */
  readonly drainsAt?: DrainTimes | null;
  /** Of a queue: periods in which no job's run time may lie; it becomes their end. */
  readonly blocked?: readonly BlockedPeriod[] | null;
}

/** Times of day at which a queue drains, in a zone; on these days (1 Monday to 7 Sunday), by default all. */
export interface DrainTimes {
  readonly times: readonly string[];
  readonly days?: readonly number[];
  readonly zone: string;
}

/** A period that comes again on each of its days (those on which it begins; by default all), or one that comes once. */
export type BlockedPeriod =
  | { readonly from: string; readonly to: string; readonly days?: readonly number[]; readonly zone: string }
  | { readonly from: string; readonly until: string };

/** How long finished things are kept, for the whole cell. */
export interface Retention {
  readonly retentionSucceededSeconds?: number | null;
  readonly retentionFailedSeconds?: number | null;
  readonly retentionExpiredSeconds?: number | null;
  readonly retentionCancelledSeconds?: number | null;
  readonly retentionAttemptsSeconds?: number | null;
  readonly retentionResultsSeconds?: number | null;
  /** Lowers the payload limit; the largest is 256,000,000, exclusive. */
  readonly payloadLimitBytes?: number | null;
}

/** How much a round of upkeep did. */
export interface MaintenanceReport {
  readonly lanes: number;
  readonly promoted: number;
  readonly reaped: number;
  readonly expired: number;
  readonly folded: number;
}

/** Which space a round of upkeep gave back. */
export interface SpaceReport {
  readonly ticketChildren: number;
  readonly jobChildren: number;
  readonly compacted: readonly string[];
  /** Cursors of groups that nothing is left of. */
  readonly groupsForgotten: number;
}
