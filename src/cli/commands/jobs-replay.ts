import type { Replay, Replayed } from "../../db/types.js";
import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { duration, plural } from "../format.js";
import type { Options } from "../options.js";
import { stopSignals } from "../stop-signals.js";
import { UsageError } from "../usage-error.js";

const states = ["succeeded", "failed", "expired"] as const;
const batchSize = 1000;
const most = 1_000_000_000;

export const jobsReplayCommand: Command = {
  name: "jobs replay",
  summary: "enqueue copies of the jobs that ended in a time range",
  details: [
    "Without `--yes` the jobs are only counted, and the exit code is 1. Copies are new jobs that name their source; expiry, deadline and fingerprint stay behind.",
    "Jobs are committed a thousand at a time. Ctrl-C stops after the batch in progress (exit 1) and says how to go on; so does `--limit`.",
  ],
  arguments: [],
  options: {
    since: { value: "TIME", help: "jobs that ended at this time or later, such as 2026-03-01T08:00Z" },
    until: { value: "TIME", help: "jobs that ended before this time (default: now)" },
    queue: { value: "NAME", help: "only of this queue" },
    type: { value: "TYPE", help: "only of this type" },
    state: { value: "STATE", help: "only those that ended like this (default: succeeded and failed)", choices: states },
    target: { value: "NAME", help: "the queue the copies go to (default: the one their job was in)" },
    "per-second": { value: "N", help: "make at most N jobs ready per second (default: all at once)" },
    "start-at": { value: "TIME", help: "when the first copy becomes ready (default: now)" },
    limit: { value: "N", help: "at most this many jobs (default: all)" },
    after: { value: "ID", help: "go on after this job, where a run before has stopped" },
    yes: { help: "do it; without it they are only counted" },
    ...databaseOptions,
  },
  examples: [
    "millrace jobs replay --since 2026-03-01T08:00Z --until 2026-03-01T09:00Z --type send-mail",
    "millrace jobs replay --since 2026-03-01T08:00Z --until 2026-03-01T09:00Z --type send-mail --per-second 50 --yes",
  ],
  async run({ options, out }) {
    const limit = options.givenInteger("limit", 1, most) ?? most;
    const perSecond = options.givenNumber("per-second");
    const isDry = !options.flag("yes");
    const which = rangeOf(options, perSecond, isDry);
    return withDatabase(options, async ({ engine }) => {
      const signals = stopSignals();
      let jobs = 0;
      let next: Replay | null = which;
      try {
        while (next && jobs < limit && !signals.isRequested) {
          const batch: Replayed = await engine.replay({ ...next, limit: Math.min(batchSize, limit - jobs) });
          jobs += batch.jobs;
          next = batch.next;
        }
      } finally {
        signals.forget();
      }
      const over = perSecond === undefined || jobs < 2 ? "" : `, over ${duration(((jobs - 1) / perSecond) * 1000)}`;
      out.result(
        { jobs, dryRun: isDry, next: next && { until: next.until, after: next.after, startAt: next.startAt } },
        [
          isDry
            ? `${plural(jobs, "job")} would be replayed${over}; repeat with --yes`
            : `${plural(jobs, "job")} replayed${over}`,
          ...(next === null
            ? []
            : [
                `there may be more: go on with --until ${String(next.until)} --after ${next.after} --start-at ${String(next.startAt)}`,
              ]),
        ],
      );
      return isDry || (next !== null && jobs < limit) ? 1 : 0;
    });
  },
};

function rangeOf(options: Options, perSecond: number | undefined, dryRun: boolean): Replay {
  const since = options.given("since");
  if (since === undefined)
    throw new UsageError("--since is missing", "say since when, such as --since 2026-03-01T08:00Z");
  const state = options.given("state") as (typeof states)[number] | undefined;
  const startAt = options.given("start-at");
  return {
    since,
    dryRun,
    ...options.pick("until", "queue", "type", "target", "after"),
    ...(state === undefined ? {} : { states: [state] }),
    ...(perSecond === undefined ? {} : { perSecond }),
    ...(startAt === undefined ? {} : { startAt }),
  };
}
