import { describe, expect, it } from "vitest";
import type { ScheduleEvent, ScheduleRecord, ScheduleRunRecord, ScheduleStats } from "../../src/db/schedule-engine.js";
import { Scheduler } from "../../src/schedule/scheduler.js";
import { useDatabase } from "../support/database.js";
import { claimOne, jobOf } from "../support/jobs.js";
import { type Ended, type RunOptions, millrace } from "./cli.js";

const db = useDatabase();
const cli = (args: readonly string[], options: RunOptions = {}): Promise<Ended> =>
  millrace(["schedules", ...args], { url: db.url, ...options });
const json = ({ stdout }: Ended): unknown => JSON.parse(stdout);

interface Shown {
  readonly schedule: ScheduleRecord;
  readonly runs: ScheduleRunRecord[];
  readonly events: ScheduleEvent[];
  readonly durations: ScheduleStats[];
}

const shown = async (name: string): Promise<Shown> => json(await cli(["show", name, "--json"])) as Shown;
const listed = async (...args: string[]): Promise<ScheduleRecord[]> =>
  json(await cli([...args, "--json"])) as ScheduleRecord[];

/** Let a scheduler make what is due and note what has ended. */
async function look(): Promise<void> {
  const scheduler = new Scheduler({ engine: db.engine, onError: (error) => expect.fail(String(error)) });
  while ((await scheduler.look()) === 0);
  await db.sql("update duty set until = '-infinity' where name = 'schedule'");
}

describe("schedules next", () => {
  it("previews a rule without a database, through a change of clocks", async () => {
    const nowhere = { env: { DATABASE_URL: "" }, url: undefined };
    const [spring, autumn, month, several, none] = await Promise.all([
      cli(["next", "--cron", "30 2 * * *", "--tz", "Europe/Berlin", "--from", "2026-03-28", "--count", "3"], nowhere),
      cli(
        [
          "next",
          "--cron",
          "0 2 * * *",
          "--tz",
          "Europe/Berlin",
          "--from",
          "2026-10-25",
          "--count",
          "2",
          "--dst-repeated",
          "both",
          "--json",
        ],
        nowhere,
      ),
      cli(
        ["next", "--every", "P1M", "--anchor", "2026-01-31T08:00Z", "--from", "2026-01-31", "--count", "3", "--json"],
        nowhere,
      ),
      cli(["next", "--at", "2099-01-01T00:00Z,2099-01-03T00:00Z", "--except", "2099-01-03", "--json"], nowhere),
      cli(["next", "--at", "2020-01-01T00:00Z"], nowhere),
    ]);
    expect(spring).toEqual({
      code: 0,
      stderr: "",
      stdout: [
        "Europe/Berlin                   UTC",
        "Sat 2026-03-28 02:30:00 +01:00  Sat 2026-03-28 01:30:00 +00:00",
        "Sun 2026-03-29 03:00:00 +02:00  Sun 2026-03-29 01:00:00 +00:00",
        "Mon 2026-03-30 02:30:00 +02:00  Mon 2026-03-30 00:30:00 +00:00",
        "",
      ].join("\n"),
    });
    expect(json(autumn)).toEqual([
      { slot: "2026-10-25T00:00:00.000Z", local: "2026-10-25T02:00:00+02:00[Europe/Berlin]" },
      { slot: "2026-10-25T01:00:00.000Z", local: "2026-10-25T02:00:00+01:00[Europe/Berlin]" },
    ]);
    const days = (ended: Ended): string[] => (json(ended) as { slot: string }[]).map(({ slot }) => slot.slice(0, 10));
    expect(days(month)).toEqual(["2026-01-31", "2026-02-28", "2026-03-31"]);
    expect(days(several)).toEqual(["2099-01-01"]);
    expect(none).toEqual({ code: 1, stderr: "", stdout: "no slots\n" });
  });

  it("previews a schedule by its anchor and its calendars, and says when it is paused", async () => {
    await db.engine.schedules.calendarPut("off", ["2099-03-02"]);
    await cli([
      "put",
      "preview",
      "--every",
      "1d",
      "--anchor",
      "2099-03-01T06:00Z",
      "--calendars",
      "off",
      "--type",
      "t",
    ]);
    await cli(["put", "chain", "--after", "1m", "--type", "t"]);
    await cli(["pause", "preview"]);
    const [next, chain, none] = await Promise.all([
      cli(["next", "preview", "--count", "2"]),
      cli(["next", "chain"]),
      cli(["next", "nobody"]),
    ]);
    expect(next).toEqual({
      code: 0,
      stdout: "UTC\nSun 2099-03-01 06:00:00 +00:00\nTue 2099-03-03 06:00:00 +00:00\n",
      stderr: "preview is paused: it makes no runs\n",
    });
    expect(chain).toMatchObject({
      code: 1,
      stderr: "the next slot of chain counts from the end of a run: 1 min after each run\n",
    });
    expect(none).toMatchObject({ code: 1, stdout: "there is no schedule nobody\n" });
  });
});

describe("schedules put, run, pause and others", () => {
  it("declare, change, list, show, run, backfill, pause, resume and remove", { timeout: 180_000 }, async () => {
    await db.engine.queuePut("slow");
    const when = ["--cron", "0 3 * * *", "--tz", "Europe/Berlin", "--jitter", "5m"];
    const how = [
      "--overlap",
      "skip",
      "--missed",
      "within=3h",
      "--after-failure",
      "stopAfter=3",
      "--max-runs",
      "1000",
      "--keep-runs",
      "50",
    ];
    const what = [
      "--type",
      "report",
      "--queue",
      "slow",
      "--input",
      '{"kind": "daily"}',
      "--job",
      '{"maxAttempts": 3, "deadlineSeconds": 600}',
    ];
    const put = ["put", "nightly", ...when, ...how, ...what];
    expect(await cli(put)).toEqual({
      code: 0,
      stderr: "",
      stdout: "nightly is created: cron 0 3 * * * in Europe/Berlin\n",
    });
    expect(json(await cli([...put, "--json"]))).toMatchObject({ name: "nightly", change: "unchanged" });
    expect((await cli([...put, "--tz", "UTC"])).stdout).toMatch(
      /^nightly is changed: cron 0 3 \* \* \* in UTC\nbefore, it was declared by /,
    );

    const [record] = (await listed("list")).filter(({ name }) => name === "nightly");
    expect(record).toMatchObject({
      rule: { cron: "0 3 * * *", tz: "UTC", jitter: 300_000 },
      job: { type: "report", queue: "slow", maxAttempts: 3, deadlineSeconds: 600 },
      input: { kind: "daily" },
      options: {
        overlap: "skip",
        missed: { withinSeconds: 10_800 },
        afterFailure: { stopAfter: 3 },
        maxRuns: 1000,
        keepRuns: 50,
      },
      app: null,
      revision: 2,
      health: "healthy",
    });

    const id = (await cli(["trigger", "nightly"])).stdout.trim();
    expect(await jobOf(db, id)).toMatchObject({ type: "report", queue: "slow", schedule: "nightly", state: "ready" });
    await db.engine.fail(await claimOne(db, "slow"), { message: "no paper" });
    await look();
    expect(
      await cli(["backfill", "nightly", "--since", "2026-01-01", "--until", "2026-01-04", "--concurrency", "2"]),
    ).toMatchObject({
      code: 0,
      stdout: "3 runs of nightly will be made\n",
    });
    expect(await cli(["backfill", "nightly", "--since", "2026-01-01", "--until", "2026-01-04"])).toMatchObject({
      code: 1,
      stdout: "nightly has no slots without a run there\n",
    });
    const ready = await db.engine.list({ queue: "slow", state: "ready" });
    expect(new Set(ready.map(({ scheduleSlot }) => scheduleSlot?.toISOString()))).toEqual(
      new Set(["2026-01-01T03:00:00.000Z", "2026-01-02T03:00:00.000Z"]),
    );

    const { schedule, runs, events, durations } = await shown("nightly");
    expect(schedule).toMatchObject({ health: "healthy", failedRuns: 0, runs: 1, pending: 1 });
    expect(runs.map(({ kind, outcome }) => [kind, outcome])).toEqual([
      ["manual", "failed"],
      ["backfill", null],
      ["backfill", null],
    ]);
    expect(events.map(({ event }) => event).toReversed()).toEqual(["created", "changed", "triggered", "backfill"]);
    expect(durations).toMatchObject([
      { windowSeconds: null, runs: 1, succeeded: 0 },
      { windowSeconds: 3600, runs: 1 },
      { windowSeconds: 86_400, runs: 1 },
      { windowSeconds: 604_800, runs: 1 },
    ]);
    const { stdout: text } = await cli(["show", "nightly"]);
    expect(text).toMatch(/^rule +cron 0 3 \* \* \* in UTC$/m);
    expect(text).toMatch(/^last day +1 +0 +1 /m);
    expect(text).toMatch(new RegExp(`manual +${id} +failed +1 .* no paper$`, "m"));

    expect((await cli(["pause", "nightly", "--because", "out of paper"])).stdout).toBe("nightly is paused\n");
    const table = await cli([]);
    expect(table.stdout).toMatch(/^NAME +HEALTH +NEXT +LAST SUCCESS +FAILED +TOOK +AVERAGE +MISSED +RULE +BECAUSE/);
    expect(table.stdout).toMatch(/^nightly +paused .* cron 0 3 \* \* \* in UTC +out of paper \(.+\)$/m);
    expect((await listed("--health", "healthy")).map(({ name }) => name)).not.toContain("nightly");
    expect((await cli(["resume", "nightly", "--catch-up"])).stdout).toBe("nightly goes on\n");
    expect((await shown("nightly")).schedule.pausedAt).toBeNull();

    expect((await cli(["remove", "nightly"])).stdout).toBe("nightly is removed\n");
    expect(await cli(["show", "nightly", "--json"])).toMatchObject({ code: 1, stdout: "null\n" });
  });

  it("show a rule that SQL stored as it is, whatever it says", async () => {
    await db.sql(`select schedule_put('odd', '{"cron": "every day"}', '{"type": "t"}')`);
    expect((await cli([])).stdout).toMatch(/^odd +healthy .*\{"cron":"every day"\}$/m);
    expect(await cli(["show", "odd"])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('{"cron":"every day"}'),
    });
    expect(await cli(["next", "odd"])).toMatchObject({ code: 2, stderr: expect.stringContaining("has 2 fields") });
    await db.engine.schedules.remove("odd");
  });

  it("keep calendars", async () => {
    const calendars = (...args: string[]): Promise<Ended> => millrace(["calendars", ...args], { url: db.url });
    const unknown = { code: 1, stdout: "there is no calendar holidays\n" };
    expect(await calendars("holidays")).toMatchObject(unknown);
    expect(await calendars("put", "holidays", "--forget")).toMatchObject(unknown);
    expect((await calendars("put", "holidays", "2026-12-25", "2026-12-30/2027-01-01")).stdout).toBe(
      "holidays has 4 days\n",
    );
    expect(json(await calendars("holidays", "--json"))).toEqual({
      name: "holidays",
      days: ["2026-12-25", "2026-12-30", "2026-12-31", "2027-01-01"],
    });
    expect((await calendars()).stdout).toMatch(/^holidays +4 +2026-12-25 +2027-01-01$/m);
    expect(await calendars("put", "bad", "2026-02-30")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('"2026-02-30" is not a day'),
    });
    expect(await calendars("put", "holidays")).toMatchObject({ code: 2, stdout: "" });
    expect((await calendars("put", "holidays", "--forget")).stdout).toBe("holidays is forgotten\n");
    expect((json(await calendars("--json")) as { name: string }[]).map(({ name }) => name)).not.toContain("holidays");
  });

  it("refuse what makes no sense, and write nothing", async () => {
    const job = ["--type", "t"];
    const cases: [string[], string][] = [
      [["nxt"], 'did you mean "millrace schedules next"?'],
      [["next"], "give the NAME of a schedule, or one of --cron"],
      [["next", "x", "--cron", "* * * * *"], "give the NAME of a schedule, or one of --cron"],
      [["next", "--cron", "61 * * * *"], "is wrong in field 1 (minute)"],
      [["next", "--cron", "* * * * *", "--tz", "Europe/Berln"], '"Europe/Berlin"'],
      [["next", "--cron", "* * * * *", "--from", "tomorrow"], '--from cannot be "tomorrow"'],
      [["put", "bad", "--every", "10s"], "--type is missing"],
      [["put", "bad", ...job], "give one of --cron, --every, --after, --rrule, --at"],
      [["put", "bad", "--every", "10s", "--cron", "* * * * *", ...job], "both cron and every"],
      [["put", "bad", "--every", "10s", "--missed", "all", ...job], '--missed cannot be "all"'],
      [["put", "bad", "--every", "10s", "--after-failure", "stop", ...job], '--after-failure cannot be "stop"'],
      [["put", "bad", "--every", "10s", "--overlap", "skp", ...job], 'did you mean "skip"?'],
      [["put", "bad", "--every", "10s", "--queue", "nowhere", ...job], 'no queue "nowhere"'],
      [["put", "bad", "--every", "10s", "--job", '{"maxAtempts": 3}', ...job], 'did you mean "maxAttempts"?'],
      [["put", "bad", "--every", "10s", "--job", "[]", ...job], "--job is not a JSON object"],
      [["put", "bad", "--at", "2020-01-01T00:00Z", ...job], "would never run"],
      [["pause", "nobody"], 'there is no schedule "nobody"'],
      [["trigger", "nobody"], 'there is no schedule "nobody"'],
      [["remove", "nobody"], 'there is no schedule "nobody"'],
      [["backfill", "nobody", "--since", "2026-01-01", "--until", "2026-01-02"], 'there is no schedule "nobody"'],
      [["backfill", "nobody", "--since", "2026-01-01"], "--until is missing"],
    ];
    const ended = await Promise.all(cases.map(([args]) => cli(args)));
    for (const [i, { code, stdout, stderr }] of ended.entries()) {
      expect({ args: cases[i]![0], code, stdout }).toEqual({ args: cases[i]![0], code: 2, stdout: "" });
      expect(stderr).toContain(cases[i]![1]);
    }
    expect(await db.engine.schedules.list({ name: "bad" })).toEqual([]);
    await cli(["put", "newer", "--every", "10s", "--release", "3", ...job]);
    const conflict = await cli(["put", "newer", "--every", "20s", "--release", "2", ...job, "--json"]);
    expect(conflict.code).toBe(1);
    expect(JSON.parse(conflict.stdout)).toMatchObject({ change: "older" });
  });
});
