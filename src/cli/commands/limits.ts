import type { LimitRecord } from "../../db/types.js";
import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { count } from "../format.js";
import { textTable } from "../text-table.js";

export const limitsCommand: Command = {
  name: "limits",
  summary: "list the limits of queues, groups, types and resources, and how much of each is used",
  arguments: [],
  options: databaseOptions,
  examples: ["millrace limits"],
  async run({ options, out }) {
    return withDatabase(options, async ({ engine }) => {
      const limits = await engine.limits();
      const titles = ["MAX RUNNING", "IN USE", "PER SECOND", "BURST"];
      out.result(
        limits,
        textTable(
          [...titles.map((title) => ({ title, align: "right" as const })), { title: "OF" }],
          limits.map((limit) => [
            ...[limit.maxRunning, limit.inUse, limit.rate?.perSecond, limit.rate?.burst].map(cell),
            subject(limit),
          ]),
          out.width,
        ),
      );
      return 0;
    });
  },
};

const cell = (value: number | null | undefined): string => (value === null || value === undefined ? "" : count(value));

function subject({ kind, queue, name }: LimitRecord): string {
  return [
    kind,
    ...(name === null ? [] : [name]),
    ...(queue === null ? [] : [kind === "queue" ? queue : `of ${queue}`]),
  ].join(" ");
}
