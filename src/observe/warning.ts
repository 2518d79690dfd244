import { inspect } from "node:util";
import { visible } from "../db/visible.js";

/** Codes of the warnings of this library; docs/observability.md lists them, a test compares. */
export const warningCodes = [
  "MILLRACE_HANDLER",
  "MILLRACE_LOGGER",
  "MILLRACE_METRICS",
  "MILLRACE_SCHEDULE",
  "MILLRACE_WORKER",
] as const;

/**
 * A warning of the process. Node takes no code beside an error, and its warning would have none: so the error is told
 * as text, with its stack as the detail.
 */
export function warn(code: (typeof warningCodes)[number], trouble: unknown): void {
  const message = trouble instanceof Error ? trouble.message : typeof trouble === "string" ? trouble : inspect(trouble);
  const detail = trouble instanceof Error ? trouble.stack : undefined;
  process.emitWarning(visible(message), { type: "MillraceWarning", code, ...(detail === undefined ? {} : { detail }) });
}
