import type { JobError } from "./types.js";

/** An error as it was stored, as an Error again: with its name, code, stack and causes. */
export function errorOf(stored: JobError): Error {
  const { name, message, code, stack, cause } = stored;
  const inner = typeof cause === "object" && cause !== null ? errorOf(cause as unknown as JobError) : undefined;
  const error = new Error(message, inner === undefined ? undefined : { cause: inner });
  if (name !== undefined) Object.defineProperty(error, "name", { value: name, configurable: true, writable: true });
  if (stack !== undefined) error.stack = stack;
  return code === undefined ? error : Object.assign(error, { code });
}

/** What a job ended with, as the cause of an error; undefined when nothing was stored, or no error of ours. */
export function causeOf(stored: unknown): Error | undefined {
  const { message } = (typeof stored === "object" && stored !== null ? stored : {}) as { message?: unknown };
  return typeof message === "string" ? errorOf(stored as JobError) : undefined;
}
