import { cellOptions, cellsOf, withCells } from "../cells.js";
import type { Command } from "../command.js";

export const cellsDoctorCommand: Command = {
  name: "cells doctor",
  summary: "check the cells as a whole, and say how to fix what is wrong",
  details: [
    "Cells that cannot be used or have another name, changes of the list and moves that were broken off and not continued, routes that not all cells know or that lead nowhere. `millrace doctor` looks into one cell. Exit 1 when something is wrong.",
  ],
  arguments: [],
  options: { fix: { help: "copy the newest routes to all cells before" }, ...cellOptions },
  examples: ["millrace cells doctor", "millrace cells doctor --fix --json"],
  async run({ options, out }) {
    return withCells(options, async (cells) => {
      const findings = await cellsOf(cells).doctor({ fix: options.flag("fix") });
      out.result(
        findings,
        findings.map(
          ({ cell, state, message, remedy }) =>
            `${state} ${cell}: ${message}${remedy === undefined ? "" : ` (${remedy})`}`,
        ),
      );
      return findings.some(({ state }) => state === "wrong") ? 1 : 0;
    });
  },
};
