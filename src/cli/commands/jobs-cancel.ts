import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { plural } from "../format.js";
import { actOnAll, bulkDetail, bulkOptions, idsOf } from "../job-filter.js";

export const jobsCancelCommand: Command = {
  name: "jobs cancel",
  summary: "cancel jobs",
  details: [
    "A waiting job never runs; the handler of a running one gets its signal. The exit code is 1 when some had ended already.",
    bulkDetail,
  ],
  arguments: [{ name: "ID", help: "the jobs", many: true, optional: true }],
  options: {
    ...bulkOptions,
    by: { value: "NAME", help: "who cancels, kept with the job" },
    because: { value: "TEXT", help: "why, kept with the job" },
    ...databaseOptions,
  },
  examples: [
    'millrace jobs cancel 880123456789012345 --by ann --because "sent twice"',
    "millrace jobs cancel --type newsletter --input '{\"campaign\": 7}' --yes",
  ],
  async run({ args, options, out }) {
    const ids = idsOf(args, options);
    return withDatabase(options, async ({ engine }) => {
      if (!ids)
        return actOnAll({ options, out }, engine, {
          narrow: { isLive: true },
          work: (jobs) => engine.cancel(jobs, options.given("because"), options.pick("by")),
          done: "cancelled",
          would: "cancelled",
        });
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
