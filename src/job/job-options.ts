import { checkKeys } from "../db/encode.js";
import { InvalidArgumentError } from "../db/errors.js";
import { type Option, optionsOf } from "../db/option-table.js";
import type { EnqueueOptions as EngineEnqueueOptions, RetryPolicy } from "../db/types.js";
import { type Duration, durationSeconds } from "./duration.js";

/** How long to wait after a failed attempt: always the same, a list whose last entry repeats, or growing. */
export type RetryDelay = RetryPolicy<Duration>;

/** Options that a definition may set for all its jobs, and an enqueue for one. */
export interface JobDefaults {
  /** Queue. Default `default`. */
  readonly queue?: string;
  /** 0 (most urgent) to 10. Default 5. */
  readonly priority?: number;
  /** How much of its group's turns it takes, 1 to 1,000,000: groups share costs, not numbers of jobs. Default 1. */
  readonly cost?: number;
  /** How many attempts at most; `Infinity` for no limit. Default 25. */
  readonly maxAttempts?: number;
  /** Delay before the next attempt. Default 1 s doubling up to 1 h, jitter 0.1. */
  readonly retryDelay?: RetryDelay;
  /**
   * How long one attempt may take; then its signal fires and it counts as failed. The time in which its steps keep it
   * suspended does not count. Default no limit.
   */
  readonly attemptTimeout?: Duration;
  /**
   * Must start within this time of the first moment it could run, else it expires. `"computed"`: must finish, counted
   * from its first claim, within what all its attempts and the delays between them take at most; needs an
   * `attemptTimeout`. Default none.
   */
  readonly ttl?: Duration;
  /**
   * What it needs while it runs, and how many units of each: `{ gpu: 1 }`. Resources are made with
   * `mill.resources.put`. Default those of its queue.
   */
  readonly resources?: { readonly [resource: string]: number };
}

/** Options of one job. */
export interface JobOptions
  extends
    JobDefaults,
    Pick<
      EngineEnqueueOptions,
      "group" | "tenant" | "fingerprint" | "fingerprintMode" | "headers" | "payload" | "contentType" | "stage"
    > {
  /** Not before this much time has passed. Default 0. */
  readonly delay?: Duration;
  /** Not before this time. Default the database's now. */
  readonly runAt?: Date;
  /** Must start by this time, else it expires. Default none. */
  readonly expiresAt?: Date;
  /** Must finish by this time, else its signal fires and it expires. Default none. */
  readonly deadline?: Date;
  /** Keep refusing duplicates for this long, even when the first has finished. Default 0. */
  readonly fingerprintFor?: Duration;
}

/** By the names they have here. */
const known: ReadonlyMap<string, Option> = new Map(
  optionsOf("job")
    .filter(({ door }) => door === undefined)
    .map((option) => [option.library ?? option.name, option]),
);
export const jobOptionKeys: ReadonlySet<string> = new Set(known.keys());
export const jobDefaultKeys = [...known].filter(([, { isDefinable }]) => isDefinable).map(([name]) => name);

/** The options as the engine knows them: seconds instead of durations. */
export function toEngineOptions(options: JobOptions): EngineEnqueueOptions {
  checkKeys(options, jobOptionKeys);
  if ((options.delay ?? undefined) !== undefined && (options.runAt ?? undefined) !== undefined)
    throw new InvalidArgumentError("delay and runAt exclude each other", "give one of them");
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([key, value]) => toEngineOption(known.get(key)!, value)));
}

function toEngineOption({ name, library, kind }: Option, value: unknown): [string, unknown] {
  if (library === undefined || ("word" in kind && value === kind.word)) return [name, value];
  if (kind.is === "retry") return [name, toRetryPolicy(value as RetryDelay)];
  return [name, durationSeconds(value as Duration, library)];
}

/** A delay as the engine knows it. */
export function toRetryPolicy(delay: RetryDelay): RetryPolicy {
  if (Array.isArray(delay)) return (delay as readonly Duration[]).map((one) => durationSeconds(one, "retryDelay"));
  if (typeof delay !== "object" || !isGrowing(delay)) return durationSeconds(delay as Duration, "retryDelay");
  checkKeys(delay, new Set(["base", "factor", "cap", "jitter"]));
  const { base, cap, ...rest } = delay;
  if (Object.keys(delay).length === 0)
    throw new InvalidArgumentError("retryDelay is empty", "give base, factor, cap or jitter");
  return {
    ...rest,
    ...(base === undefined ? {} : { base: durationSeconds(base, "retryDelay.base") }),
    ...(cap === undefined ? {} : { cap: durationSeconds(cap, "retryDelay.cap") }),
  };
}

function isGrowing(delay: RetryDelay): delay is Exclude<RetryDelay, Duration | readonly Duration[]> {
  return typeof delay === "object" && delay !== null && ["base", "factor", "cap", "jitter"].some((key) => key in delay);
}
