import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { plural } from "../format.js";
import { actOnAll, bulkDetail, bulkOptions, idsOf } from "../job-filter.js";

export const jobsDiscardCommand: Command = {
  name: "jobs discard",
  summary: "mark failed and expired jobs as not to be retried",
  details: [
    "They keep their state, but are no longer listed with --undecided, and can no longer be retried.",
    "The exit code is 1 when some are neither failed nor expired, or were discarded before; those are left alone.",
    bulkDetail,
  ],
  arguments: [{ name: "ID", help: "the jobs", many: true, optional: true }],
  options: {
    ...bulkOptions,
    by: { value: "NAME", help: "who decided it, kept with the job" },
    because: { value: "TEXT", help: "why, kept with the job" },
    ...databaseOptions,
  },
  examples: [
    'millrace jobs discard 880123456789012345 --by ann --because "the customer has left"',
    "millrace jobs discard --type newsletter --state expired --yes",
  ],
  async run({ args, options, out }) {
    const ids = idsOf(args, options);
    return withDatabase(options, async ({ engine }) => {
      if (!ids)
        return actOnAll({ options, out }, engine, {
          narrow: { undecided: true },
          work: (jobs) => engine.discard(jobs, options.pick("by", "because")),
          done: "discarded",
          would: "discarded",
        });
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
