import { queueWord } from "../../../src/db/queue-word.js";
import { get } from "../../api.js";
import { queueSamples } from "../../live.js";
import { useResource } from "../../parts/resource.js";
import type { List, Queue, QueueState, Reason, TypeOfQueue, Unhandled } from "../../wire.js";

/** Queues in which all that is ready is of types that no worker handles. */
type Unserved = ReadonlySet<string>;

/**
 * Which queues have no worker for what is ready. What is ready is that of the same moment: later numbers would differ,
 * and a queue that grows would look served until the next answer.
 */
export function useUnserved(): Unserved {
  const isLive = queueSamples.value.size > 0;
  const { data } = useResource(
    `unserved ${isLive}`,
    async (signal) => {
      const { items } = await get<List<Unhandled>>("unhandled", { minAgeSeconds: 0 }, signal);
      const jobs = new Map<string, number>();
      for (const { queue, waiting } of items) jobs.set(queue, (jobs.get(queue) ?? 0) + waiting);
      const samples = queueSamples.peek();
      return new Set([...jobs.keys()].filter((queue) => jobs.get(queue)! >= (samples.get(queue)?.ready ?? Infinity)));
    },
    10_000,
  );
  return data ?? new Set();
}

/** The one word for a queue; docs/queue-states.md. Its numbers are the live ones where there are any. */
export function wordOf(
  { name, ...queue }: { readonly name: string; readonly state: QueueState } & Partial<Pick<Queue, "ready" | "blocked">>,
  unserved: Unserved,
): string {
  const { state, ready = 0, blocked = 0 } = queueSamples.value.get(name) ?? queue;
  return queueWord({ state, ready, blocked }, unserved.has(name) ? ready : 0);
}

const blocking: readonly Reason["code"][] = ["paused", "breakerOpen", "queueWaits"];

/** What holds a type back, as a whole: first what is told of it by name, then what holds all of its queue. */
export const reasonsOfType = (why: readonly Reason[], type: string): readonly Reason[] => [
  ...why.filter(
    (reason) =>
      ("type" in reason && reason.type === type && !("group" in reason)) ||
      ((reason.code === "limit" || reason.code === "rate") && reason.of === "type" && reason.name === type),
  ),
  ...why.filter((reason) => reason.code === "paused" && !("type" in reason) && !("group" in reason) && !reason.groups),
  ...why.filter(({ code }) => code === "queueWaits"),
];

/** The one word for a type: that of its pause, else the same words as for a queue. */
export function wordOfType(
  { ready, blocked }: Pick<TypeOfQueue, "ready" | "blocked">,
  isPaused: boolean,
  reasons: readonly Reason[],
): string {
  if (isPaused) return "paused";
  if (reasons.some(({ code }) => blocking.includes(code))) return "blocked";
  const hasNoWorker = reasons.some(({ code }) => code === "noWorker");
  return queueWord({ state: "active", ready, blocked }, hasNoWorker ? ready : 0);
}
