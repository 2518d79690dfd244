import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { plural } from "../format.js";

export const jobsRunNowCommand: Command = {
  name: "jobs run-now",
  summary: "run delayed jobs now",
  details: [
    "They are due now, whether they were enqueued for later or wait for a retry, and workers are woken.",
    "The exit code is 1 when some are not delayed, or wait for the release of a stage; those are left alone.",
  ],
  arguments: [{ name: "ID", help: "the jobs", many: true }],
  options: { ...databaseOptions },
  examples: ["millrace jobs run-now 880123456789012345"],
  async run({ args, options, out }) {
    return withDatabase(options, async ({ engine }) => {
      const due = await engine.runNow(args);
      const rest = args.length - due;
      out.result(
        { due, others: rest },
        `${plural(due, "job")} ${due === 1 ? "is" : "are"} due now${rest > 0 ? `, ${rest} left alone` : ""}`,
      );
      return rest === 0 ? 0 : 1;
    });
  },
};
