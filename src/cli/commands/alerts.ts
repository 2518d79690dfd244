import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { time } from "../format.js";
import { textTable } from "../text-table.js";

export const alertsCommand: Command = {
  name: "alerts",
  summary: "list alerts that are firing or about to",
  details: [
    "The exit code is 1 when one fires that is not silenced. What rules there are, and what they do, is in docs/alerts.md.",
  ],
  arguments: [],
  options: databaseOptions,
  examples: ["millrace alerts", "millrace alerts --json | jq '.[] | select(.state == \"firing\")'"],
  async run({ options, out }) {
    return withDatabase(options, async ({ engine }) => {
      const alerts = await engine.alerts();
      const table = () =>
        textTable(
          [{ title: "RULE" }, { title: "SUBJECT" }, { title: "STATE" }, { title: "SINCE" }, { title: "WHAT" }],
          alerts.map(({ rule, subject, state, silenced, since, message }) => [
            rule,
            subject,
            silenced ? `${state}, silenced` : state,
            time(since),
            message,
          ]),
          out.width,
        );
      out.result(alerts, alerts.length === 0 ? "no alert fires" : table());
      return alerts.some(({ state, silenced }) => state === "firing" && !silenced) ? 1 : 0;
    });
  },
};
