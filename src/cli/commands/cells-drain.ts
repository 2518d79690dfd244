import type { DrainPlan } from "../../cells/move-drain.js";
import { cellOptions, cellsOf, withCells } from "../cells.js";
import type { Command } from "../command.js";
import { plural } from "../format.js";
import { MovesShown } from "../move-progress.js";
import { userName } from "../user-name.js";
import { planText } from "./cells-move.js";

export const cellsDrainCommand: Command = {
  name: "cells drain",
  summary: "give a cell no new queues, and move its queues to other cells",
  details: [
    "They go to `--to`, or to the cells that have the fewest queues: first new jobs of all of them, then it waits until what is left has ended. If it is broken off, it goes on when it is given again. `cells remove` removes the cell then; `cells add` gives it new queues again instead. Refused before anything is changed where one of its queues cannot move. `--dry-run` says what would be done, with exit 1 where it is refused.",
  ],
  arguments: [{ name: "CELL", help: "the cell" }],
  options: {
    to: { value: "CELL", help: "the cell to move all of them to" },
    "dry-run": { help: "say what would be done, and change nothing" },
    by: { value: "NAME", help: "who moves them, for the record (default: the user's name)" },
    ...cellOptions,
  },
  examples: ["millrace cells drain a --dry-run", "millrace cells drain a", "millrace cells drain a --to b"],
  async run({ args, options, out }) {
    const [name] = args as [string];
    return withCells(options, async (cells) => {
      if (options.flag("dry-run")) {
        const plan = await cellsOf(cells).drain(name, { ...options.pick("to"), dryRun: true });
        out.result(plan, drainText(plan));
        return plan.moves.every(({ against }) => against.length === 0) ? 0 : 1;
      }
      const shown = new MovesShown(out);
      const drain = cellsOf(cells).drain(name, {
        ...options.pick("to"),
        by: options.given("by") ?? userName(),
        onProgress: (progress) => shown.show(progress),
      });
      const result = await drain.finally(() => shown.end());
      out.result(result, [
        ...result.moved.map(({ queue, to }) => `queue ${queue} lives in the cell ${to}`),
        `the cell ${name} is drained: ${plural(result.moved.length, "queue has", "queues have")} moved`,
      ]);
      return 0;
    });
  },
};

function drainText({ cell, moves, empty }: DrainPlan): string[] {
  return [
    `the cell ${cell} would get no new queues, and ${plural(moves.length + empty.length, "queue", "queues")} would leave it`,
    ...empty.map(({ queue, to }) => `queue ${queue} is empty, and lives in ${to} too: it would be closed`),
    ...moves.flatMap(planText),
  ];
}
