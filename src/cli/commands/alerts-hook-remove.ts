import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { userName } from "../user-name.js";

export const alertsHookRemoveCommand: Command = {
  name: "alerts hook-remove",
  summary: "remove a web hook, from all rules that name it too",
  arguments: [{ name: "NAME", help: "the web hook" }],
  options: databaseOptions,
  examples: ["millrace alerts hook-remove ops"],
  async run({ args, options, out }) {
    const [name] = args as [string];
    return withDatabase(options, async ({ engine }) => {
      await engine.hookRemove(name, userName());
      out.result({ name }, `${name} is removed`);
      return 0;
    });
  },
};
