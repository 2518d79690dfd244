import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { time } from "../format.js";
import { textTable } from "../text-table.js";

export const alertsEventsCommand: Command = {
  name: "alerts events",
  summary: "list what happened to alerts, rules and web hooks, newest last",
  arguments: [],
  options: { limit: { value: "N", help: "how many", default: "20" }, ...databaseOptions },
  examples: ["millrace alerts events --limit 100"],
  async run({ options, out }) {
    return withDatabase(options, async ({ engine }) => {
      const events = (await engine.alertEvents({ limit: options.integer("limit", 1, 10_000) })).toReversed();
      out.result(
        events,
        textTable(
          [
            { title: "AT" },
            { title: "EVENT" },
            { title: "OF" },
            { title: "SUBJECT" },
            { title: "BY" },
            { title: "WHAT" },
          ],
          events.map(({ at, event, rule, subject, by, message }) => [
            time(at),
            event,
            rule,
            subject ?? "",
            by ?? "",
            message ?? "",
          ]),
          out.width,
        ),
      );
      return 0;
    });
  },
};
