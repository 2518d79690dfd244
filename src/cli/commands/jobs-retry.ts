import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { plural } from "../format.js";

export const jobsRetryCommand: Command = {
  name: "jobs retry",
  summary: "give failed and expired jobs more attempts",
  details: [
    "Their expiry is renewed from their own options. The exit code is 1 when some are neither failed nor expired, or were discarded; those are left alone.",
  ],
  arguments: [{ name: "ID", help: "the jobs", many: true }],
  options: {
    attempts: { value: "N", help: "how many more attempts", default: "1" },
    "per-second": { value: "N", help: "let only so many become ready per second (default: all at once)" },
    by: { value: "NAME", help: "who decided it, kept with the job" },
    because: { value: "TEXT", help: "why, kept with the job" },
    ...databaseOptions,
  },
  examples: [
    "millrace jobs retry 880123456789012345",
    "millrace jobs --state failed --json | jq -r '.[].id' | xargs millrace jobs retry --attempts 3",
  ],
  async run({ args, options, out }) {
    const attempts = options.integer("attempts", 1, 1_000_000);
    const perSecond = options.givenNumber("per-second");
    return withDatabase(options, async ({ engine }) => {
      const ids = [...new Set(args)];
      const retried = await engine.addRetries(attempts, {
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
