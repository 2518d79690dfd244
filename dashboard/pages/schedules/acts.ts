import { segment, send } from "../../api.js";
import { plural } from "../../format.js";
import { type Act, because, filled, numberOf } from "../../parts/act.js";
import { authorNow, reasonAgain } from "../../parts/again.js";
import { isolated } from "../../parts/isolated.js";
import { go, to } from "../../router.js";
import type { Schedule, Touch } from "../../wire.js";
import { momentFilledIn, zoneWords } from "../../zone.js";

const post = <T>(name: string, verb: string, body: object = {}) =>
  send<T>("POST", `schedules/${segment(name)}/${verb}`, body);

export const pause = ({ name }: Schedule): Act => ({
  title: `Pause ${isolated(name)}`,
  explain: "It makes no runs, in any process, until it is resumed. A run that goes on goes on.",
  fields: [because],
  button: "Pause",
  run: (values) => post(name, "pause", filled(values)),
  done: () => `${isolated(name)} is paused`,
  undo: () => post(name, "resume", { catchUp: true }), // with the slot it had, also when that has come meanwhile
});

export const resume = ({ name, health, pausedBy, pausedBecause }: Schedule): Act => ({
  title: `Resume ${isolated(name)}`,
  explain: "It goes on with its next slot.",
  fields: [
    {
      name: "catchUp",
      label: "Make up for what came meanwhile",
      kind: "checkbox",
      hint: "as its policy for missed slots says",
    },
  ],
  button: "Resume",
  run: ({ catchUp }) => post(name, "resume", catchUp ? { catchUp: true } : {}),
  done: () => `${isolated(name)} goes on`,
  // What was caught up with has been made, and one that had stopped by itself has no pause to go back to.
  instead: ({ catchUp }) =>
    catchUp || health === "stopped"
      ? undefined
      : {
          button: "Pause again",
          run: () => post(name, "pause", reasonAgain(pausedBecause)),
          done: `${isolated(name)} is paused again, ${authorNow(pausedBy)}`,
        },
});

export const run = ({ name }: Schedule): Act => ({
  title: `Run ${isolated(name)} now`,
  explain: "One run beside whatever runs; its slots stay as they are.",
  button: "Run now",
  run: () => post(name, "trigger"),
  done: () => `${isolated(name)} runs`,
});

export const backfill = ({ name }: Schedule): Act => ({
  title: `Backfill ${isolated(name)}`,
  explain: "Make the slots of a past range that have no run on record, beside the regular ones.",
  fields: [
    { name: "since", label: "Since", kind: "datetime-local", required: true, hint: zoneWords() },
    { name: "until", label: "Until", kind: "datetime-local", required: true },
    { name: "concurrency", label: "At once", kind: "number", min: 1, value: "1" },
  ],
  count: (values) =>
    values["since"] && values["until"] ? post<Touch>(name, "backfill", { ...range(values), dryRun: true }) : undefined,
  unit: ["slot", "slots"],
  button: "Backfill",
  run: (values) => post<Touch>(name, "backfill", range(values)),
  done: (answer) => `${plural((answer as Partial<Touch>).count ?? 0, "slot")} will be made`,
});

export const remove = (schedule: Schedule): Act => ({
  title: `Remove ${isolated(schedule.name)}`,
  explain: "It makes no more runs, and its record is forgotten. Jobs that it made go on.",
  button: "Remove",
  danger: true,
  run: () => send("DELETE", `schedules/${segment(schedule.name)}`),
  done: () => `${isolated(schedule.name)} is removed`,
  instead: () => ({
    button: "Declare it again",
    run: async () => {
      await putBack(schedule);
      if (schedule.pausedAt !== null) await post(schedule.name, "pause", reasonAgain(schedule.pausedBecause));
    },
    done: `${isolated(schedule.name)} is declared again${schedule.pausedAt === null ? "" : ", and paused by you"}; what was counted of its runs is lost`,
  }),
  after: () => go(to(["schedules"])),
});

/** Declare it as it was. */
export async function putBack({ name, rule, job, input, options, version, app }: Schedule): Promise<void> {
  await send("PUT", `schedules/${segment(name)}`, {
    rule,
    job,
    input,
    options,
    ...(version !== null && { version }),
    ...(app !== null && { app }),
  });
}

function range(values: Readonly<Record<string, string>>): object {
  const concurrency = numberOf(values["concurrency"]);
  return {
    since: momentFilledIn(values["since"]!),
    until: momentFilledIn(values["until"]!),
    ...(concurrency && { concurrency }),
  };
}
