/**
 * How long to wait after each failed attempt: constant, a list whose last entry repeats, or growing. In seconds; where
 * the client takes one (`RetryDelay`), in durations.
 */
export type RetryPolicy<Delay = number> =
  | Delay
  | readonly Delay[]
  | { readonly base?: Delay; readonly factor?: number; readonly cap?: Delay; readonly jitter?: number };

/**
 * What to do about a certain error. It matches when the error's `code` is this one and its message or name matches the
 * `pattern`; a rule has one of them at least. The first rule that matches decides. It says one of three: `delays`,
 * `retry` (the delay before the next attempt; `maxAttempts` holds) or `fail`. Times are in seconds; where the client
 * takes rules (`QueueErrorRule`), they are durations, and `retry` is `retryDelay`. See docs/failures.md.
 *
 * @example
 * ```ts
 * const rules: ErrorRule[] = [
 *   { code: "ECONNREFUSED", delays: [10, 60, 600] },
 *   { pattern: "^invalid", fail: true },
 * ];
 * ```
 */
export type ErrorRule<Delay = number, Retry extends string = "retry"> = (
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
         * How long to wait before each retry: as many retries as the list is long, whatever `maxAttempts` says, then
         * the job has failed.
         */
        readonly delays: readonly Delay[];
      }
    | { readonly [name in Retry]: RetryPolicy<Delay> }
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
  readonly withinSeconds?: number;
  /**
   * For how long nothing is handed out then; doubled each time the one job that is tried afterwards fails too. Default
   * 30.
   */
  readonly pauseSeconds?: number;
  /** The longest a doubled pause gets. Default 3600. */
  readonly pauseCapSeconds?: number;
}

/** A rate: so many a second on average, and so many at once after a pause. */
export interface Rate {
  /** Above 0; 0.1 is one in ten seconds. */
  readonly perSecond: number;
  /** At least 1. Default what a second brings, at least 1. */
  readonly burst?: number;
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
   * or, with `spillPriority`, accepted with that priority: a slower lane for those that send too much.
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
  /**
   * Of a queue, when it is made: with several cells, each tenant of it has a cell, and each job names its tenant.
   * Default none: the queue is in one cell.
   */
  readonly spread?: "tenant" | null;
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

/** How a group of a queue is treated. */
export interface GroupOptions {
  /** Its share beside other groups, an integer from 1 to 1000. Default 1; null puts it back. */
  readonly weight?: number | null;
  /** The most of its jobs that run at once. Default the queue's `groupMaxRunning`; null puts it back. */
  readonly maxRunning?: number | null;
  /** How often its jobs may start. Default the queue's `groupRate`; null puts it back. */
  readonly rate?: Rate | null;
}

/** Of something jobs need while they run: how many units there are, how often they may be taken, or both. */
export interface ResourceOptions {
  readonly maxRunning?: number | null;
  readonly rate?: Rate | null;
}
