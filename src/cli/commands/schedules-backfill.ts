import { Schedules } from "../../client/schedules.js";
import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { plural } from "../format.js";
import { momentOf, readRule } from "../schedule-rule.js";
import { UsageError } from "../usage-error.js";
import { userName } from "../user-name.js";

export const schedulesBackfillCommand: Command = {
  name: "schedules backfill",
  summary: "make the missing runs of a past range",
  details: [
    "Slots that have a run on record are left out, so that the same again makes nothing. A day means its beginning in the schedule's zone. Up to 10,000 slots at a time; `schedules next NAME --from` shows them. The exit code is 1 when there are none to make.",
  ],
  arguments: [{ name: "NAME", help: "the schedule" }],
  options: {
    since: { value: "TIME", help: "from this time on, such as 2026-01-01 or 2026-01-01T00:00Z" },
    until: { value: "TIME", help: "before this time" },
    concurrency: { value: "N", help: "how many of them at once", default: "1" },
    ...databaseOptions,
  },
  examples: ["millrace schedules backfill nightly --since 2026-01-01 --until 2026-02-01 --concurrency 4"],
  async run({ args, options, out }) {
    const [name] = args as [string];
    const [since, until] = [options.given("since"), options.given("until")];
    if (since === undefined || until === undefined)
      throw new UsageError(
        `--${since === undefined ? "since" : "until"} is missing`,
        "give both ends of the range, such as 2026-01-01",
      );
    const concurrency = options.integer("concurrency", 1, 1000);
    return withDatabase(options, async ({ engine }) => {
      const schedules = new Schedules(engine, "", () => {});
      const zone = readRule((await schedules.get(name)).rule)?.tz ?? "UTC";
      const range = { since: momentOf("since", since, zone), until: momentOf("until", until, zone) };
      const runs = await schedules.backfill(name, { ...range, concurrency, by: userName() });
      out.result(
        { name, ...range, runs },
        runs === 0 ? `${name} has no slots without a run there` : `${plural(runs, "run")} of ${name} will be made`,
      );
      return runs > 0 ? 0 : 1;
    });
  },
};
