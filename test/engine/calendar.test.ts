import { describe, expect, it } from "vitest";
import { parseRule } from "../../src/schedule/parse-rule.js";
import { nextInstant } from "../../src/schedule/wall-time.js";
import { Zone } from "../../src/schedule/zone.js";
import { clockChanges } from "../schedule/oracle.js";
import { useDatabase } from "../support/database.js";
import { claimOne, enqueue, jobOf, newQueue } from "../support/jobs.js";
import { invalidArgument } from "../support/steps.js";

const db = useDatabase();
const berlin = "Europe/Berlin";

/** When a job would run that is enqueued at a time. */
async function runTime(options: object, at: string, asked: string | null = null): Promise<string> {
  const [row] = await db.sql<{ at: Date }>("select calendar_time($1, $2, $3) as at", [
    JSON.stringify(options),
    asked,
    at,
  ]);
  return row!.at.toISOString().replace(".000Z", "Z");
}

/** Move the clock to a time, as far as seconds go. */
async function clockAt(time: string): Promise<void> {
  await db.moveClock(0);
  await db.sql("update public.test_clock set ahead = $1::timestamptz - clock_timestamp()", [time]);
}

describe("a queue that drains at times of day [#171]", () => {
  const evening = { drainsAt: { times: ["18:00"], zone: berlin } };

  it("gives a job without a time the next slot, and one with a time that time", async () => {
    await clockAt("2026-06-15T10:00:00Z");
    const queue = await newQueue(db, evening);
    const next = new Date("2026-06-15T16:00:00Z");
    expect((await jobOf(db, await enqueue(db, queue))).runAt).toEqual(next);
    expect((await jobOf(db, await enqueue(db, queue, { priority: 1 }))).runAt).toEqual(next);
    for (const { id } of await db.engine.enqueueMany("t", [1, 2], { queue }))
      expect((await jobOf(db, id)).runAt).toEqual(next);
    for (const { id } of await db.engine.enqueueEach([{ type: "t", queue, tenant: "x" }]))
      expect((await jobOf(db, id)).runAt).toEqual(next);
    const ttl = await jobOf(db, await enqueue(db, queue, { ttlSeconds: 60 }));
    expect(ttl).toMatchObject({ state: "delayed", runAt: next, expiresAt: new Date("2026-06-15T16:01:00Z") });

    const at = new Date("2026-06-15T12:34:56Z");
    expect((await jobOf(db, await enqueue(db, queue, { runAt: at }))).runAt).toEqual(at);
    const soon = (await jobOf(db, await enqueue(db, queue, { delaySeconds: 60 }))).runAt.getTime();
    expect(soon - Date.parse("2026-06-15T10:01:00Z")).toBeLessThan(60_000);

    expect(await db.engine.claim({ queues: [queue] })).toEqual([]);
    await clockAt("2026-06-15T16:00:01Z");
    expect(await db.engine.claim({ queues: [queue], limit: 100 })).toHaveLength(6 + 2);
  });

  it("takes the slot itself, the first of several, and the next day after the last", async () => {
    expect(await runTime(evening, "2026-06-15T16:00:00Z")).toBe("2026-06-15T16:00:00Z");
    expect(await runTime(evening, "2026-06-15T16:00:01Z")).toBe("2026-06-16T16:00:00Z");
    const twice = { drainsAt: { times: ["18:00", "06:30"], zone: berlin } };
    expect(await runTime(twice, "2026-06-15T05:00:00Z")).toBe("2026-06-15T16:00:00Z");
    expect(await runTime(twice, "2026-06-15T04:00:00Z")).toBe("2026-06-15T04:30:00Z");
  });

  it("keeps to its days, which are those of the zone", async () => {
    const monday = { drainsAt: { times: ["00:30"], days: [1], zone: berlin } }; // 22:30 on Sunday in UTC
    expect(await runTime(monday, "2026-06-14T22:00:00Z")).toBe("2026-06-14T22:30:00Z");
    expect(await runTime(monday, "2026-06-14T22:31:00Z")).toBe("2026-06-21T22:30:00Z");
  });

  it("stays at its time of day when the clocks change", async () => {
    // 2026-03-29 01:00 UTC: from UTC+1 to UTC+2; 2026-10-25 01:00 UTC: back
    expect(await runTime(evening, "2026-03-28T17:00:01Z")).toBe("2026-03-29T16:00:00Z");
    expect(await runTime(evening, "2026-10-24T16:00:01Z")).toBe("2026-10-25T17:00:00Z");
    const night = { drainsAt: { times: ["02:30"], zone: berlin } };
    // there is no 02:30 that night: 03:00, when the clocks have jumped
    expect(await runTime(night, "2026-03-28T20:00:00Z")).toBe("2026-03-29T01:00:00Z");
    expect(await runTime(night, "2026-03-29T01:00:01Z")).toBe("2026-03-30T00:30:00Z");
    expect(await runTime(night, "2026-10-24T20:00:00Z")).toBe("2026-10-25T00:30:00Z"); // the first 02:30
    expect(await runTime(night, "2026-10-25T00:30:01Z")).toBe("2026-10-26T01:30:00Z"); // and not the second
  });
});

describe("blocked periods [#179]", () => {
  const nights = { blocked: [{ from: "22:00", to: "06:00", zone: berlin }] };

  it("let a job whose run time falls into one start at its end, be it now", async () => {
    await clockAt("2026-06-15T21:00:00Z"); // 23:00 there
    const queue = await newQueue(db, nights);
    const end = new Date("2026-06-16T04:00:00Z");
    expect(await jobOf(db, await enqueue(db, queue))).toMatchObject({ state: "delayed", runAt: end });
    expect(await jobOf(db, await enqueue(db, queue, { runAt: new Date("2026-06-15T10:00:00Z") }))).toMatchObject({
      state: "delayed",
      runAt: end,
    });
    expect(await jobOf(db, await enqueue(db, queue, { runAt: new Date("2026-06-18T01:00:00Z") }))).toMatchObject({
      runAt: new Date("2026-06-18T04:00:00Z"),
    });
    expect(await jobOf(db, await enqueue(db, queue, { runAt: new Date("2026-06-18T12:00:00Z") }))).toMatchObject({
      runAt: new Date("2026-06-18T12:00:00Z"),
    });
    expect(await db.engine.claim({ queues: [queue] })).toEqual([]);
    await clockAt("2026-06-16T04:00:01Z");
    expect(await db.engine.claim({ queues: [queue], limit: 10 })).toHaveLength(2);
    expect((await jobOf(db, await enqueue(db, queue))).state).toBe("ready");
  });

  it("hold for retries", async () => {
    await clockAt("2026-06-15T19:59:00Z");
    const queue = await newQueue(db, nights);
    const id = await enqueue(db, queue);
    await db.engine.retryLater(await claimOne(db, queue), { message: "again" }, 120);
    expect(await jobOf(db, id)).toMatchObject({ state: "delayed", runAt: new Date("2026-06-16T04:00:00Z") });
    await clockAt("2026-06-16T04:00:01Z");
    expect(await claimOne(db, queue)).toMatchObject({ id, attempt: 2 });
  });

  it("begin with their first moment and end before their last", async () => {
    expect(await runTime(nights, "2026-06-15T19:59:59Z")).toBe("2026-06-15T19:59:59Z");
    expect(await runTime(nights, "2026-06-15T20:00:00Z")).toBe("2026-06-16T04:00:00Z");
    expect(await runTime(nights, "2026-06-16T04:00:00Z")).toBe("2026-06-16T04:00:00Z");
  });

  it("that follow or overlap each other are one, and slots move out of them", async () => {
    const chain = {
      blocked: [
        { from: "22:00", to: "06:00", zone: berlin },
        { from: "05:00", to: "07:00", zone: berlin },
        { from: "00:00", to: "00:00", days: [6, 7], zone: berlin },
        { from: "2026-06-22T05:00:00Z", until: "2026-06-22T10:30:00+02:00" },
      ],
    };
    // Friday night, the weekend, Sunday night, the morning, and once more
    expect(await runTime(chain, "2026-06-19T20:00:00Z")).toBe("2026-06-22T08:30:00Z");
    expect(await runTime({ ...nights, drainsAt: { times: ["23:00"], zone: berlin } }, "2026-06-15T10:00:00Z")).toBe(
      "2026-06-16T04:00:00Z",
    );
  });

  it("begin on their days", async () => {
    const monday = { blocked: [{ from: "22:00", to: "06:00", days: [1], zone: berlin }] }; // 2026-06-15 is one
    expect(await runTime(monday, "2026-06-16T01:00:00Z")).toBe("2026-06-16T04:00:00Z");
    expect(await runTime(monday, "2026-06-15T01:00:00Z")).toBe("2026-06-15T01:00:00Z");
  });

  it("are of their zone's clock when it changes", async () => {
    expect(await runTime(nights, "2026-03-28T21:00:00Z")).toBe("2026-03-29T04:00:00Z"); // seven hours
    expect(await runTime(nights, "2026-10-24T20:00:00Z")).toBe("2026-10-25T05:00:00Z"); // nine
    const hour = { blocked: [{ from: "02:00", to: "03:00", zone: berlin }] };
    // the hour that is left out blocks nothing, the one that comes twice blocks two
    expect(await runTime(hour, "2026-03-29T00:59:59Z")).toBe("2026-03-29T00:59:59Z");
    expect(await runTime(hour, "2026-03-29T01:00:00Z")).toBe("2026-03-29T01:00:00Z");
    expect(await runTime(hour, "2026-10-24T23:59:59Z")).toBe("2026-10-24T23:59:59Z");
    expect(await runTime(hour, "2026-10-25T00:00:00Z")).toBe("2026-10-25T02:00:00Z");
    expect(await runTime(hour, "2026-10-25T01:30:00Z")).toBe("2026-10-25T02:00:00Z");
    // one that begins, or ends, within the hour that is left out does so when the clocks jump
    const half = { blocked: [{ from: "02:30", to: "03:30", zone: berlin }] };
    expect(await runTime(half, "2026-03-29T00:59:59Z")).toBe("2026-03-29T00:59:59Z");
    expect(await runTime(half, "2026-03-29T01:00:00Z")).toBe("2026-03-29T01:30:00Z");
    const early = { blocked: [{ from: "01:00", to: "02:30", zone: berlin }] };
    expect(await runTime(early, "2026-03-29T00:30:00Z")).toBe("2026-03-29T01:00:00Z");
    // and within the one that comes twice, at the first of the two
    expect(await runTime(early, "2026-10-25T00:29:59Z")).toBe("2026-10-25T00:30:00Z");
    expect(await runTime(early, "2026-10-25T01:00:00Z")).toBe("2026-10-25T01:00:00Z");
  });

  it("leave alone what has no end", async () => {
    expect(
      (await db.sql("select calendar_time($1, 'infinity', now())::text as at", [JSON.stringify(nights)]))[0],
    ).toEqual({ at: "infinity" });
  });
});

describe("times of day on days on which clocks change [#75]", () => {
  const year = { from: Date.UTC(2026, 0, 1), to: Date.UTC(2027, 0, 1) };

  /** When a schedule for this wall time, written as if it were UTC, runs. */
  function slotOf(wall: number, tz: string): number {
    const rule = parseRule({ rrule: "FREQ=DAILY", anchor: new Date(year.from), tz });
    if (!("dst" in rule)) throw new Error("a rule by days says what clock changes do");
    const once = { next: (after: number) => (after < wall ? wall : null) };
    return nextInstant(once, Zone.of(tz), rule.dst, wall - 3 * 86_400_000)!;
  }

  it.each([
    [berlin, 2],
    ["America/New_York", 2],
    ["Australia/Lord_Howe", 2], // by half an hour
    ["Africa/Casablanca", 2],
    ["America/St_Johns", 2],
    ["Asia/Kolkata", 0],
    ["UTC", 0],
  ])("are when a schedule would run: %s, every five minutes around %i changes", async (tz, expected) => {
    const changes = clockChanges(tz, year.from, year.to);
    expect(changes).toHaveLength(expected);
    const walls = (changes.length > 0 ? changes : [Date.UTC(2026, 2, 29), Date.UTC(2026, 9, 25)]).flatMap((change) =>
      Array.from({ length: 12 * 36 }, (_, i) => Zone.of(tz).wall(change) + (i - 12 * 18) * 300_000),
    );
    const rows = await db.sql<{ ms: string }>(
      `select extract(epoch from wall_instant(w::timestamp, $2)) * 1000 as ms
         from unnest($1::text[]) with ordinality x (w, n) order by n`,
      [walls.map((wall) => new Date(wall).toISOString().slice(0, -1)), tz],
    );
    const shown = (ms: number): string => new Date(ms).toISOString();
    expect(rows.map(({ ms }) => shown(Number(ms)))).toEqual(walls.map((wall) => shown(slotOf(wall, tz))));
  });

  it("drain a queue on the next day that has them, also where clocks go back over midnight", async () => {
    // Godthab, 2026-03-29 and 2026-10-25: at 01:00 UTC, which is 23:00 or 24:00 there on the day before
    const zone = "America/Godthab";
    const [change] = clockChanges(zone, Date.UTC(2026, 9, 1), Date.UTC(2026, 10, 30));
    expect(new Date(change!).toISOString()).toBe("2026-10-25T01:00:00.000Z");
    for (const time of ["00:00", "00:30", "22:30", "23:00", "23:30", "23:59"]) {
      for (const days of [undefined, [6], [7], [1, 6, 7]]) {
        for (let at = change! - 3 * 3_600_000; at < change! + 27 * 3_600_000; at += 900_000) {
          const found = Date.parse(
            await runTime({ drainsAt: { times: [time], ...(days && { days }), zone } }, new Date(at).toISOString()),
          );
          const [hour, minute] = time.split(":").map(Number) as [number, number];
          const candidates = Array.from({ length: 14 }, (_, n) => Date.UTC(2026, 9, 22 + n, hour, minute))
            .filter((wall) => days === undefined || days.includes(new Date(wall).getUTCDay() || 7))
            .map((wall) => slotOf(wall, zone))
            .filter((slot) => slot >= at);
          expect(new Date(found).toISOString(), `${time} from ${new Date(at).toISOString()}`).toBe(
            new Date(candidates[0]!).toISOString(),
          );
        }
      }
    }
  });

  it.each([
    // wall times, and when they are: left out, and twice
    [berlin, "2026-03-29", "02:30", "2026-03-29T01:00:00Z"],
    [berlin, "2026-10-25", "02:30", "2026-10-25T00:30:00Z"],
    ["America/New_York", "2026-03-08", "02:15", "2026-03-08T07:00:00Z"],
    ["America/New_York", "2026-11-01", "01:15", "2026-11-01T05:15:00Z"],
    ["Australia/Lord_Howe", "2026-10-04", "02:15", "2026-10-03T15:30:00Z"],
    ["Australia/Lord_Howe", "2026-04-05", "01:45", "2026-04-04T14:45:00Z"],
    ["Asia/Kolkata", "2026-03-29", "02:30", "2026-03-28T21:00:00Z"],
    ["Pacific/Apia", "2011-12-30", "12:00", "2011-12-30T10:00:00Z"], // a whole day was left out
  ])("drain a queue once: %s, %s, %s is %s", async (zone, day, time, at) => {
    const options = { drainsAt: { times: [time], zone } };
    const from = new Date(Date.parse(at) - 60_000).toISOString();
    expect(await runTime(options, from)).toBe(at);
    // the next is one of another day: a day later by the clock, or by what its change left of it
    const next = Date.parse(await runTime(options, new Date(Date.parse(at) + 1000).toISOString()));
    const wall = new Date(Zone.of(zone).wall(next)).toISOString();
    expect(wall.slice(11, 16)).toBe(time);
    expect(wall.slice(0, 10) > day).toBe(true);
  });
});

describe("calendars that make no sense", () => {
  const bad: readonly [string, object][] = [
    ["no zone", { drainsAt: { times: ["18:00"] } }],
    ["an unknown zone", { drainsAt: { times: ["18:00"], zone: "Europe/Atlantis" } }],
    ["a time of day that there is not", { drainsAt: { times: ["24:00"], zone: "UTC" } }],
    ["seconds since midnight", { drainsAt: { times: [64800], zone: "UTC" } }],
    ["no times", { drainsAt: { times: [], zone: "UTC" } }],
    ["times that are no list", { drainsAt: { times: "18:00", zone: "UTC" } }],
    ["an eighth day", { drainsAt: { times: ["18:00"], days: [8], zone: "UTC" } }],
    ["no day", { drainsAt: { times: ["18:00"], days: [], zone: "UTC" } }],
    ["days by name", { drainsAt: { times: ["18:00"], days: ["Monday"], zone: "UTC" } }],
    ["a misspelt name", { drainsAt: { time: ["18:00"], zone: "UTC" } }],
    ["a text", { drainsAt: "18:00" }],
    ["blocked as an object", { blocked: { from: "22:00", to: "06:00", zone: "UTC" } }],
    ["no periods", { blocked: [] }],
    ["a number for a period", { blocked: [5] }],
    ["a period without an end", { blocked: [{ from: "22:00", zone: "UTC" }] }],
    ["a time of day until a moment", { blocked: [{ from: "22:00", until: "2026-12-24T00:00:00Z" }] }],
    ["a moment without its offset", { blocked: [{ from: "2026-12-24T00:00:00", until: "2026-12-27T00:00:00Z" }] }],
    ["a day that there is not", { blocked: [{ from: "2026-02-30T00:00:00Z", until: "2026-12-27T00:00:00Z" }] }],
    ["an end before the beginning", { blocked: [{ from: "2026-12-24T00:00:00Z", until: "2026-12-23T00:00:00Z" }] }],
    [
      "a period with days and a moment",
      { blocked: [{ from: "2026-12-24T00:00:00Z", until: "2026-12-27T00:00:00Z", days: [1] }] },
    ],
    ["all the time", { blocked: [{ from: "00:00", to: "00:00", zone: berlin }] }],
    [
      "all the time in two halves",
      {
        blocked: [
          { from: "06:00", to: "18:30", zone: "UTC" },
          { from: "18:00", to: "06:00", zone: "UTC" },
        ],
      },
    ],
  ];
  it.each(bad)("are refused when they are set: %s", async (_, options) => {
    await expect(db.engine.queuePut("nonsense", options)).rejects.toMatchObject(invalidArgument);
    expect(await db.sql("select from queue where name = 'nonsense'")).toEqual([]);
  });
});
