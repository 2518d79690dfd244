/** A value JSON can carry. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** A job's id: 64 bits with its creation time inside, always a string in JavaScript. */
export type JobId = string;

/** The one vocabulary of states. */
export type JobState = "delayed" | "ready" | "running" | "blocked" | "succeeded" | "failed" | "expired" | "cancelled";

/** Seconds to wait after each failed attempt: constant, a list whose last entry repeats, or exponential. */
export type RetryPolicy =
  | number
  | readonly number[]
  | { readonly base?: number; readonly factor?: number; readonly cap?: number; readonly jitter?: number };

/**
 * What to do about a certain error. It matches when the error's `code` is this one and its message or name matches the
 * `pattern`; a rule has one of them at least. The first rule that matches decides. See docs/failures.md.
 *
 * @example
 * ```ts
 * const rules: ErrorRule[] = [
 *   { code: "ECONNREFUSED", delays: [10, 60, 600] },
 *   { pattern: "^invalid", fail: true },
 * ];
 * ```
 */
export type ErrorRule = (
  | { readonly code: string; readonly pattern?: string }
  | {
      readonly code?: string;
      /** A regular expression of PostgreSQL, at most 200 characters. `(?i)` in front of it ignores case. */
      readonly pattern: string;
    }
) &
  (
    | {
        /**
         * Seconds before each retry: as many retries as the list is long, whatever `maxAttempts` says, then the job has
         * failed.
         */
        readonly delays: readonly number[];
      }
    | {
        /** The delay before the next attempt; `maxAttempts` holds. */
        readonly retry: RetryPolicy;
      }
    | {
        /** The job has failed at once, as if its handler had thrown a `PermanentError`. */
        readonly fail: true;
      }
  );

/** When a type of a queue is held back, because everything fails, and for how long. See docs/failures.md. */
export interface BreakerOptions {
  /** As many failures, and no success between them, open it. Default 5. */
  readonly failures?: number;
  /** All of them within this time. Default 60. */
  readonly seconds?: number;
  /**
   * For how long nothing is handed out then; doubled each time the one job that is tried afterwards fails too. Default
   * 30.
   */
  readonly pauseSeconds?: number;
  /** The longest a doubled pause gets. Default 3600. */
  readonly pauseCapSeconds?: number;
}

/** Options of one job. Every default is listed in docs/options.md. */
export interface EnqueueOptions {
  /** Queue name. Default `default`. */
  readonly queue?: string;
  /** 0 (most urgent) to 10. Default 5. */
  readonly priority?: number;
  /** Fairness key. Default none. */
  readonly group?: string;
  /** How much of its group's turns it takes, 1 to 1,000,000: groups share costs, not numbers of jobs. Default 1. */
  readonly cost?: number;
  /**
   * What it needs while it runs, and how many units of each: `{ gpu: 1, "api:stripe": 2 }`. Resources are made with
   * `resources.put`. Default those of its type or queue.
   */
  readonly resources?: { readonly [resource: string]: number };
  /** Tenant, for filters in listing, cancelling and counting. Default none. */
  readonly tenant?: string;
  /** Not before this time. Default the database's now. */
  readonly runAt?: Date | string;
  /** Not before this many seconds from now. Default 0. */
  readonly delaySeconds?: number;
  /** Must start by this time, else it expires. Default none. */
  readonly expiresAt?: Date | string;
  /**
   * Must start within this many seconds of the first time it could run. `"computed"`: must finish, counted from its
   * first claim, within what all its attempts and the delays between them take at most; needs an attempt timeout.
   * Default none.
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
  /**
   * What a duplicate does to the first one: nothing, replace its input, also push its run time, or queue one follow-up
   * while it runs; `window`: nothing, and only within `fingerprintSeconds`. Default `keep`.
   */
  readonly fingerprintMode?: "keep" | "replace" | "debounce" | "followUp" | "window";
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
  /** Accepted, but not handed out before this stage of its queue is released. Default none. */
  readonly stage?: string;
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
  | {
      readonly token: string;
      readonly outcome: "retry";
      readonly jobs: readonly JobId[];
      readonly error?: JobError;
      readonly delaySeconds?: number;
    }
  | {
      readonly token: string;
      readonly outcome: "released";
      readonly jobs: readonly JobId[];
      readonly delaySeconds?: number;
    };

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
  /** The stage it waits in; null when it is in none, or was released. */
  readonly stage: string | null;
  /** How much of its group's turns it takes. */
  readonly cost: number;
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

/** Which jobs to find, and for how long to look. */
export interface FindFilter extends ListFilter {
  readonly group?: string;
  readonly fingerprint?: string;
  /** A part of the last error's message, whatever the case of its letters. */
  readonly error?: string;
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
  /** 16 hexadecimal digits; see `Jobs.retryFailures`. */
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
  /** How many more attempts each gets. Default 1. */
  readonly attempts?: number;
  /** Let only so many become ready per second. Default all at once. */
  readonly perSecond?: number;
  /** When the first one becomes ready. Default now. */
  readonly startAt?: Date | string;
  /** At most this many jobs in one batch, 1 to 10,000. Default 1000. */
  readonly limit?: number;
  /** Where the batch before has stopped; part of its answer. */
  readonly after?: JobId;
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
  readonly from: Date | string;
  /** Ended before this time. Default the database's now. */
  readonly to?: Date | string;
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
  /** Its part of all that waits in the queue, from 0 to 1. */
  readonly share: number;
  /** So much waits that `waiting`, `delayed` and `share` were estimated from a sample. */
  readonly estimated: boolean;
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
  /** `finished`, `paused`, `waiting` for other queues, `closed` for new jobs, or `active`: the first that holds. */
  readonly state: QueueState;
  readonly options: Json;
  readonly pausedAt: Date | null;
  readonly pausedBy: string | null;
  readonly pausedBecause: string | null;
  readonly createdAt: Date;
  readonly waiting: number;
  /** Staged ones among them. */
  readonly delayed: number;
  readonly running: number;
  readonly staged: number;
  /** The queues it waits for: those of `waitsFor` that have not finished. */
  readonly waitsFor: readonly string[];
  readonly closedAt: Date | null;
  readonly closedBy: string | null;
  readonly closedBecause: string | null;
  readonly finishedAt: Date | null;
}

/** The states of a queue. */
export type QueueState = "active" | "paused" | "waiting" | "closed" | "finished";

/** What can happen to a queue; see docs/queue-states.md. */
export const queueEventNames = [
  "paused",
  "resumed",
  "closed",
  "opened",
  "finished",
  "released",
  "stageReleased",
  "stageCancelled",
  "recounted",
] as const;

/** Something that happened to a queue. */
export interface QueueEvent {
  readonly at: Date;
  readonly queue: string;
  readonly event: (typeof queueEventNames)[number];
  /** Who did it; `millrace` when nobody did. */
  readonly by?: string;
  readonly because?: string;
  /** The part of the queue that was paused or resumed. */
  readonly type?: string;
  readonly group?: string;
  /** The job whose failure paused the queue. */
  readonly jobId?: JobId;
  readonly stage?: string;
  /** How many jobs were released or cancelled with their stage. */
  readonly jobs?: number;
}

/** A stage of a queue that holds jobs, as the view `stages` shows it. */
export interface StageRecord {
  readonly queue: string;
  readonly stage: string;
  readonly jobs: number;
  /** When the oldest of them was enqueued. */
  readonly since: Date;
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
  /** The job whose failure paused the queue; see `onFailure`. */
  readonly jobId: JobId | null;
}

/** A group that something was set for, as the view `groups` shows it. */
export interface GroupRecord {
  readonly queue: string;
  readonly group: string;
  readonly weight: number;
  readonly maxRunning: number | null;
  readonly rate: Rate | null;
}

/** How a group of a queue is treated. */
export interface GroupOptions {
  /** Its share beside other groups, an integer from 1 to 1000. Default 1; null puts it back. */
  readonly weight?: number | null;
  /** The most of its jobs that run at once. Default the queue's `groupMaxRunning`; null puts it back. */
  readonly maxRunning?: number | null;
  /** How often its jobs may start. Default the queue's `groupRate`; null puts it back. */
  readonly rate?: Rate | null;
}

/** A rate: so many a second on average, and so many at once after a pause. */
export interface Rate {
  /** Above 0; 0.1 is one in ten seconds. */
  readonly perSecond: number;
  /** At least 1. Default what a second brings, at least 1. */
  readonly burst?: number;
}

/** Of something jobs need while they run: how many units there are, how often they may be taken, or both. */
export interface ResourceOptions {
  readonly maxRunning?: number | null;
  readonly rate?: Rate | null;
}

/** A limit that was set, as the view `limits` shows it. */
export interface LimitRecord {
  readonly kind: "queue" | "each group" | "group" | "type" | "resource";
  readonly queue: string | null;
  /** Of the group, the type or the resource. */
  readonly name: string | null;
  readonly maxRunning: number | null;
  readonly rate: Rate | null;
  /** Jobs, or units of a resource. Null for groups. */
  readonly inUse: number | null;
}

/** How much a queue holds. */
export interface Depth {
  readonly ready: number;
  readonly blocked: number;
  readonly delayed: number;
  readonly running: number;
  /** How many of the delayed ones are staged. */
  readonly staged: number;
  readonly oldestReadyAt: Date | null;
  readonly oldestAgeSeconds: number | null;
}

/** Defaults that a cell, a queue or a type sets for its jobs. */
export interface Defaults {
  readonly priority?: number | null;
  /** How much of its group's turns a job takes: 1 to 1,000,000. Default 1. */
  readonly cost?: number | null;
  readonly maxAttempts?: number | null;
  readonly ttlSeconds?: number | null;
  readonly attemptTimeoutSeconds?: number | null;
  readonly retry?: RetryPolicy | null;
  /** What to do about certain errors, instead of `retry`; the first rule that matches decides. */
  readonly errorRules?: readonly ErrorRule[] | null;
  /** Of a queue or a type: hold back a type that keeps failing. `{}` for the defaults. */
  readonly breaker?: BreakerOptions | null;
  readonly leaseSeconds?: number | null;
  readonly leaseFactor?: number | null;
  readonly leaseCapSeconds?: number | null;
  readonly deadLetterQueue?: string | null;
  /**
   * Of a queue with a `deadLetterQueue`: so many attempts are the last, whatever `maxAttempts` its jobs have. Read when
   * an attempt ends. Default none.
   */
  readonly deadLetterAfter?: number | null;
  /**
   * Of a queue: whether a job whose lease has ended is claimed alone afterwards, in case it was what killed its worker.
   * Default true.
   */
  readonly lostAlone?: boolean | null;
  /**
   * Jobs become one step of priority more urgent for each time this long that they have waited, so that urgent ones
   * never starve them. Default none: strict.
   */
  readonly agingSeconds?: number | null;
  /**
   * Of a queue or a type: the most jobs of it that run at once, in all processes together. Claimed ones count, started
   * or not.
   */
  readonly maxRunning?: number | null;
  /** Of a queue or a type: how often jobs of it may start, in all processes together. */
  readonly rate?: Rate | null;
  /** Of a queue or a type: what its jobs need while they run, unless they say so themselves. */
  readonly resources?: { readonly [resource: string]: number } | null;
  /**
   * Of a queue: how many jobs each tenant (`tenant`) may enqueue. Above it an enqueue is refused with QueueFullError,
   * or, with `spillPriority`, accepted with that priority: a slower lane for whoever sends too much.
   */
  readonly enqueueRate?: (Rate & { readonly spillPriority?: number }) | null;
  /** Of a queue: how often jobs of each group may start. */
  readonly groupRate?: Rate | null;
  /** Of a queue: the most jobs of each group that run at once, in all processes together. */
  readonly groupMaxRunning?: number | null;
  /**
   * Of a queue: the jobs of each group run one at a time, in order; one that is retried goes before its successors.
   * With `"batches"` one claim may take several of a group, in order, and no other takes what follows them until they
   * have ended; those that come back go first, by their age.
   */
  readonly ordered?: boolean | "batches" | null;
  /** Of a queue: its jobs wait until all these queues have finished. */
  readonly waitsFor?: readonly string[] | null;
  /** Of a queue: whether a job that fails for good pauses it, for somebody to decide. Default `continue`. */
  readonly onFailure?: "continue" | "pause" | null;
  /** Of a queue: stages that are released one after another, once it is closed and everything else of it has ended. */
  readonly finalStages?: readonly string[] | null;
  /** Of a queue: while this many jobs wait, ready or delayed, no more are accepted; see `QueueFullError`. */
  readonly maxDepth?: number | null;
  /** Of a queue: while a ready job has waited for longer than this, no more are accepted. */
  readonly maxAgeSeconds?: number | null;
  /**
   * Of a queue without groups: when the oldest ready job has waited for longer than this, what waits is set aside, and
   * newer jobs go first.
   */
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
  /** Queues that have finished. */
  readonly finished: number;
  /** Some queue has very many lanes: `lanesRest` has something to do. */
  readonly crowded?: boolean;
  /** Parts that failed, each with its error; the others were done. */
  readonly failed?: Readonly<Record<string, string>>;
}

/** Which space a round of upkeep gave back. */
export interface SpaceReport {
  readonly ticketChildren: number;
  readonly jobChildren: number;
  readonly compacted: readonly string[];
  /** Cursors of groups that nothing is left of. */
  readonly groupsForgotten: number;
  /** Lanes that had nothing, and of which nothing is left. */
  readonly lanesForgotten: number;
}

/** A job that somebody holds, as the view `claims` shows it. */
export interface RunningJob {
  readonly id: JobId;
  readonly queue: string;
  readonly type: string;
  readonly priority: number;
  readonly attempt: number;
  readonly worker: string | null;
  /** When it was claimed. */
  readonly startedAt: Date;
  readonly elapsedSeconds: number;
  readonly leaseEndsAt: Date;
  /** False while it waits in its worker; see `ClaimOptions.trackStart`. */
  readonly isStarted: boolean;
  readonly progress: Json;
}

/** Somebody who holds jobs. Workers that hold none are not known to the database. */
export interface WorkerRecord {
  /** As it calls itself: by default the name of its host and its process id. Null for claims without a name. */
  readonly name: string | null;
  readonly held: number;
  /** Of those held, how many have started. */
  readonly running: number;
  readonly types: readonly string[];
  readonly queues: readonly string[];
  /** The oldest of its claims. */
  readonly since: Date;
}

/** What a sample is to tell beside counts. */
export interface LiveSampleOptions {
  /** What was enqueued and ended since then, which is the `to` of an earlier sample. Default nothing of it. */
  readonly from?: Date;
  /** The `ends` of a sample that was taken before `from`. Default only the last pages of the logs are read. */
  readonly ends?: readonly number[];
  /** Since when the oldest ready jobs wait. Default true. */
  readonly ages?: boolean;
  /** How many jobs failed within the last hour. Default true. */
  readonly failures?: boolean;
}

/** All queues at one moment, and what happened to them since another; see `Engine.liveSample`. */
export interface LiveSample {
  readonly now: Date;
  /** The time that `made` and `ended` are about; `from` is null when no time was given. `to` is for the next call. */
  readonly from: Date | null;
  readonly to: Date;
  /** Where the logs end: for a later call. */
  readonly ends: readonly number[];
  /** Jobs enqueued, by queue; null when no time was given. */
  readonly made: { readonly [queue: string]: number } | null;
  /** What ended, by queue; `""` is all of them. Null when no time was given. */
  readonly ended: {
    readonly [queue: string]: {
      readonly ended: number;
      readonly failed: number;
      readonly p50: number | null;
      readonly p95: number | null;
    };
  } | null;
  readonly failedLastHour: number | null;
  readonly workers: number;
  readonly queues: readonly {
    readonly queue: string;
    readonly state: QueueState;
    readonly waiting: number;
    readonly delayed: number;
    readonly running: number;
    readonly oldestReadyAt: Date | null;
  }[];
}

/** Something that was done through the server, as the view `audits` shows it. */
export interface AuditRecord {
  readonly id: string;
  readonly at: Date;
  /** The name of the token. */
  readonly who: string;
  /** The route, such as `POST /queues/{queue}/pause`. */
  readonly action: string;
  readonly object: string;
  /** `done`, or the code of the error. */
  readonly result: string;
  /** How many jobs it touched, where that is known. */
  readonly count?: number | null;
  readonly address?: string | null;
  readonly requestId?: string | null;
}
