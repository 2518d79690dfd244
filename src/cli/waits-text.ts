import type { JobRecord } from "../db/types.js";
import { count, time } from "./format.js";

/** What a suspended job waits for, in a line; null when it waits for nothing. */
export function waitsText({ waits, suspendedAt }: Pick<JobRecord, "waits" | "suspendedAt">): string | null {
  if (waits === null) return null;
  const { signals, children, until, steps, after } = waits;
  const things = [
    ...(signals.length === 0 ? [] : [`a signal ${signals.map((name) => `"${name}"`).join(" or ")}`]),
    ...children.map(({ step, left, of }) => `${count(left ?? of)} of ${count(of)} children of "${step}"`),
    ...(after === null ? [] : [`${count(after.left)} of ${count(after.of)} jobs to have ${after.when}`]),
    ...(until === null
      ? []
      : [`${time(until)}${signals.length + children.length > 0 ? "" : ` in "${steps.join('", "')}"`}`]),
  ];
  return `${things.join(", or ")}${suspendedAt === null ? "" : ` (since ${time(suspendedAt)})`}`;
}
