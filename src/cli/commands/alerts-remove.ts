import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { userName } from "../user-name.js";

export const alertsRemoveCommand: Command = {
  name: "alerts remove",
  summary: "remove a rule, and resolve what it has fired",
  arguments: [{ name: "NAME", help: "the rule" }],
  options: databaseOptions,
  examples: ["millrace alerts remove old-mail"],
  async run({ args, options, out }) {
    const [name] = args as [string];
    return withDatabase(options, async ({ engine }) => {
      await engine.alertRemove(name, userName());
      out.result({ name }, `${name} is removed`);
      return 0;
    });
  },
};
