import { inspect, types } from "node:util";
import { type Duration, durationSeconds } from "../job/duration.js";
import { PermanentError } from "../job/permanent-error.js";
import { InputError } from "../db/errors.js";
import type { JobError, Json, NewStep, Wait } from "../db/types.js";

/** What becomes of a job when its handler has ended. */
export type Outcome =
  | { readonly kind: "succeeded"; readonly result: unknown; readonly log?: readonly string[] }
  | ({ readonly kind: "failed" } & Failure)
  | ({ readonly kind: "retryLater"; readonly delaySeconds?: number } & Failure)
  | { readonly kind: "released"; readonly delaySeconds?: number }
  | { readonly kind: "suspended"; readonly waits: readonly Wait[]; readonly steps: readonly NewStep[] }
  /**
   * Nothing is left to report: the handler completed it in a transaction of its own, it was taken away, or its deadline
   * passed.
   */
  | { readonly kind: "settled" }
  | { readonly kind: "lost" }
  | { readonly kind: "expired" };

/** How an attempt failed. */
interface Failure {
  /** As it is stored. */
  readonly error: JobError;
  /** What the handler threw, for those who listen here; absent when it threw nothing. */
  readonly thrown?: unknown;
}

export function isReported(
  outcome: Outcome,
): outcome is Exclude<Outcome, { readonly kind: "settled" | "lost" | "expired" }> {
  return outcome.kind !== "settled" && outcome.kind !== "lost" && outcome.kind !== "expired";
}

/** Registered, so that a handler in another thread or process means the same. */
const decision: unique symbol = Symbol.for("millrace.decision");

/** Returned by a handler instead of a result. */
export interface Decision {
  readonly [decision]: Outcome;
}

/**
 * Return this from a handler to try again later: the attempt counts, and its delay is this one instead of the policy's.
 *
 * @example
 * ```ts
 * worker.handle(sync, async () => (await isReady()) ? undefined : retryLater("10m", "not ready yet"));
 * ```
 */
export function retryLater(delay: Duration, because = "the handler asked to be called again later"): Decision {
  return { [decision]: { kind: "retryLater", delaySeconds: durationSeconds(delay), error: { message: because } } };
}

/** Return this from a handler to give the job back unharmed: the same attempt again, here or elsewhere. */
export function release(delay: Duration = 0): Decision {
  return { [decision]: { kind: "released", delaySeconds: durationSeconds(delay) } };
}

/** Return this from a batch handler for a job that failed; the others are not touched. */
export function failed(error: unknown): Decision {
  return { [decision]: outcomeOfError(error) };
}

/** What a handler elsewhere has decided. */
export function decisionOf(outcome: Outcome): Decision {
  return { [decision]: outcome };
}

export function outcomeOfReturn(value: unknown): Outcome {
  return isDecision(value) ? value[decision] : { kind: "succeeded", result: value };
}

export function isDecision(value: unknown): value is Decision {
  return typeof value === "object" && value !== null && decision in value;
}

/**
 * Permanent when it says so itself or in its causes; an input that no longer fits its schema will not fit next time
 * either.
 */
export function outcomeOfError(error: unknown): Outcome {
  return { kind: isPermanent(error) ? "failed" : "retryLater", error: describeError(error), thrown: error };
}

export function isPermanent(error: unknown): boolean {
  return causesOf(error).some(
    (one) => one instanceof PermanentError || one.name === "PermanentError" || isInputError(one),
  );
}

/** Also one that was stored as what a step failed with. */
function isInputError(error: Error): boolean {
  return (
    error instanceof InputError ||
    (error.name === "InputError" && (error as { readonly code?: unknown }).code === "MR011")
  );
}

/** Whether an error is this one, or was caused by it. */
export function isCausedBy(error: unknown, reason: unknown): boolean {
  return error === reason || causesOf(error).some((one) => one === reason || one.cause === reason);
}

/** An error and what caused it, down to a depth no honest chain has. */
function causesOf(error: unknown): Error[] {
  const causes: Error[] = [];
  for (let one = error; isError(one) && causes.length < 20; one = one.cause) causes.push(one);
  return causes;
}

/** Errors of another realm, such as a `vm` context, are no instances of our Error. */
function isError(value: unknown): value is Error {
  return value instanceof Error || types.isNativeError(value);
}

/** An error as it is stored: whatever was thrown, with its causes. */
export function describeError(error: unknown, depth = 0): JobError {
  if (!isError(error))
    return { message: storableText(typeof error === "string" ? error : `thrown: ${inspect(error)}`, maxMessage) };
  const { code } = error as { code?: unknown };
  return {
    name: storableText(error.name, maxName),
    message: storableText(error.message, maxMessage),
    ...(error.stack === undefined ? {} : { stack: storableText(error.stack, maxStack) }),
    ...(typeof code === "string" ? { code: storableText(code, maxName) } : {}),
    ...(error.cause === undefined || depth >= 5
      ? {}
      : { cause: describeError(error.cause, depth + 1) as unknown as Json }),
  };
}

/**
 * Characters of what is stored of an error: with five causes it stays below what the database would cut
 * (`bounds.errorBytes`).
 */
const [maxName, maxMessage, maxStack] = [200, 2000, 10_000];

/**
 * What PostgreSQL cannot hold is replaced, and what is longer than any honest text is cut: what a handler died of must
 * be recorded, whatever its text says.
 */
export function storableText(text: unknown, most: number): string {
  return String(text).slice(0, most).replaceAll("\0", "\uFFFD").toWellFormed();
}
