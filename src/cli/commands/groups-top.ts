import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { count, duration } from "../format.js";
import { textTable } from "../text-table.js";

export const groupsTopCommand: Command = {
  name: "groups top",
  summary: "list the groups of a queue with the most waiting jobs",
  details: ["Reads what waits: it costs more the longer the backlog is. Jobs without a group are counted together."],
  arguments: [{ name: "NAME", help: "the queue (default `default`)", optional: true }],
  options: { limit: { value: "N", help: "how many", default: "20" }, ...databaseOptions },
  examples: ["millrace groups top mail", "millrace groups top mail --limit 5 --json"],
  async run({ args, options, out }) {
    const [name = "default"] = args as [string?];
    return withDatabase(options, async ({ engine }) => {
      const groups = await engine.queueGroups(name, options.integer("limit", 1, 10_000));
      out.result(
        groups,
        textTable(
          [
            { title: "GROUP" },
            { title: "WAITING", align: "right" },
            { title: "DELAYED", align: "right" },
            { title: "RUNNING", align: "right" },
            { title: "OLDEST", align: "right" },
          ],
          groups.map((one) => [
            one.group ?? "(none)",
            count(one.waiting),
            count(one.delayed),
            count(one.running),
            one.oldestAgeSeconds === null ? "" : duration(one.oldestAgeSeconds * 1000),
          ]),
          out.width,
        ),
      );
      return 0;
    });
  },
};
