import { cellOptions, cellsOf, withCells } from "../cells.js";
import type { Command } from "../command.js";
import { plural } from "../format.js";

export const cellsRemoveCommand: Command = {
  name: "cells remove",
  summary: "remove a drained cell, so that processes no longer need it",
  details: [
    "Copies what only this cell knows to the others, so that every queue is found without it. Then take it out of the lists of all processes. Its database is not touched; handles of its jobs are refused where it is not in the list. Refused while it gets new queues, or something may come to life in it. `--dry-run` says what speaks against it, with exit 1 then.",
  ],
  arguments: [{ name: "CELL", help: "the cell" }],
  options: { "dry-run": { help: "say what would be done, and change nothing" }, ...cellOptions },
  examples: ["millrace cells remove a --dry-run", "millrace cells remove a"],
  async run({ args, options, out }) {
    const [name] = args as [string];
    return withCells(options, async (cells) => {
      const dryRun = options.flag("dry-run");
      const plan = await cellsOf(cells).remove(name, { dryRun });
      const isRefused = plan.against.length > 0;
      out.result({ ...plan, dryRun }, [
        ...plan.against.map(({ message, remedy }) => `not possible: ${message} (${remedy})`),
        ...(plan.failed > 0 ? [`${plural(plan.failed, "failed job")} in it not yet retried or discarded`] : []),
        ...(isRefused
          ? []
          : [dryRun ? `the cell ${name} can be removed` : `take ${name} out of all lists of cells now`]),
      ]);
      return isRefused ? 1 : 0;
    });
  },
};
