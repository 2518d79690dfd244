import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { plural } from "../format.js";
import { actOnAll, bulkDetail, bulkOptions, idsOf } from "../job-filter.js";

export const jobsRetryCommand: Command = {
  name: "jobs retry",
  summary: "give failed and expired jobs more attempts",
  details: [
    "Their expiry is renewed from their own options. The exit code is 1 when some are neither failed nor expired, or were discarded; those are left alone.",
    bulkDetail,
  ],
  arguments: [{ name: "ID", help: "the jobs", many: true, optional: true }],
  options: {
    ...bulkOptions,
    attempts: { value: "N", help: "how many more attempts", default: "1" },
    "per-second": { value: "N", help: "make at most N jobs ready per second (default: all at once)" },
    by: { value: "NAME", help: "who decided it, kept with the job" },
    because: { value: "TEXT", help: "why, kept with the job" },
    ...databaseOptions,
  },
  examples: [
    "millrace jobs retry 880123456789012345",
    "millrace jobs retry --state failed --error ETIMEDOUT --since 2026-03-01T08:00Z --per-second 10 --yes",
  ],
  async run({ args, options, out }) {
    const ids = idsOf(args, options);
    const attempts = options.integer("attempts", 1, 1_000_000);
    const perSecond = options.givenNumber("per-second");
    const startedAt = Date.now();
    return withDatabase(options, async ({ engine }) => {
      if (!ids)
        return actOnAll({ options, out }, engine, {
          narrow: { undecided: true },
          work: (jobs, done) =>
            engine.retry(attempts, {
              ids: jobs,
              skipFinished: true,
              ...options.pick("by", "because"),
              ...(perSecond === undefined
                ? {}
                : { perSecond, startAt: new Date(startedAt + (done / perSecond) * 1000) }),
            }),
          done: "retried",
          would: "given more attempts",
        });
      const retried = await engine.retry(attempts, {
        ids,
        ...options.pick("by", "because"),
        ...(perSecond === undefined ? {} : { perSecond }),
      });
      const rest = ids.length - retried;
      out.result(
        { retried, others: rest },
        `${plural(retried, "job")} will be tried again${rest > 0 ? `, ${rest} left alone` : ""}`,
      );
      return rest === 0 ? 0 : 1;
    });
  },
};
