import type { GroupDepth } from "../../db/types.js";
import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { count, duration } from "../format.js";
import { textTable } from "../text-table.js";

export const queuesGroupsCommand: Command = {
  name: "queues groups",
  summary: "list the groups of a queue with the most waiting jobs",
  details: [
    "Jobs without a group are counted together. Of more than 10,000 waiting jobs a sample is read: then waiting and delayed are estimates (`~`), and a group with little may be missing unless it is paused.",
  ],
  arguments: [{ name: "NAME", help: "the queue (default `default`)", optional: true }],
  options: { limit: { value: "N", help: "how many", default: "20" }, ...databaseOptions },
  examples: ["millrace queues groups mail", "millrace queues groups mail --limit 5 --json"],
  async run({ args, options, out }) {
    const [name = "default"] = args as [string?];
    return withDatabase(options, async ({ engine }) => {
      const groups = await engine.queueGroups(name, options.integer("limit", 1, 10_000));
      out.result(
        groups,
        textTable(
          [
            { title: "GROUP" },
            { title: "READY", align: "right" },
            { title: "BLOCKED", align: "right" },
            { title: "SHARE", align: "right" },
            { title: "DELAYED", align: "right" },
            { title: "RUNNING", align: "right" },
            { title: "OLDEST", align: "right" },
          ],
          groups.map((one) => [
            one.group ?? "(none)",
            about(one, one.ready),
            about(one, one.blocked),
            `${(one.share * 100).toFixed(1)} %`,
            about(one, one.delayed),
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

const about = ({ estimated }: GroupDepth, jobs: number): string =>
  estimated && jobs > 0 ? `~${count(jobs)}` : count(jobs);
