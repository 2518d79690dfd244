import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { time } from "../format.js";
import { textTable } from "../text-table.js";

export const alertsHooksCommand: Command = {
  name: "alerts hooks",
  summary: "list the web hooks, without their secrets and full addresses",
  arguments: [],
  options: databaseOptions,
  examples: ["millrace alerts hooks"],
  async run({ options, out }) {
    return withDatabase(options, async ({ engine }) => {
      const hooks = await engine.hooks();
      const table = () =>
        textTable(
          [{ title: "HOOK" }, { title: "LEADS TO" }, { title: "RULES" }, { title: "SET" }, { title: "BY" }],
          hooks.map(({ name, origin, rules, putAt, putBy }) => [
            name,
            origin,
            rules.join(", "),
            time(putAt),
            putBy ?? "",
          ]),
          out.width,
        );
      const warning = hooks.some(({ senders }) => senders > 0)
        ? []
        : ["", 'no worker that is known sends them: run "millrace serve", or mill.alerts.worker()'];
      out.result(hooks, hooks.length === 0 ? "there is no web hook" : [...table(), ...warning]);
      return 0;
    });
  },
};
