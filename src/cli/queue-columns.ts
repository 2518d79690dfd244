import { queueWord } from "../db/queue-word.js";
import type { QueueRecord, UnhandledType } from "../db/types.js";
import { count } from "./format.js";
import type { Column } from "./text-table.js";

/** What every table of queues begins with. */
export const queueColumns: readonly Column[] = [
  { title: "QUEUE" },
  { title: "STATE" },
  { title: "READY", align: "right" },
  { title: "BLOCKED", align: "right" },
  { title: "DELAYED", align: "right" },
  { title: "SUSPENDED", align: "right" },
  { title: "RUNNING", align: "right" },
];

export function queueCells(queue: Counted, unhandled: Unhandled = new Map()): string[] {
  const { name, ready, blocked, delayed, suspended, running } = queue;
  const word = queueWord(queue, unhandled.get(name));
  return [name, word, count(ready), count(blocked), count(delayed), count(suspended), count(running)];
}

type Counted = Pick<QueueRecord, "name" | "state" | "ready" | "blocked" | "delayed" | "suspended" | "running">;

/** How many jobs of each queue are of types that no worker handles. */
export type Unhandled = ReadonlyMap<string, number>;

export function unhandledOf(types: readonly UnhandledType[]): Unhandled {
  const jobs = new Map<string, number>();
  for (const { queue, waiting } of types) jobs.set(queue, (jobs.get(queue) ?? 0) + waiting);
  return jobs;
}
