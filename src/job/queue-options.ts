import { checkKeys } from "../db/encode.js";
import { type Option, type Scope, optionsOf } from "../db/option-table.js";
import type { Defaults, ErrorRule, Retention } from "../db/types.js";
import { type Duration, durationSeconds } from "./duration.js";
import { type RetryDelay, toRetryPolicy } from "./job-options.js";

/** When a type of a queue is held back, because everything fails, and for how long. See docs/failures.md. */
export interface QueueBreaker {
  /** As many failures, and no success between them, open it. Default 5. */
  readonly failures?: number;
  /** All of them within this time. Default 1 min. */
  readonly within?: Duration;
  /** How long nothing is handed out then; doubled each time the one job that is tried next fails too. Default 30 s. */
  readonly pause?: Duration;
  /** The longest a doubled pause gets. Default 1 h. */
  readonly pauseCap?: Duration;
}

/**
 * What to do about a certain error, with durations.
 *
 * @example
 * ```ts
 * await mill.queues.put("mail", { errorRules: [{ code: "ECONNREFUSED", delays: ["10s", "1m", "10m"] }] });
 * ```
 */
export type QueueErrorRule = ErrorRule<Duration, "retryDelay">;

type Timed =
  | "ttlSeconds"
  | "attemptTimeoutSeconds"
  | "retry"
  | "errorRules"
  | "breaker"
  | "leaseSeconds"
  | "leaseCapSeconds"
  | "agingSeconds"
  | "maxAgeSeconds"
  | "freshnessSeconds";

/** Options of a queue. Of all of them, `null` puts the default back. */
export interface QueueOptions extends Omit<Defaults, Timed> {
  /** A job must start within this time of the first moment it could run, else it expires. Default none. */
  readonly ttl?: Duration | null;
  /** How long one attempt may take; then its signal fires and it counts as failed. Default no limit. */
  readonly attemptTimeout?: Duration | null;
  /** Delay before the next attempt. Default 1 s doubling up to 1 h, jitter 0.1. */
  readonly retryDelay?: RetryDelay | null;
  /** What to do about certain errors, instead of `retryDelay`; the first rule that matches decides. Default none. */
  readonly errorRules?: readonly QueueErrorRule[] | null;
  /** Hold back a type that keeps failing. `{}` for the defaults. Default none. */
  readonly breaker?: QueueBreaker | null;
  /** How long a claim lasts unless it is extended, which workers do by themselves. Default 30 s. */
  readonly lease?: Duration | null;
  /** With a `leaseFactor`: the longest a lease gets. Default 12 h. */
  readonly leaseCap?: Duration | null;
  /** Jobs become one step of priority more urgent each time they have waited this long. Default none: strict. */
  readonly aging?: Duration | null;
  /** While a ready job has waited for longer than this, no more are accepted. Default none. */
  readonly maxAge?: Duration | null;
  /**
   * Of a queue without groups: when the oldest ready job has waited for longer than this, what waits is set aside, and
   * newer jobs go first. Default none.
   */
  readonly freshness?: Duration | null;
}

/** Options of a type, in all queues: defaults of its jobs, and limits. Of all of them, `null` puts the default back. */
export type TypeOptions = Pick<
  QueueOptions,
  | "priority"
  | "cost"
  | "resources"
  | "ttl"
  | "maxAttempts"
  | "attemptTimeout"
  | "retryDelay"
  | "lease"
  | "leaseFactor"
  | "leaseCap"
  | "aging"
  | "rate"
  | "maxRunning"
  | "errorRules"
  | "breaker"
  | "deadLetterQueue"
>;

/**
 * Options of the whole installation: defaults of all jobs, and how long is kept what has ended. Of all of them, `null`
 * puts the default back.
 */
export interface CellOptions extends Omit<TypeOptions, "resources" | "rate" | "maxRunning" | "breaker"> {
  /** How long jobs that succeeded are kept after their end, plus up to a day. Default 7 days. */
  readonly retentionSucceeded?: Duration | null;
  /** The same of jobs that failed. Default 30 days. */
  readonly retentionFailed?: Duration | null;
  /** The same of jobs that expired. Default 30 days. */
  readonly retentionExpired?: Duration | null;
  /** The same of jobs that were cancelled. Default 7 days. */
  readonly retentionCancelled?: Duration | null;
  /**
   * How long records of attempts are kept that were not the last; they go with their job at the latest. Default a year.
   */
  readonly retentionAttempts?: Duration | null;
  /** How long results are kept; they go with their job at the latest. Default a year. */
  readonly retentionResults?: Duration | null;
  /** Lowers the limit of payloads; the largest is 256,000,000, exclusive. */
  readonly payloadLimitBytes?: number | null;
}

/** By the names they have here. */
const knownOf = (scope: Scope): ReadonlyMap<string, Option> =>
  new Map(
    optionsOf(scope)
      .filter(({ door }) => door === undefined)
      .map((option) => [option.library ?? option.name, option]),
  );
const known = { queue: knownOf("queue"), type: knownOf("type"), cell: knownOf("cell") } as const;
const breakerSeconds = { within: "withinSeconds", pause: "pauseSeconds", pauseCap: "pauseCapSeconds" } as const;

/** The options as the engine knows them: seconds instead of durations. */
export function toEngineDefaults(
  options: QueueOptions | TypeOptions | CellOptions,
  of: keyof typeof known,
): Defaults & Retention {
  checkKeys(options, new Set(known[of].keys()));
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([key, value]) => toEngineDefault(known[of].get(key)!, value)));
}

function toEngineDefault({ name, library, kind }: Option, value: unknown): [string, unknown] {
  if (value === null || ("word" in kind && value === kind.word)) return [name, value];
  if (kind.is === "retry") return [name, toRetryPolicy(value as RetryDelay)];
  if (kind.is === "breaker") return [name, toBreaker(value)];
  if (kind.is === "errorRules") return [name, Array.isArray(value) ? value.map(toErrorRule) : value];
  return [name, library === undefined ? value : durationSeconds(value as Duration, library)];
}

/** What is no object is told by the check of the options. */
function toBreaker(breaker: unknown): unknown {
  if (typeof breaker !== "object" || breaker === null || Array.isArray(breaker)) return breaker;
  checkKeys(breaker, new Set(["failures", ...Object.keys(breakerSeconds)]));
  return Object.fromEntries(
    Object.entries(breaker).map(([key, value]) => {
      if (!(key in breakerSeconds)) return [key, value];
      return [breakerSeconds[key as keyof typeof breakerSeconds], durationSeconds(value as Duration, `breaker.${key}`)];
    }),
  );
}

function toErrorRule(rule: unknown): ErrorRule {
  if (typeof rule !== "object" || rule === null) return rule as ErrorRule;
  checkKeys(rule, new Set(["code", "pattern", "delays", "retryDelay", "fail"]));
  const { delays, retryDelay, ...rest } = rule as { delays?: unknown; retryDelay?: RetryDelay };
  return {
    ...rest,
    ...(delays === undefined
      ? {}
      : { delays: Array.isArray(delays) ? delays.map((delay) => durationSeconds(delay, "delays")) : delays }),
    ...(retryDelay === undefined ? {} : { retry: toRetryPolicy(retryDelay) }),
  } as ErrorRule;
}
