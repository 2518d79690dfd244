import { cellOptions, cellsOf, withCells } from "../cells.js";
import type { Command } from "../command.js";

export const cellsAddCommand: Command = {
  name: "cells add",
  summary: "let a cell get new queues, once every process has it in its list",
  details: [
    "Queues that exist stay where they are. Also for a cell that was drained: it gets new queues again, and those that have moved stay where they are. All cells must answer; if it is broken off, give it again.",
  ],
  arguments: [{ name: "CELL", help: "the cell", many: true }],
  options: { "dry-run": { help: "say what would be done, and change nothing" }, ...cellOptions },
  examples: ["millrace cells add b --dry-run", "millrace cells add b c"],
  async run({ args, options, out }) {
    return withCells(options, async (cells) => {
      const dryRun = options.flag("dry-run");
      const members = await cellsOf(cells).add(args, { dryRun });
      out.result(
        { added: args, members, dryRun },
        `new queues ${dryRun ? "would go" : "go"} to ${members.toSorted().join(", ")}`,
      );
      return 0;
    });
  },
};
