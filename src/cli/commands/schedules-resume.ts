import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { userName } from "../user-name.js";

export const schedulesResumeCommand: Command = {
  name: "schedules resume",
  summary: "resume a schedule that was paused, or that stopped because of failures",
  details: [
    "It goes on with its next slot. With `--catch-up`, what came meanwhile is dealt with as missed, by the schedule's own rule.",
  ],
  arguments: [{ name: "NAME", help: "the schedule" }],
  options: {
    "catch-up": { help: "make up for what was missed, as the schedule says" },
    because: { value: "TEXT", help: "why, kept with its events" },
    ...databaseOptions,
  },
  examples: ["millrace schedules resume nightly", "millrace schedules resume nightly --catch-up"],
  async run({ args, options, out }) {
    const [name] = args as [string];
    const catchUp = options.flag("catch-up");
    return withDatabase(options, async ({ engine }) => {
      await engine.schedules.resume(name, { by: userName(), ...options.pick("because"), catchUp });
      out.result({ name, catchUp }, `${name} goes on`);
      return 0;
    });
  },
};
