import type { QueueRecord } from "../db/types.js";
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

export function queueCells({
  name,
  state,
  ready,
  blocked,
  delayed,
  suspended,
  running,
}: Pick<QueueRecord, "name" | "ready" | "blocked" | "delayed" | "suspended" | "running"> & {
  readonly state: string;
}): string[] {
  return [name, state, count(ready), count(blocked), count(delayed), count(suspended), count(running)];
}
