import { type Duration, durationSeconds } from "../client/duration.js";
import { InputError } from "../db/errors.js";
import type { JobError, Json } from "../db/types.js";

/** Thrown by a handler, or found in the `cause` of what it throws: trying again would not help. */
export class PermanentError extends Error {
  override readonly name = "PermanentError";
}

/** What becomes of a job when its handler has ended. */
export type Outcome =
  | { readonly kind: "succeeded"; readonly result: unknown }
  | { readonly kind: "failed"; readonly error: JobError }
  | { readonly kind: "retry"; readonly error: JobError; readonly delaySeconds?: number }
  | { readonly kind: "released"; readonly delaySeconds?: number }
  /** Nothing is left to report: the handler completed it in a transaction of its own, or it was taken away. */
  | { readonly kind: "settled" }
  | { readonly kind: "lost" };

const decision = Symbol("millrace.decision");

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
  return { [decision]: { kind: "retry", delaySeconds: durationSeconds(delay), error: { message: because } } };
}

/** Return this from a handler to give the job back unharmed: the same attempt again, here or elsewhere. */
export function release(delay: Duration = 0): Decision {
  return { [decision]: { kind: "released", delaySeconds: durationSeconds(delay) } };
}

/** Return this from a batch handler for a job that failed; the others are not touched. */
export function failed(error: unknown): Decision {
  return { [decision]: outcomeOfError(error) };
}

export function outcomeOfReturn(value: unknown): Outcome {
  return isDecision(value) ? value[decision] : { kind: "succeeded", result: value };
}

export function isDecision(value: unknown): value is Decision {
  return typeof value === "object" && value !== null && decision in value;
}

/** Permanent when it says so itself or in its causes; an input that no longer fits its schema will not fit next time either. */
export function outcomeOfError(error: unknown): Outcome {
  return { kind: isPermanent(error) ? "failed" : "retry", error: describeError(error) };
}

function isPermanent(error: unknown): boolean {
  for (let one = error, depth = 0; one instanceof Error && depth < 20; one = one.cause, depth += 1) {
    if (one instanceof PermanentError || one.name === "PermanentError" || one instanceof InputError) return true;
  }
  return false;
}

/** An error as it is stored: whatever was thrown, with its causes. */
export function describeError(error: unknown, depth = 0): JobError {
  if (!(error instanceof Error)) return { message: typeof error === "string" ? error : `thrown: ${inspectShort(error)}` };
  const { code } = error as { code?: unknown };
  return {
    name: error.name,
    message: error.message,
    ...(error.stack === undefined ? {} : { stack: error.stack }),
    ...(typeof code === "string" ? { code } : {}),
    ...(error.cause === undefined || depth >= 5 ? {} : { cause: describeError(error.cause, depth + 1) as unknown as Json }),
  };
}

function inspectShort(value: unknown): string {
  try {
    return (JSON.stringify(value) ?? String(value)).slice(0, 1000);
  } catch {
    return String(value);
  }
}
