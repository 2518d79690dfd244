import type { JobId, Json } from "./job.js";
import type { RetryPolicy } from "./options.js";

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

/** What an enqueue answers. `Result` is what the job's definition says of its result. */
export interface Enqueued<Result = unknown> {
  readonly id: JobId;
  /** True when the fingerprint or schedule slot was taken; `id` is the job that has it. */
  readonly duplicate: boolean;
  /** For the compiler only. A method, so that a type may be claimed that is wider or narrower, and no other. */
  readonly types?: { result(result: Result): void };
}
