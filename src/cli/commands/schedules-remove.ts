import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { userName } from "../user-name.js";

export const schedulesRemoveCommand: Command = {
  name: "schedules remove",
  summary: "remove a schedule; jobs it has made keep running",
  details: [
    "Its runs stay on record, so that one of the same name repeats no slot. Code that declares it makes it again when that starts. Your user name is noted.",
  ],
  arguments: [{ name: "NAME", help: "the schedule" }],
  options: databaseOptions,
  examples: ["millrace schedules remove nightly"],
  async run({ args, options, out }) {
    const [name] = args as [string];
    return withDatabase(options, async ({ engine }) => {
      await engine.schedules.remove(name, { by: userName() });
      out.result({ name }, `${name} is removed`);
      return 0;
    });
  },
};
