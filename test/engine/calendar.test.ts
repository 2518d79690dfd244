import { describe, expect, it } from "vitest";
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
    // there is no 02:30 that night: 03:30
    expect(await runTime(night, "2026-03-28T20:00:00Z")).toBe("2026-03-29T01:30:00Z");
    expect(await runTime(night, "2026-03-29T01:30:01Z")).toBe("2026-03-30T00:30:00Z");
    expect(await runTime(night, "2026-10-24T20:00:00Z")).toBe("2026-10-25T01:30:00Z"); // the second 02:30
    expect(await runTime(night, "2026-10-25T01:30:01Z")).toBe("2026-10-26T01:30:00Z");
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
    await db.engine.retry(await claimOne(db, queue), { message: "again" }, 120);
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
    // the hour that is left out blocks nothing
    expect(await runTime(hour, "2026-03-29T01:00:00Z")).toBe("2026-03-29T01:00:00Z");
    expect(await runTime(hour, "2026-10-25T01:30:00Z")).toBe("2026-10-25T02:00:00Z");
  });

  it("leave alone what has no end", async () => {
    expect(
      (await db.sql("select calendar_time($1, 'infinity', now())::text as at", [JSON.stringify(nights)]))[0],
    ).toEqual({ at: "infinity" });
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
