import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { time } from "../format.js";
import { textTable } from "../text-table.js";

export const queuesEventsCommand: Command = {
  name: "queues events",
  summary: "list what happened to queues: paused, resumed, closed, finished and so on, newest last",
  arguments: [{ name: "NAME", help: "only this queue (default all)", optional: true }],
  options: { limit: { value: "N", help: "how many", default: "20" }, ...databaseOptions },
  examples: ["millrace queues events", "millrace queues events import-7 --json"],
  async run({ args, options, out }) {
    const [name] = args as [string?];
    return withDatabase(options, async ({ engine }) => {
      const { events } = await engine.queueEvents();
      const shown = events
        .filter(({ queue }) => name === undefined || queue === name)
        .slice(-options.integer("limit", 1, 10_000));
      out.result(
        shown,
        textTable(
          [{ title: "AT" }, { title: "QUEUE" }, { title: "EVENT" }, { title: "BY" }, { title: "WHAT" }],
          shown.map(({ at, queue, event, by, because, type, group, stage, jobs }) => {
            const what = [
              type && `type ${type}`,
              group && `group ${group}`,
              stage && `stage ${stage}, ${jobs} jobs`,
              because,
            ]
              .filter(Boolean)
              .join(", ");
            return [time(at), queue, event, by ?? "", what];
          }),
          out.width,
        ),
      );
      return 0;
    });
  },
};
