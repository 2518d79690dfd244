import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { textTable } from "../text-table.js";

export const groupsCommand: Command = {
  name: "groups",
  summary: "list the groups that have a weight of their own",
  details: ["Groups need not be set up; all others have the weight 1."],
  arguments: [],
  options: databaseOptions,
  examples: ["millrace groups"],
  async run({ options, out }) {
    return withDatabase(options, async ({ engine }) => {
      const groups = await engine.groups();
      const columns = [{ title: "QUEUE" }, { title: "WEIGHT", align: "right" }, { title: "GROUP" }] as const;
      out.result(
        groups,
        textTable(
          columns,
          groups.map(({ queue, group, weight }) => [queue, String(weight), group]),
          out.width,
        ),
      );
      return 0;
    });
  },
};
