import type { Engine } from "../../db/engine.js";
import type { ScheduleRecord } from "../../db/schedule-engine.js";
import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { count, duration, time } from "../format.js";
import { ruleText } from "../schedule-rule.js";
import { textTable } from "../text-table.js";

const page = 1000;
const healths = ["healthy", "failing", "blocked", "paused", "stopped", "finished"] as const;

export const schedulesCommand: Command = {
  name: "schedules",
  summary: "list the schedules: their health, their next run, and how their last runs went",
  details: [
    "`FAILED` counts attempts since the last success, `TOOK` is the last attempt and `AVERAGE` that of all; `MISSED` are slots that were left out. `stopped` ones stopped by themselves, after failed runs or a cancelled one.",
  ],
  arguments: [],
  options: {
    health: { value: "HEALTH", help: "only those", choices: healths },
    limit: { value: "N", help: "how many at most", default: "1000" },
    ...databaseOptions,
  },
  examples: [
    "millrace schedules",
    "millrace schedules --health failing",
    "millrace schedules list --json | jq -r '.[] | [.name, .nextSlot] | @tsv'",
  ],
  async run({ options, out }) {
    const limit = options.integer("limit", 1, 100_000);
    return withDatabase(options, async ({ engine }) => {
      const schedules = await find(engine, options.given("health"), limit);
      out.result(schedules, schedules.length === 0 ? "no schedules" : schedulesTable(schedules, out.width));
      return 0;
    });
  },
};

/** The same under the name that people try first. */
export const schedulesListCommand: Command = {
  ...schedulesCommand,
  name: "schedules list",
  summary: "the same as `schedules`",
};

async function find(engine: Engine, health: string | undefined, limit: number): Promise<ScheduleRecord[]> {
  const found: ScheduleRecord[] = [];
  for (let after = ""; ;) {
    const records = await engine.schedules.list({ after, limit: page });
    found.push(...records.filter((record) => health === undefined || record.health === health));
    if (records.length < page || found.length >= limit) return found.slice(0, limit);
    after = records.at(-1)!.name;
  }
}

function schedulesTable(schedules: readonly ScheduleRecord[], width: number): string[] {
  return textTable(
    [
      { title: "NAME" },
      { title: "HEALTH" },
      { title: "NEXT" },
      { title: "LAST SUCCESS" },
      { title: "FAILED", align: "right" },
      { title: "TOOK", align: "right" },
      { title: "AVERAGE", align: "right" },
      { title: "MISSED", align: "right" },
      { title: "RULE" },
      { title: "BECAUSE" },
    ],
    schedules.map((one) => [
      one.name,
      one.health,
      time(one.nextSlot),
      time(one.lastSuccessAt),
      count(one.failedAttempts),
      took(one.lastSeconds),
      took(one.averageSeconds),
      count(one.missed),
      ruleText(one.rule),
      because(one),
    ]),
    width,
  );
}

const took = (seconds: number | null): string => (seconds === null ? "" : duration(seconds * 1000));

/** Why it is as it is. */
function because({ health, message, pausedBecause, pausedBy, finishedBecause }: ScheduleRecord): string {
  if (health === "paused") return [pausedBecause, pausedBy && `(${pausedBy})`].filter(Boolean).join(" ");
  return [finishedBecause, health === "finished" ? null : message].filter(Boolean).join(": ");
}
