import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { plural } from "../format.js";

export const jobsDiscardCommand: Command = {
  name: "jobs discard",
  summary: "decide that failed and expired jobs will not be retried",
  details: [
    "They keep their state, but are no longer listed with --undecided, and can no longer be retried.",
    "The exit code is 1 when some are neither failed nor expired, or were discarded before; those are left alone.",
  ],
  arguments: [{ name: "ID", help: "the jobs", many: true }],
  options: {
    by: { value: "NAME", help: "who decided it, kept with the job" },
    because: { value: "TEXT", help: "why, kept with the job" },
    ...databaseOptions,
  },
  examples: [
    'millrace jobs discard 880123456789012345 --by ann --because "the customer has left"',
    "millrace jobs --undecided --type newsletter --json | jq -r '.[].id' | xargs millrace jobs discard",
  ],
  async run({ args, options, out }) {
    return withDatabase(options, async ({ engine }) => {
      const ids = [...new Set(args)];
      const discarded = await engine.discard(ids, options.pick("by", "because"));
      const rest = ids.length - discarded;
      out.result(
        { discarded, others: rest },
        `${plural(discarded, "job")} discarded${rest > 0 ? `, ${rest} left alone` : ""}`,
      );
      return rest === 0 ? 0 : 1;
    });
  },
};
