/**
 * What handlers and other clients have told of a job: SQL takes any JSON for it, so nothing is sure about its shape.
 */
import { errorText } from "../../../src/db/error-text.js";

/** Whether there is a value at all; false, 0 and an empty text are values. */
export const isTold = (value: unknown): boolean => value !== null && value !== undefined;

/** An error as it is shown: what kind, what it says, and where it was thrown. */
export function errorParts(error: unknown): {
  readonly kind: string;
  readonly message: string;
  readonly stack: string | null;
} {
  const { name, code, stack } = (typeof error === "object" && error !== null ? error : {}) as {
    name?: unknown;
    code?: unknown;
    stack?: unknown;
  };
  const kinds = [name, code].filter(
    (part) => (typeof part === "string" && part !== "" && part !== "Error") || typeof part === "number",
  );
  return {
    kind: kinds.join(" "),
    message: errorText(error),
    stack: typeof stack === "string" && stack !== "" ? stack : null,
  };
}

/** The notes of an attempt as lines. */
export function logLines(log: unknown): string[] {
  const lines = Array.isArray(log) ? (log as unknown[]) : isTold(log) ? [log] : [];
  return lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line)));
}
