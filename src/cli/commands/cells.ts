import { Members, newestOf } from "../../cells/members.js";
import { migrationStatus } from "../../db/schema-version.js";
import type { CellLook } from "../../db/types.js";
import { type NamedCell, cellOptions, withCells } from "../cells.js";
import type { Command } from "../command.js";
import { count } from "../format.js";
import { textTable } from "../text-table.js";

interface CellLine {
  readonly name: string;
  readonly state: "up" | "down" | "missing" | "older" | "newer";
  /** Whether it gets new queues; null when that is not known. */
  readonly list: string | null;
  readonly version: number | null;
  readonly queues: number | null;
  readonly jobs: number | null;
  readonly leaving: number | null;
  readonly arriving: number | null;
  readonly error?: string;
}

export const cellsCommand: Command = {
  name: "cells",
  summary: "list the cells, what they hold, and which queues are moving",
  details: [
    "The cells are named by MILLRACE_CELLS, as `a=postgres://… b=postgres://…`. `LIST` says whether they get new queues: `member` is yes, `out` was drained, `known` was never added. `QUEUES` are those that live there, `JOBS` those that have not ended; `LEAVING` queues have moved away and still have jobs, `ARRIVING` ones wait for them.",
  ],
  arguments: [],
  options: cellOptions,
  examples: ["millrace cells", "millrace cells list --json"],
  async run({ options, out }) {
    return withCells(options, async (cells) => {
      const looks = new Map<string, CellLook>();
      const found = await Promise.all([...cells.values()].map((cell) => lineOf(cell, looks)));
      const members = new Members(newestOf(looks)?.members ?? []);
      const lines = found.map((line) => (looks.size > 0 ? { ...line, list: members.stateOf(line.name) } : line));
      out.result(
        lines,
        textTable(
          [
            { title: "NAME" },
            { title: "STATE" },
            { title: "LIST" },
            { title: "VERSION", align: "right" },
            { title: "QUEUES", align: "right" },
            { title: "JOBS", align: "right" },
            { title: "LEAVING", align: "right" },
            { title: "ARRIVING", align: "right" },
            { title: "" },
          ],
          lines.map((line) => [
            line.name,
            line.state,
            line.list ?? "",
            ...[line.version, line.queues, line.jobs, line.leaving, line.arriving].map((n) =>
              n === null ? "" : count(n),
            ),
            line.error ?? "",
          ]),
          out.width,
        ),
      );
      return lines.every(({ state }) => state === "up") ? 0 : 1;
    });
  },
};

/** The same under the name that people try first. */
export const cellsListCommand: Command = { ...cellsCommand, name: "cells list", summary: "the same as `cells`" };

async function lineOf({ name, pool, engine }: NamedCell, looks: Map<string, CellLook>): Promise<CellLine> {
  const nothing = { name, list: null, version: null, queues: null, jobs: null, leaving: null, arriving: null };
  try {
    const { state, installed } = await migrationStatus(pool, { schema: engine.schema });
    if (state !== "current") return { ...nothing, state, version: installed };
    looks.set(name, await engine.cellLook());
    const [live, moves] = [await engine.moves.live(), await engine.moves.list()];
    return {
      name,
      state: "up",
      list: null,
      version: installed,
      queues: live.filter(({ movedTo }) => movedTo === null).length,
      jobs: live.reduce((sum, { jobs }) => sum + jobs, 0),
      leaving: moves.filter(({ direction, drainedAt }) => direction === "leaving" && !drainedAt).length,
      arriving: moves.filter(({ direction }) => direction === "arriving").length,
    };
  } catch (error) {
    return { ...nothing, state: "down", error: (error as Error).message };
  }
}
