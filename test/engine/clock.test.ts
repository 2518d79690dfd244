import pg from "pg";
import { afterEach, describe, expect, it, vi } from "vitest";
import { Engine } from "../../src/db/engine.js";
import { clockNow } from "../support/clock.js";
import { useDatabase } from "../support/database.js";
import { claimOne, jobOf, newQueue } from "../support/jobs.js";
import { claimAll } from "../support/steps.js";

const db = useDatabase();
const processZone = process.env["TZ"];
const pools: pg.Pool[] = [];

afterEach(async () => {
  vi.useRealTimers();
  if (processZone === undefined) delete process.env["TZ"];
  else process.env["TZ"] = processZone;
  await Promise.all(pools.splice(0).map((pool) => pool.end()));
});

/** A process elsewhere: its own zone, its sessions' zone, and a clock that is off by some minutes. */
function strayEngine(zone: string, sessionZone: string, minutesOff: number): Engine {
  process.env["TZ"] = zone;
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + minutesOff * 60_000 });
  const pool = new pg.Pool({ connectionString: db.url, max: 4, options: `-c TimeZone=${sessionZone}` });
  pool.on("error", () => {}); // its connections may still be closing when the database is dropped
  pools.push(pool);
  return new Engine({ pool });
}

describe("now and later are one mechanism", () => {
  it("a job without a time and one due now are ready alike and keep their order [#87]", async () => {
    const queue = await newQueue(db);
    const ids: string[] = [];
    for (const runAt of [undefined, await clockNow(db), undefined, "2021-01-01T00:00:00Z", await clockNow(db)]) {
      ids.push((await db.engine.enqueue({ type: "t", queue, ...(runAt ? { runAt } : {}) })).id);
    }
    ids.push((await db.engine.enqueue({ type: "t", queue, delaySeconds: 0 })).id);
    for (const id of ids) expect(await jobOf(db, id)).toMatchObject({ state: "ready", attempts: 0 });
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 6, delayed: 0 });
    expect((await claimAll(db, queue)).map((job) => job.id)).toEqual(ids);
  });

  it("a job whose time has come takes the place its enqueueing gave it, before younger ones [#87]", async () => {
    const queue = await newQueue(db);
    const later = await db.engine.enqueue({ type: "t", queue, delaySeconds: 5 });
    const sooner = await db.engine.enqueue({ type: "t", queue });
    await db.moveClock(5);
    expect((await claimAll(db, queue)).map((job) => job.id)).toEqual([later.id, sooner.id]);
  });
});

describe("a delay", () => {
  it("of 5 s holds the job back until 5 s have passed, and no longer [#143]", async () => {
    const queue = await newQueue(db);
    const { id } = await db.engine.enqueue({ type: "t", queue, delaySeconds: 5 });
    const job = await jobOf(db, id);
    expect(job.state).toBe("delayed");
    await db.moveClock(4);
    expect(await claimAll(db, queue)).toEqual([]);
    await db.moveClock(1);
    expect((await claimOne(db, queue)).id).toBe(id);
  });

  it("is counted from the enqueue, to the millisecond [#143]", async () => {
    const queue = await newQueue(db);
    const before = await clockNow(db);
    const { id } = await db.engine.enqueue({ type: "t", queue, delaySeconds: 5 });
    const after = await clockNow(db);
    const { runAt } = await jobOf(db, id);
    expect(runAt.getTime()).toBeGreaterThanOrEqual(before.getTime() + 5000);
    expect(runAt.getTime()).toBeLessThanOrEqual(after.getTime() + 5000);
  });

  it("of some jobs does not hold back the others of their batch [#143]", async () => {
    const queue = await newQueue(db);
    await db.engine.enqueueEach([
      { type: "t", queue, input: "later", delaySeconds: 5 },
      { type: "t", queue, input: "now" },
    ]);
    expect((await claimAll(db, queue)).map((job) => job.input)).toEqual(["now"]);
    await db.moveClock(5);
    expect((await claimAll(db, queue)).map((job) => job.input)).toEqual(["later"]);
  });
});

describe("the run time of a job without one", () => {
  it("is the database's clock, never null [#170]", async () => {
    const queue = await newQueue(db);
    await db.moveClock(10 * 86_400);
    const engine = strayEngine("UTC", "UTC", -5);
    const before = await clockNow(db);
    const made = [
      await engine.enqueue({ type: "t", queue }),
      ...(await engine.enqueueMany("t", [1], { queue })),
      ...(await engine.enqueueEach([{ type: "t", queue }])),
    ];
    const after = await clockNow(db);
    for (const { id } of made) {
      const { runAt } = await jobOf(db, id);
      expect(runAt.getTime()).toBeGreaterThanOrEqual(before.getTime());
      expect(runAt.getTime()).toBeLessThanOrEqual(after.getTime());
    }
  });

  it("is the same when it is given as null in SQL [#170]", async () => {
    const [made] = await db.sql(`select job_id from job_enqueue('t', null, '{"runAt": null, "delaySeconds": null}')`);
    const [row] = await db.sql(
      "select state, run_at between created_at - interval '1 second' and clock_now() as is_now from jobs where id = $1",
      [made!["job_id"]],
    );
    expect(row).toEqual({ state: "ready", is_now: true });
  });
});

describe("a process whose clock or zone is off", () => {
  const elsewhere = [
    ["Asia/Tokyo", "UTC", 60],
    ["UTC", "Asia/Kolkata", 5],
    ["America/St_Johns", "America/St_Johns", -5],
    ["Pacific/Kiritimati", "Etc/GMT+12", -60],
  ] as const;

  it.each(elsewhere)(
    "(TZ %s, session %s, %d min) gets delays, leases and expiry of the database's time [#146] [#172]",
    async (zone, sessionZone, minutesOff) => {
      const queue = await newQueue(db);
      const engine = strayEngine(zone, sessionZone, minutesOff);
      expect(Intl.DateTimeFormat().resolvedOptions().timeZone).toBe(zone);
      const claim = async () => (await engine.claim({ queues: [queue], leaseSeconds: 10 })).at(0);

      await engine.enqueue({ type: "t", queue, input: "now" });
      await engine.enqueue({ type: "t", queue, input: "delayed", delaySeconds: 20 });
      await engine.enqueue({ type: "t", queue, input: "expires", ttlSeconds: 5, delaySeconds: 20 });
      expect(await claim()).toMatchObject({ input: "now", attempt: 1 });
      await db.moveClock(9);
      expect(await claim()).toBeUndefined();
      await db.moveClock(1);
      const again = await claim();
      expect(again).toMatchObject({ input: "now", attempt: 2 });
      await engine.complete(again!);
      await db.moveClock(9);
      expect(await claim()).toBeUndefined();
      await db.moveClock(1);
      expect(await claim()).toMatchObject({ input: "delayed", attempt: 1 });
      await db.moveClock(5);
      await engine.maintain();
      expect((await engine.list({ queue, state: "expired" })).map((job) => job.input)).toEqual(["expires"]);
    },
  );

  it.each(elsewhere)(
    "(TZ %s, session %s, %d min) reads the same instants as everybody [#146]",
    async (zone, sessionZone, minutesOff) => {
      const queue = await newQueue(db);
      const runAt = new Date((await clockNow(db)).getTime() - 1000);
      const { id } = await db.engine.enqueue({
        type: "t",
        queue,
        runAt,
        ttlSeconds: 60,
        deadline: new Date(runAt.getTime() + 600_000),
      });
      const expected = await db.engine.get(id);
      const engine = strayEngine(zone, sessionZone, minutesOff);
      expect(await engine.get(id)).toEqual(expected);
      expect(await engine.list({ queue })).toEqual([expected!.job]);
      const [claimed] = await engine.claim({ queues: [queue], leaseSeconds: 30 });
      const [row] = await db.sql("select started_at, lease_ends_at from claims where job_id = $1", [id]);
      expect({ started_at: claimed!.claimedAt, lease_ends_at: claimed!.leaseEndsAt }).toEqual(row);
      expect(claimed!.createdAt).toEqual(expected!.job.createdAt);
    },
  );

  it.each([5, -5])(
    "(%d min) starts now-jobs at once and +10 s jobs after 10 s of the database [#172]",
    async (minutesOff) => {
      const queue = await newQueue(db);
      const producer = strayEngine("UTC", "UTC", minutesOff);
      const now = await producer.enqueue({ type: "t", queue });
      const later = await producer.enqueue({ type: "t", queue, delaySeconds: 10 });
      vi.setSystemTime(Date.now() - 2 * minutesOff * 60_000); // the worker's clock is off the other way
      expect((await claimAll(db, queue)).map((job) => job.id)).toEqual([now.id]);
      await db.moveClock(9);
      expect(await claimAll(db, queue)).toEqual([]);
      await db.moveClock(1);
      expect((await claimAll(db, queue)).map((job) => job.id)).toEqual([later.id]);
    },
  );
});
