import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { userName } from "../user-name.js";

export const schedulesPauseCommand: Command = {
  name: "schedules pause",
  summary: "pause a schedule, in all processes",
  details: [
    "Jobs that it made go on. Your user name is noted. Code that declares the schedule again does not resume it.",
  ],
  arguments: [{ name: "NAME", help: "the schedule" }],
  options: { because: { value: "TEXT", help: "why; shown with the schedule" }, ...databaseOptions },
  examples: ['millrace schedules pause nightly --because "the warehouse is being moved"'],
  async run({ args, options, out }) {
    const [name] = args as [string];
    return withDatabase(options, async ({ engine }) => {
      await engine.schedules.pause(name, { by: userName(), ...options.pick("because") });
      out.result({ name, health: "paused" }, `${name} is paused`);
      return 0;
    });
  },
};
