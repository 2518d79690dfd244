import { errorText } from "../../db/error-text.js";
import type { ScheduleEvent, ScheduleRecord, ScheduleRunRecord, ScheduleStats } from "../../db/schedule-engine.js";
import type { Json } from "../../db/types.js";
import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { count, duration, time } from "../format.js";
import type { Output } from "../output.js";
import { ruleText } from "../schedule-rule.js";
import { textTable } from "../text-table.js";

const windows = [
  [3600, "last hour"],
  [86_400, "last day"],
  [604_800, "last week"],
] as const;

export const schedulesShowCommand: Command = {
  name: "schedules show",
  summary: "show one schedule with its settings, its last runs, their durations, and its events",
  details: ["The exit code is 1 when there is no such schedule."],
  arguments: [{ name: "NAME", help: "the schedule" }],
  options: { limit: { value: "N", help: "how many runs and events", default: "10" }, ...databaseOptions },
  examples: ["millrace schedules show nightly", "millrace schedules show nightly --json | jq .schedule.nextSlot"],
  async run({ args, options, out }) {
    const [name] = args as [string];
    const limit = options.integer("limit", 1, 10_000);
    return withDatabase(options, async ({ engine }) => {
      const [schedule] = await engine.schedules.list({ name });
      if (!schedule) {
        out.result(null, `there is no schedule ${name}`);
        return 1;
      }
      const [runs, events, durations] = await Promise.all([
        engine.schedules.runs(name, limit),
        engine.schedules.events(name, limit),
        engine.schedules.durations(name, { runs: 10, windows: windows.map(([seconds]) => seconds) }),
      ]);
      out.result({ schedule, runs, events, durations }, [
        ...factLines(schedule, out),
        ...section(durationTable(durations, out.width)),
        ...(runs.length === 0 ? [] : section(runTable(runs, out.width))),
        ...section(eventTable(events, out.width)),
      ]);
      return 0;
    });
  },
};

const section = (lines: readonly string[]): string[] => ["", ...lines];

function factLines(schedule: ScheduleRecord, out: Output): string[] {
  const facts = factsOf(schedule).filter((fact): fact is [string, string] => fact[1] !== null && fact[1] !== "");
  const width = Math.max(...facts.map(([name]) => name.length));
  return facts.map(([name, value]) => `${out.style("dim", name.padEnd(width))}  ${value}`);
}

function factsOf(one: ScheduleRecord): [string, string | null][] {
  const who = [one.declaredBy, one.app && `app ${one.app}`, one.version === null ? null : `version ${one.version}`]
    .filter(Boolean)
    .join(", ");
  return [
    ["name", one.name],
    ["rule", ruleText(one.rule)],
    ["", moreOf(one.rule)],
    ["job", JSON.stringify(one.job)],
    ["input", shown(one.input)],
    ["options", shown(one.options as Json)],
    ["health", one.health],
    ["message", one.message],
    ["paused", one.pausedAt && since(one.pausedAt, one.pausedBecause, one.pausedBy)],
    ["ended", one.finishedAt && since(one.finishedAt, one.finishedBecause, null)],
    ["next slot", time(one.nextSlot)],
    ["next attempt", time(one.nextAttemptAt)],
    ["last slot", time(one.lastSlot)],
    ["last attempt", time(one.lastAttemptAt)],
    ["last success", time(one.lastSuccessAt)],
    ["failed since", `${count(one.failedAttempts)} attempts, ${count(one.failedRuns)} runs`],
    ["runs", `${count(one.runs)} ended, ${count(one.succeeded)} succeeded, ${count(one.attempts)} attempts`],
    [
      "took",
      one.lastSeconds === null
        ? null
        : `${seconds(one.lastSeconds)} last, ${seconds(one.averageSeconds)} on average, ${seconds(one.totalSeconds)} in all`,
    ],
    ["missed", count(one.missed)],
    ["open jobs", one.openJobs.join(", ")],
    ["slots waiting", one.pending === 0 ? null : count(one.pending)],
    ["declared", one.declaredAt && since(one.declaredAt, null, who)],
    ["created", time(one.createdAt)],
    ["changed", one.revision === 1 ? null : `${time(one.changedAt)} (revision ${one.revision})`],
  ];
}

/** What a rule says besides when: jitter, start and end, days left out. */
function moreOf(rule: Json): string | null {
  if (typeof rule !== "object" || rule === null || Array.isArray(rule)) return null;
  const {
    cron: _cron,
    every: _every,
    after: _after,
    rrule: _rrule,
    times: _times,
    at: _at,
    tz: _tz,
    ...more
  } = rule as Record<string, unknown>;
  return Object.keys(more).length === 0 ? null : JSON.stringify(more);
}

const shown = (value: Json): string | null =>
  value === null || JSON.stringify(value) === "{}" ? null : JSON.stringify(value);
const seconds = (value: number | null): string => (value === null ? "" : duration(value * 1000));
const since = (at: Date, why: string | null, by: string | null): string =>
  [time(at), why, by && `(${by})`].filter(Boolean).join(" ");

function durationTable(durations: readonly ScheduleStats[], width: number): string[] {
  return textTable(
    [
      { title: "WINDOW" },
      { title: "RUNS", align: "right" },
      { title: "SUCCEEDED", align: "right" },
      { title: "ATTEMPTS", align: "right" },
      { title: "TOOK", align: "right" },
      { title: "AVERAGE", align: "right" },
    ],
    durations.map((one) => [
      windows.find(([seconds]) => seconds === one.windowSeconds)?.[1] ?? "last 10",
      count(one.runs),
      count(one.succeeded),
      count(one.attempts),
      one.runs === 0 ? "" : seconds(one.totalSeconds),
      seconds(one.averageSeconds),
    ]),
    width,
  );
}

function runTable(runs: readonly ScheduleRunRecord[], width: number): string[] {
  return textTable(
    [
      { title: "SLOT" },
      { title: "KIND" },
      { title: "JOB" },
      { title: "OUTCOME" },
      { title: "ATTEMPTS", align: "right" },
      { title: "STARTED" },
      { title: "TOOK", align: "right" },
      { title: "ERROR" },
    ],
    runs.map((run) => [
      time(run.slotAt),
      run.kind,
      run.jobId,
      run.outcome ?? "(open)",
      run.attempts === null ? "" : count(run.attempts),
      time(run.startedAt),
      seconds(run.seconds),
      errorText(run.error),
    ]),
    width,
  );
}

function eventTable(events: readonly ScheduleEvent[], width: number): string[] {
  return textTable(
    [
      { title: "AT" },
      { title: "EVENT" },
      { title: "SLOT" },
      { title: "SLOTS", align: "right" },
      { title: "BY" },
      { title: "BECAUSE" },
    ],
    events.map((one) => [
      time(one.at),
      one.event,
      time(one.slotAt),
      one.slots === null ? "" : count(one.slots),
      one.by ?? "",
      one.because ?? "",
    ]),
    width,
  );
}
