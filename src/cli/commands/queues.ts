import type { QueueRecord } from "../../db/types.js";
import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { time } from "../format.js";
import { queueCells, queueColumns } from "../queue-columns.js";
import { textTable } from "../text-table.js";

export const queuesCommand: Command = {
  name: "queues",
  summary: "list the queues with their state and what waits, is delayed and runs",
  details: ["Counts cost the same at any backlog."],
  arguments: [],
  options: databaseOptions,
  examples: ["millrace queues", "millrace queues --json | jq '.[] | select(.waiting > 1000).name'"],
  async run({ options, out }) {
    return withDatabase(options, async ({ engine }) => {
      const queues = await engine.queueList();
      out.result(queues, queuesTable(queues, out.width));
      return 0;
    });
  },
};

function queuesTable(queues: readonly QueueRecord[], width: number): string[] {
  return textTable(
    [...queueColumns, { title: "SINCE" }, { title: "BECAUSE" }],
    queues.map((queue) => [
      ...queueCells(queue),
      time(queue.pausedAt),
      [queue.pausedBecause, queue.pausedBy && `(${queue.pausedBy})`].filter(Boolean).join(" "),
    ]),
    width,
  );
}
