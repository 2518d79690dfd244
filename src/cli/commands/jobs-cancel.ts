import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { plural } from "../format.js";

export const jobsCancelCommand: Command = {
  name: "jobs cancel",
  summary: "cancel jobs",
  details: [
    "A waiting job never runs; the handler of a running one is told to stop. The exit code is 1 when some had ended already.",
  ],
  arguments: [{ name: "ID", help: "the jobs", many: true }],
  options: {
    by: { value: "NAME", help: "who cancels, kept with the job" },
    because: { value: "TEXT", help: "why, kept with the job" },
    ...databaseOptions,
  },
  examples: [
    'millrace jobs cancel 880123456789012345 --by ann --because "sent twice"',
    "millrace jobs --state delayed --json | jq -r '.[].id' | xargs millrace jobs cancel",
  ],
  async run({ args, options, out }) {
    return withDatabase(options, async ({ engine }) => {
      const ids = [...new Set(args)];
      const cancelled = await engine.cancel(ids, options.given("because"), options.pick("by"));
      const rest = ids.length - cancelled;
      out.result(
        { cancelled, ended: rest },
        `${plural(cancelled, "job")} cancelled${rest > 0 ? `, ${rest} had ended already` : ""}`,
      );
      return rest === 0 ? 0 : 1;
    });
  },
};
