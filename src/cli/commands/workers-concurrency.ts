import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { UsageError } from "../usage-error.js";
import { userName } from "../user-name.js";
import { targetName, targetOf, targetOptions } from "../worker-target.js";

export const workersConcurrencyCommand: Command = {
  name: "workers concurrency",
  summary: "set how many handlers each worker runs at once, from now on",
  details: ["Handlers that run are not stopped. `own` gives back what the code of the worker says."],
  arguments: [
    { name: "N", help: "1 to 9000, or `own`" },
    { name: "NAME", help: "the name of workers (default: all of the process)", optional: true },
  ],
  options: {
    because: { value: "TEXT", help: "why; shown with the worker" },
    ...targetOptions,
    ...databaseOptions,
  },
  examples: ["millrace workers concurrency 2 resizer", "millrace workers concurrency own resizer"],
  async run({ args: [n, ...rest], options, out }) {
    if (n !== "own" && !/^\d{1,4}$/.test(n!)) throw new UsageError(`N cannot be "${n}"`, "give 1 to 9000, or own");
    const concurrency = n === "own" ? null : Number(n);
    const target = targetOf(rest, options);
    return withDatabase(options, async ({ engine }) => {
      const note = { by: userName(), ...options.pick("because") };
      const workers = await engine.workerConcurrency(target, concurrency, note);
      const text = concurrency === null ? "as their code says" : `${concurrency} at once`;
      out.result({ ...target, workers, concurrency }, `${targetName(target)}: ${workers} with ${text}`);
      return 0;
    });
  },
};
