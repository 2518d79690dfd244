import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { userName } from "../user-name.js";

export const schedulesTriggerCommand: Command = {
  name: "schedules trigger",
  summary: "run a schedule now, even if a run is in progress",
  details: [
    "Prints the job's id. Its slots stay as they are; a schedule that is paused or finished can be run too. Your user name is noted.",
  ],
  arguments: [{ name: "NAME", help: "the schedule" }],
  options: databaseOptions,
  examples: ["millrace schedules trigger nightly"],
  async run({ args, options, out }) {
    const [name] = args as [string];
    return withDatabase(options, async ({ engine }) => {
      const job = await engine.schedules.trigger(name, { by: userName() });
      out.result({ name, job }, job);
      return 0;
    });
  },
};
