import type { FailureRetry, FailuresRetried } from "../../db/types.js";
import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { duration, plural } from "../format.js";
import { stopSignals } from "../stop-signals.js";
import { UsageError } from "../usage-error.js";

export const failuresRetryCommand: Command = {
  name: "failures retry",
  summary: "retry the failed jobs of one group of failures, a queue or a type, all at once or at a rate",
  details: [
    "Oldest first. Jobs are committed a thousand at a time; Ctrl-C stops after the batch in progress (exit 1). The exit code is also 1 when there was nothing to retry.",
  ],
  arguments: [
    {
      name: "FINGERPRINT",
      help: "the group, as `millrace failures` shows it (default: all of the queue or type)",
      optional: true,
    },
  ],
  options: {
    queue: { value: "NAME", help: "only of this queue" },
    type: { value: "TYPE", help: "only of this type" },
    since: { value: "TIME", help: "only those that failed at this time or later, such as 2026-03-01T08:00Z" },
    until: { value: "TIME", help: "only those that failed before this time" },
    attempts: { value: "N", help: "how many more attempts", default: "1" },
    "per-second": { value: "N", help: "make at most N jobs ready per second (default: all at once)" },
    "start-at": { value: "TIME", help: "when the first one becomes ready (default: now)" },
    by: { value: "NAME", help: "who decided it, kept with the jobs" },
    because: { value: "TEXT", help: "why, kept with the jobs" },
    ...databaseOptions,
  },
  examples: [
    "millrace failures retry 5d41402abc4b2a76 --per-second 10",
    'millrace failures retry --type send-mail --because "the provider is back"',
  ],
  async run({ args, options, out }) {
    const [fingerprint] = args as [string?];
    const perSecond = options.givenNumber("per-second");
    const startAt = options.given("start-at");
    const which: FailureRetry = {
      ...(fingerprint === undefined ? {} : { fingerprint }),
      ...options.pick("queue", "type", "since", "until", "by", "because"),
      attempts: options.integer("attempts", 1, 1_000_000),
      ...(perSecond === undefined ? {} : { perSecond }),
      ...(startAt === undefined ? {} : { startAt }),
    };
    if (fingerprint === undefined && which.queue === undefined && which.type === undefined) {
      throw new UsageError("nothing says which failures", "give a FINGERPRINT, --queue or --type");
    }
    return withDatabase(options, async ({ engine }) => {
      const signals = stopSignals();
      let retried = 0;
      let next: FailureRetry | null = which;
      try {
        while (next && !signals.isRequested) {
          const batch: FailuresRetried = await engine.failureRetry(next);
          retried += batch.jobs;
          next = batch.next;
        }
      } finally {
        signals.forget();
      }
      const over =
        perSecond === undefined || retried < 2 ? "" : `, over ${duration(((retried - 1) / perSecond) * 1000)}`;
      out.result({ retried, next: next && { startAt: next.startAt } }, [
        `${plural(retried, "job")} will be tried again${over}`,
        ...(next === null ? [] : [`stopped: go on with --start-at ${String(next.startAt)}`]),
      ]);
      return retried > 0 && next === null ? 0 : 1;
    });
  },
};
