/**
 * What can be done with a queue. Each asks, counts where it drops something, and can be taken back where the engine
 * can.
 */
import { segment, send } from "../../api.js";
import { plural } from "../../format.js";
import { type Act, type Values, because, filled } from "../../parts/act.js";
import { authorNow, reasonAgain } from "../../parts/again.js";
import { isolated } from "../../parts/isolated.js";
import type { Group, Pause, Queue, Touch } from "../../wire.js";
import { momentFilledIn, zoneWords } from "../../zone.js";
import type { QueueLimits } from "./limits-of.js";

type Part = { readonly type?: string; readonly group?: string };

const post = <T>(queue: string, verb: string, body: object = {}) =>
  send<T>("POST", `queues/${segment(queue)}/${verb}`, body);
const wouldTouch = (queue: string, verb: string) => (values: Values) =>
  post<Touch>(queue, verb, { ...body(verb, values), dryRun: true });
const named = ({ type, group }: Part, queue: string): string =>
  [type && `type ${isolated(type)}`, group && `group ${isolated(group)}`, isolated(queue)].filter(Boolean).join(" of ");

export const pause = (queue: string, part: Part = {}): Act => ({
  title: `Pause ${named(part, queue)}`,
  explain: "Nothing of it is handed out until it is resumed. Running jobs go on, and new ones are accepted.",
  fields: [because],
  button: "Pause",
  run: (values) => post(queue, "pause", { ...part, ...filled(values) }),
  done: () => `${named(part, queue)} is paused`,
  undo: () => post(queue, "resume", part),
});

/** A pause, as it was: by a person, or by jobs that failed, which a person cannot do again. */
type WasPaused = Partial<Pick<Pause, "pausedBy" | "pausedBecause" | "jobId">>;

export const resume = (queue: string, part: Part = {}, was: WasPaused = {}): Act => ({
  title: `Resume ${named(part, queue)}`,
  explain: "What waits is handed out again, at once.",
  fields: [because],
  button: "Resume",
  run: (values) => post(queue, "resume", { ...part, ...filled(values) }),
  done: () => `${named(part, queue)} goes on`,
  instead: () =>
    was.jobId
      ? undefined
      : {
          button: "Pause again",
          run: () => post(queue, "pause", { ...part, ...reasonAgain(was.pausedBecause) }),
          done: `${named(part, queue)} is paused again, ${authorNow(was.pausedBy)}`,
        },
});

export const close = (queue: string): Act => ({
  title: `Close ${isolated(queue)}`,
  explain:
    "No more jobs are accepted. When its last job has ended the queue is finished, for good; until then it can be opened again.",
  fields: [because],
  button: "Close",
  danger: true,
  run: (values) => post(queue, "close", filled(values)),
  done: () => `${isolated(queue)} is closed`,
  undo: () => post(queue, "open"),
});

export const open = (queue: string, was: Partial<Pick<Queue, "closedBy" | "closedBecause">> = {}): Act => ({
  title: `Open ${isolated(queue)}`,
  explain: "Jobs are accepted again.",
  fields: [because],
  button: "Open",
  run: (values) => post(queue, "open", filled(values)),
  done: () => `${isolated(queue)} is open`,
  instead: () => ({
    button: "Close again",
    run: () => post(queue, "close", reasonAgain(was.closedBecause)),
    done: `${isolated(queue)} is closed again, ${authorNow(was.closedBy)}`,
  }),
});

export const purge = (queue: string): Act => ({
  title: `Purge ${isolated(queue)}`,
  explain: "All that waits, ready or delayed, is cancelled. Running jobs go on. This cannot be taken back.",
  count: wouldTouch(queue, "purge"),
  button: "Purge",
  confirm: queue,
  danger: true,
  run: () => post(queue, "purge"),
  done: () => `${isolated(queue)} is purged`,
});

export const shed = (queue: string, types: readonly string[]): Act => ({
  title: `Shed old jobs of ${isolated(queue)}`,
  explain:
    "What was enqueued before a time is cancelled, ready or delayed. Running jobs go on. This cannot be taken back.",
  fields: [
    { name: "before", label: "Enqueued before", kind: "datetime-local", required: true, hint: zoneWords() },
    { name: "type", label: "Only of a type", options: types },
    { name: "group", label: "Only of a group" },
  ],
  count: (values) => (values["before"] ? wouldTouch(queue, "shed")(values) : undefined),
  button: "Shed",
  danger: true,
  run: (values) => post(queue, "shed", body("shed", values)),
  done: () => `Old jobs of ${isolated(queue)} are cancelled`,
});

export const setAside = (queue: string, types: readonly string[]): Act => ({
  title: `Set the backlog of ${isolated(queue)} aside`,
  explain: "Newer jobs go first; what waits now is handed out when there is nothing newer. Nothing is lost.",
  fields: [{ name: "type", label: "Only of a type", options: types }],
  count: wouldTouch(queue, "set-aside"),
  button: "Set aside",
  run: (values) => post(queue, "set-aside", filled(values)),
  done: () => `The backlog of ${isolated(queue)} is set aside`,
});

export const redrive = (queue: string, queues: readonly string[]): Act => ({
  title: `Redrive ${isolated(queue)}`,
  explain: "Dead letters go back to the queue they came from, or to another one, and are tried again.",
  fields: [
    { name: "target", label: "To another queue", options: queues, hint: "empty: where each came from" },
    { name: "limit", label: "At most", kind: "number", min: 1, hint: "empty: 1000; up to 10,000" },
  ],
  count: wouldTouch(queue, "redrive"),
  button: "Redrive",
  run: (values) => post(queue, "redrive", body("redrive", values)),
  done: (answer) => `${plural((answer as Partial<Touch> | undefined)?.count ?? 0, "job")} of ${isolated(queue)} moved`,
});

export const stageRelease = (queue: string, stage: string): Act => ({
  title: `Release stage ${isolated(stage)} of ${isolated(queue)}`,
  explain: "Its jobs run at their own time from now on.",
  fields: [because],
  count: () => post<Touch>(queue, `stages/${segment(stage)}/release`, { dryRun: true }),
  button: "Release",
  run: (values) => post(queue, `stages/${segment(stage)}/release`, filled(values)),
  done: () => `Stage ${isolated(stage)} is released`,
});

export const stageCancel = (queue: string, stage: string): Act => ({
  title: `Cancel stage ${isolated(stage)} of ${isolated(queue)}`,
  explain: "Its jobs are cancelled. This cannot be taken back.",
  fields: [because],
  count: () => post<Touch>(queue, `stages/${segment(stage)}/cancel`, { dryRun: true }),
  button: "Cancel its jobs",
  danger: true,
  run: (values) => post(queue, `stages/${segment(stage)}/cancel`, filled(values)),
  done: () => `Stage ${isolated(stage)} is cancelled`,
});

/** How a group is treated; what is cleared goes back to its default. */
export const groupPut = (queue: string, group: string, now: Group["settings"]): Act => {
  const text = (value: number | null | undefined): string => (value ? String(value) : "");
  const set = (options: object) => send("PUT", `queues/${segment(queue)}/groups/${segment(group)}`, options);
  return {
    title: `Group ${isolated(group)} of ${isolated(queue)}`,
    explain:
      "Its share beside other groups, how many of its jobs may run at once, and how often they start. What is cleared has its default again.",
    fields: [
      {
        name: "weight",
        label: "Weight",
        kind: "number",
        min: 1,
        hint: "1 to 1000; the default is 1",
        value: text(now?.weight),
      },
      {
        name: "maxRunning",
        label: "At once",
        kind: "number",
        min: 1,
        hint: "the default is that of the queue",
        value: text(now?.maxRunning),
      },
      {
        name: "perSecond",
        label: "Starts per second",
        kind: "number",
        min: 0,
        hint: "the default is that of the queue",
        value: text(now?.rate?.perSecond),
      },
    ],
    button: "Set",
    run: (values) => {
      const { weight = null, maxRunning = null, perSecond } = numbersOf(values);
      return set({ weight, maxRunning, rate: perSecond === undefined ? null : { ...now?.rate, perSecond } });
    },
    done: () => `Group ${isolated(group)} is set`,
    undo: () => set({ weight: now?.weight ?? null, maxRunning: now?.maxRunning ?? null, rate: now?.rate ?? null }),
  };
};

/** The limits of a queue; what is cleared is lifted. */
export const setLimits = ({ name, options }: Queue): Act => {
  const now = (options ?? {}) as QueueLimits;
  const text = (value: number | null | undefined): string => (value ? String(value) : "");
  return {
    title: `Limits of ${isolated(name)}`,
    explain: "In force with the next claim. What is cleared has no limit.",
    fields: [
      { name: "maxRunning", label: "At once", kind: "number", min: 1, value: text(now.maxRunning) },
      { name: "perSecond", label: "Starts per second", kind: "number", min: 0, value: text(now.rate?.perSecond) },
      {
        name: "groupMaxRunning",
        label: "At once, of each group",
        kind: "number",
        min: 1,
        value: text(now.groupMaxRunning),
      },
      { name: "maxDepth", label: "Refuse more when so many wait", kind: "number", min: 1, value: text(now.maxDepth) },
    ],
    button: "Set",
    run: (values) => {
      const { maxRunning = null, perSecond, groupMaxRunning = null, maxDepth = null } = numbersOf(values);
      const rate = perSecond === undefined ? null : { ...now.rate, perSecond };
      return put(name, { maxRunning, rate, groupMaxRunning, maxDepth });
    },
    done: () => `The limits of ${isolated(name)} are set`,
    undo: () =>
      put(name, {
        maxRunning: now.maxRunning ?? null,
        rate: now.rate ?? null,
        groupMaxRunning: now.groupMaxRunning ?? null,
        maxDepth: now.maxDepth ?? null,
      }),
  };
};

const put = (queue: string, options: object) => send("PUT", `queues/${segment(queue)}`, options);
const numbersOf = (values: Values): Partial<Record<string, number>> =>
  Object.fromEntries(Object.entries(filled(values)).map(([name, value]) => [name, Number(value)]));

/** Times in UTC, numbers as numbers. */
function body(verb: string, values: Values): object {
  const { before, limit, ...rest } = filled(values);
  return {
    ...rest,
    ...(verb === "shed" && before && { before: momentFilledIn(before) }),
    ...(verb === "redrive" && limit && { limit: Number(limit) }),
  };
}
