import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { userName } from "../user-name.js";
import { targetName, targetOf, targetOptions } from "../worker-target.js";

export const workersPauseCommand: Command = {
  name: "workers pause",
  summary: "pause workers: they take no more jobs until they are resumed",
  details: [
    "They give back what they have not started; running handlers go on. They obey with their next heartbeat, which is asked for at once. Your user name is noted.",
    "A name stands for all workers of it, also those that start later. `--process` takes an id of `millrace workers`.",
  ],
  arguments: [{ name: "NAME", help: "the name of workers (default: all of the process)", optional: true }],
  options: { because: { value: "TEXT", help: "why; shown with the worker" }, ...targetOptions, ...databaseOptions },
  examples: [
    'millrace workers pause mailer --because "the provider is down"',
    "millrace workers pause --process web-1:4711:9f0c…",
  ],
  async run({ args, options, out }) {
    const target = targetOf(args, options);
    return withDatabase(options, async ({ engine }) => {
      const workers = await engine.workerPause(target, { by: userName(), ...options.pick("because") });
      out.result({ ...target, workers }, `${targetName(target)}: ${workers} paused`);
      return 0;
    });
  },
};
