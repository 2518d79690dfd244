import { count, moment } from "../../format.js";
import { type Act, type Values, because, filled } from "../../parts/act.js";
import { isolated } from "../../parts/isolated.js";
import { type Stepped, countInSteps, inSteps } from "../../parts/in-steps.js";
import type { Failure } from "../../wire.js";
import { momentFilledIn, zoneWords } from "../../zone.js";

/** Which failures are looked at, of which cell. */
export interface Which {
  readonly queue?: string;
  readonly type?: string;
  /** They failed within this time. */
  readonly since?: string;
  readonly until?: string;
  readonly cell?: string;
}

/** All of one kind that are looked at, at a pace that what has just recovered can bear. */
export function retryAlike({ fingerprint, message }: Failure, { cell, ...which }: Which): Act {
  const path = cell === undefined ? "failures/retry" : `failures/retry?cell=${encodeURIComponent(cell)}`;
  const all = { fingerprint, ...which };
  return {
    title: "Retry all that failed alike",
    explain: `“${(message ?? "this error").slice(0, 200)}”${narrowed(which)}: each of these jobs gets another attempt, oldest first.`,
    fields: [
      {
        name: "perSecond",
        label: "Per second",
        kind: "number",
        min: 0,
        value: "10",
        hint: "empty: all at once. Until their turn they are delayed.",
      },
      { name: "attempts", label: "More attempts for each", kind: "number", min: 1, value: "1" },
      because,
    ],
    count: (_, pace) => countInSteps(path, all, pace),
    button: "Retry them",
    isStepwise: true,
    run: (values, pace) => inSteps(path, { ...all, ...numbers(values, "perSecond", "attempts") }, pace),
    done: (answer) => `${count((answer as Stepped).count)} will be tried again`,
  };
}

/** Which of them, in words. */
function narrowed({ queue, type, since, until }: Which): string {
  const words = [
    type && `of ${isolated(type)}`,
    queue && `in ${isolated(queue)}`,
    since && `since ${moment(since)}`,
    until && `before ${moment(until)}`,
  ].filter(Boolean);
  return words.length === 0 ? "" : `, ${words.join(" ")}`;
}

/** Copies of what ended within a time, for a handler that lost data without failing. */
export const replay = (): Act => ({
  title: "Replay",
  explain:
    "Enqueue copies of jobs that ended within a time, succeeded ones included. The jobs themselves stay as they are.",
  fields: [
    { name: "since", label: "Ended since", kind: "datetime-local", required: true, hint: zoneWords() },
    { name: "until", label: "Ended before", kind: "datetime-local", hint: "empty: now" },
    { name: "queue", label: "Only of a queue" },
    { name: "type", label: "Only of a type" },
    { name: "perSecond", label: "Per second", kind: "number", min: 0, hint: "empty: all at once" },
  ],
  count: (values, pace) => (values["since"] ? countInSteps("jobs/replay", range(values), pace) : undefined),
  button: "Replay",
  isStepwise: true,
  run: (values, pace) => inSteps("jobs/replay", range(values), pace),
  done: (answer) => `${count((answer as Stepped).count)} copies were enqueued`,
});

function numbers(values: Values, ...names: readonly string[]): object {
  return Object.fromEntries(
    Object.entries(filled(values)).map(([name, value]) => [name, names.includes(name) ? Number(value) : value]),
  );
}

function range(values: Values): object {
  const utc = (name: string) => values[name] && { [name]: momentFilledIn(values[name]) };
  return { ...numbers(values, "perSecond"), ...utc("since"), ...utc("until") };
}
