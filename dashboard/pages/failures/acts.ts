import { send } from "../../api.js";
import { chosenCell } from "../../cells.js";
import { count } from "../../format.js";
import { type Act, type Values, because, filled } from "../../parts/act.js";
import { type Stepped, inSteps } from "../../parts/in-steps.js";
import type { Failure, Touch } from "../../wire.js";
import { momentFilledIn, zoneWords } from "../../zone.js";

/** Of the cell that is looked at. */
const retryPath = (): string => {
  const cell = chosenCell.peek();
  return cell === undefined ? "failures/retry" : `failures/retry?cell=${encodeURIComponent(cell)}`;
};

/** All of one kind, at a pace that what has just recovered can bear. */
export const retryAlike = (failure: Failure): Act => ({
  title: "Retry all that failed alike",
  explain: `“${(failure.message ?? "this error").slice(0, 200)}”: each of these jobs gets another attempt, oldest first.`,
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
  count: () => send<Touch>("POST", retryPath(), { fingerprint: failure.fingerprint, dryRun: true }),
  button: "Retry them",
  isStepwise: true,
  run: (values, pace) =>
    inSteps(retryPath(), { fingerprint: failure.fingerprint, ...numbers(values, "perSecond", "attempts") }, pace),
  done: (answer) => `${count((answer as Stepped).count)} will be tried again`,
});

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
  count: (values) =>
    values["since"] ? send<Touch>("POST", "jobs/replay", { ...range(values), dryRun: true }) : undefined,
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
