import type { QueueRecord } from "../../db/types.js";
import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { time } from "../format.js";
import { type Unhandled, queueCells, queueColumns, unhandledOf } from "../queue-columns.js";
import { textTable } from "../text-table.js";

export const queuesCommand: Command = {
  name: "queues",
  summary: "list the queues with their state and their ready, blocked, delayed and running jobs",
  details: [
    "Counts cost the same at any backlog. `blocked` jobs are behind a pause, an open breaker or another queue; `millrace queues show` says which. `waiting` queues wait for others to finish, `closed` ones take no more jobs, `finished` ones have none left. An active queue is `blocked` when all that waits is, and has `no worker` when no worker that is known handles what is ready; `--json` has the state alone.",
  ],
  arguments: [],
  options: databaseOptions,
  examples: ["millrace queues", "millrace queues --json | jq '.[] | select(.waiting > 1000).name'"],
  async run({ options, out }) {
    return withDatabase(options, async ({ engine }) => {
      const queues = await engine.queues();
      out.result(queues, queuesTable(queues, unhandledOf(await engine.server.unhandled(0)), out.width));
      return 0;
    });
  },
};

function queuesTable(queues: readonly QueueRecord[], unhandled: Unhandled, width: number): string[] {
  return textTable(
    [...queueColumns, { title: "SINCE" }, { title: "BECAUSE" }],
    queues.map((queue) => [...queueCells(queue, unhandled), ...sinceAndWhy(queue)]),
    width,
  );
}

/** Since when, by whom and why a queue is in its state. */
function sinceAndWhy(queue: QueueRecord): [string, string] {
  const why = (because: string | null, by: string | null): string =>
    [because, by && `(${by})`].filter(Boolean).join(" ");
  switch (queue.state) {
    case "paused":
      return [time(queue.pausedAt), why(queue.pausedBecause, queue.pausedBy)];
    case "waiting":
      return ["", `waits for ${queue.waitsFor.join(", ")}`];
    case "closed":
      return [time(queue.closedAt), why(queue.closedBecause, queue.closedBy)];
    case "finished":
      return [time(queue.finishedAt), why(queue.closedBecause, queue.closedBy)];
    default:
      return ["", ""];
  }
}
