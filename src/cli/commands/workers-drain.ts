import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { userName } from "../user-name.js";
import { targetName, targetOf, targetOptions } from "../worker-target.js";

export const workersDrainCommand: Command = {
  name: "workers drain",
  summary: "pause workers, and report when their last handler has ended",
  details: [
    "`millrace workers` shows `draining`, then `drained`. They stay until they are resumed or stopped. Your user name is noted.",
  ],
  arguments: [{ name: "NAME", help: "the name of workers (default: all of the process)", optional: true }],
  options: { because: { value: "TEXT", help: "why; shown with the worker" }, ...targetOptions, ...databaseOptions },
  examples: ["millrace workers drain mailer", "millrace workers drain --process web-1:4711:9f0c…"],
  async run({ args, options, out }) {
    const target = targetOf(args, options);
    return withDatabase(options, async ({ engine }) => {
      const workers = await engine.workerDrain(target, { by: userName(), ...options.pick("because") });
      out.result({ ...target, workers }, `${targetName(target)}: ${workers} to drain`);
      return 0;
    });
  },
};
