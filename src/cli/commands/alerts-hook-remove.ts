import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { userName } from "../user-name.js";

export const alertsHookRemoveCommand: Command = {
  name: "alerts hook-remove",
  summary: "send nothing there any more; rules lose it",
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
