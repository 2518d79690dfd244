import type { MovePlan } from "../../cells/move.js";
import { cellOptions, cellsOf, withCells } from "../cells.js";
import type { Command } from "../command.js";
import { plural } from "../format.js";
import { MovesShown } from "../move-progress.js";
import { userName } from "../user-name.js";

export const cellsMoveCommand: Command = {
  name: "cells move",
  summary: "move a queue to another cell, while producers and workers keep running",
  details: [
    "New jobs go to the new cell, what is in the old one ends there; nothing is copied. A queue with an order or a limit is held in the new cell until all has ended in the old one. The command waits for that; if it is broken off, the move goes on when it is given again. `--dry-run` says what would be done, and what speaks against it, with exit 1 then.",
  ],
  arguments: [
    { name: "QUEUE", help: "the queue" },
    { name: "CELL", help: "the cell to move it to" },
  ],
  options: {
    from: { value: "CELL", help: "the cell it lives in, where several have one of this name" },
    "dry-run": { help: "say what would be done, and change nothing" },
    detach: { help: "come back as soon as new jobs go to the new cell; give the command again to end the move" },
    by: { value: "NAME", help: "who moves it, for the record (default: the user's name)" },
    ...cellOptions,
  },
  examples: ["millrace cells move mails b --dry-run", "millrace cells move mails b"],
  async run({ args, options, out }) {
    const [queue, to] = args as [string, string];
    return withCells(options, async (cells) => {
      if (options.flag("dry-run")) {
        const plan = await cellsOf(cells).move(queue, to, { ...options.pick("from"), dryRun: true });
        out.result(plan, planText(plan));
        return plan.against.length === 0 ? 0 : 1;
      }
      const shown = new MovesShown(out);
      const move = cellsOf(cells).move(queue, to, {
        ...options.pick("from"),
        by: options.given("by") ?? userName(),
        detach: options.flag("detach"),
        onProgress: (progress) => shown.show(progress),
      });
      const result = await move.finally(() => shown.end());
      const untold = result.untold.length > 0 ? `; could not tell ${result.untold.join(", ")}` : "";
      const done = options.flag("detach") ? "goes to" : "lives in";
      out.result(result, `queue ${queue} ${done} the cell ${to}${untold}`);
      return 0;
    });
  },
};

/** What a move would do, in lines. */
export function planText(plan: MovePlan): string[] {
  return [
    `queue ${plan.queue} ${plan.begun ? "goes on moving" : "would move"} from ${plan.from} to ${plan.to}`,
    `${plural(plan.live, "job", "jobs")} would end in ${plan.from}${
      plan.latestDueAt === null ? "" : `, the last of them due at ${plan.latestDueAt}`
    }`,
    plan.held
      ? `it has an order or a limit: nothing is handed out in ${plan.to} until then`
      : `jobs are handed out in ${plan.to} at once`,
    ...(plan.schedules.length > 0 ? [`schedules that come along: ${plan.schedules.join(", ")}`] : []),
    ...plan.against.map(({ message, remedy }) => `not possible: ${message} (${remedy})`),
  ];
}
