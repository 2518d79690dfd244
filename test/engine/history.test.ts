import { beforeEach, describe, expect, it } from "vitest";
import { clockNow, hour } from "../support/clock.js";
import { useDatabase } from "../support/database.js";
import { claimOne, enqueue, newQueue } from "../support/jobs.js";

const db = useDatabase();

/** Move the clock to a second of the next minute. */
async function nextMinute(second = 5): Promise<void> {
  const now = (await clockNow(db)).getTime() / 1000;
  await db.moveClock((Math.floor(now / 60) + 1) * 60 + second - now);
}

/** So many minutes that nothing happens in, each of them written down. */
async function sample(): Promise<number> {
  return db.engine.historySample();
}

/** Begin with a minute that is written down. */
beforeEach(async () => {
  await nextMinute();
  await sample();
  await nextMinute();
  await sample();
});

describe("the history", () => {
  it("has a row for each minute: of all, of a queue, and of a type", async () => {
    const queue = await newQueue(db);
    await enqueue(db, queue, { type: "quick" });
    await enqueue(db, queue, { type: "quick" });
    const slow = await enqueue(db, queue, { type: "slow", retry: 0 });
    await db.moveClock(20);
    await db.engine.complete(await claimOne(db, queue, { types: ["quick"] }));
    const failing = await claimOne(db, queue, { types: ["slow"], leaseSeconds: 3600 });
    await db.moveClock(10);
    await db.engine.retryLater(failing, { name: "TypeError", message: "no" }, 3600);
    await claimOne(db, queue, { types: ["quick"], leaseSeconds: 3600 });
    await enqueue(db, queue, { type: "quick" });
    await db.engine.maintain();
    await nextMinute();
    expect(await sample()).toBe(1);
    expect(await sample()).toBe(0);
    const [all] = (await db.engine.historyGet()).slice(-1);
    expect(all).toMatchObject({ stepSeconds: 60, enqueued: 4, finished: 1, runs: 2, failed: 1 });
    const [ofQueue] = (await db.engine.historyGet({ queue })).slice(-1);
    expect(ofQueue).toMatchObject({
      enqueued: 4,
      finished: 1,
      runs: 2,
      failed: 1,
      waiting: 1,
      running: 1,
      kinds: { TypeError: 1 },
    });
    const [quick] = (await db.engine.historyGet({ queue, type: "quick" })).slice(-1);
    expect(quick).toMatchObject({ enqueued: 3, finished: 1, failed: 0, kinds: null, waiting: 1, running: 1 });
    expect(quick!.waitP50Seconds).toBeCloseTo(20, 0);
    expect(quick!.oldestReadySeconds).toBeGreaterThanOrEqual(0);
    const [ofSlow] = (await db.engine.historyGet({ queue, type: "slow" })).slice(-1);
    expect(ofSlow).toMatchObject({ enqueued: 1, finished: 0, runs: 1, failed: 1, waiting: 0, running: 0 });
    expect(ofSlow!.runP50Seconds).toBeCloseTo(10, 0);
    expect(ofSlow!.at.getTime() % 60_000).toBe(0);
    expect(slow).toBeTruthy();
  });

  it("counts many at once, streaks by their jobs, and percentiles by how many they stand for", async () => {
    const queue = await newQueue(db);
    await db.engine.enqueueMany(
      "bulk",
      Array.from({ length: 3000 }, (_, n) => n),
      { queue },
    );
    await db.moveClock(3);
    const early = await db.engine.claim({ queues: [queue], limit: 1000 });
    await db.engine.completeMany(
      early[0]!.token,
      early.map(({ id }) => id),
    );
    await db.moveClock(30);
    const late = await db.engine.claim({ queues: [queue], limit: 10 });
    for (const job of late) await db.engine.complete(job, { done: true });
    await nextMinute();
    await sample();
    const [point] = (await db.engine.historyGet({ queue })).slice(-1);
    expect(point).toMatchObject({ enqueued: 3000, finished: 1010, runs: 1010, failed: 0 });
    expect(point!.waitP50Seconds).toBeCloseTo(3, 0);
    expect(point!.waitP95Seconds).toBeCloseTo(3, 0);
  });

  it("makes up for a few minutes, and leaves a gap after many", async () => {
    const queue = await newQueue(db);
    await enqueue(db, queue);
    await nextMinute();
    await enqueue(db, queue);
    await enqueue(db, queue);
    await nextMinute();
    expect(await sample()).toBe(2);
    const told = (await db.engine.historyGet({ queue })).slice(-2);
    expect(told.map(({ enqueued, waiting }) => [enqueued, waiting])).toEqual([
      [1, null],
      [2, 3],
    ]);
    await db.moveClock(1200);
    await nextMinute();
    expect(await sample()).toBe(0);
    await nextMinute();
    expect(await sample()).toBe(1);
    const after = (await db.engine.historyGet({ queue })).slice(-2);
    expect(after[1]!.at.getTime() - after[0]!.at.getTime()).toBeGreaterThan(1200_000);
  });

  it("becomes hours, and the rings are emptied child by child", async () => {
    const queue = await newQueue(db);
    const now = (await clockNow(db)).getTime() / 1000;
    await db.moveClock((Math.floor(now / hour) + 1) * hour + 5 - now); // an hour begins
    await sample();
    await nextMinute();
    await sample();
    await enqueue(db, queue);
    await db.engine.fail(await claimOne(db, queue), { code: "E1", message: "no" });
    for (let n = 0; n < 2; n += 1) {
      await nextMinute();
      await sample();
      await enqueue(db, queue);
    }
    for (let n = 0; n < 13; n += 1) {
      await db.moveClock(240);
      await nextMinute();
      await sample();
    }
    await nextMinute();
    await sample();
    const hours = await db.engine.historyGet({ queue, seconds: 2 * 86_400 });
    expect(hours.at(-1)).toMatchObject({
      stepSeconds: 3600,
      enqueued: 3,
      finished: 1,
      failed: 1,
      waiting: 2,
      kinds: { E1: 1 },
    });
    expect(hours.at(-1)!.at.getTime() % 3_600_000).toBe(0);
    const rows = async () =>
      Number(
        (
          await db.sql(
            "select count(*) from sample_minute m join history_series h on h.id = m.series where h.queue = $1",
            [queue],
          )
        )[0]!["count"],
      );
    const before = await rows();
    expect(before).toBeGreaterThan(10);
    const boundary = Math.floor((await clockNow(db)).getTime() / 60_000);
    for (let turn = 0; turn < 5; turn += 1) {
      await db.moveClock(6 * hour);
      await sample();
      await nextMinute();
      expect(await sample()).toBe(1);
    }
    expect(await db.sql("select from sample_minute where minute < $1", [boundary])).toEqual([]);
    const kept = await db.sql("select distinct slot from sample_minute");
    expect(kept).toHaveLength(5);
    expect((await db.engine.historyGet({ queue, seconds: 2 * 86_400 })).length).toBeGreaterThan(0);
    await db.moveClock(40 * 86_400);
    for (let n = 0; n < 2; n += 1) {
      await sample();
      await nextMinute();
    }
    expect(await db.sql("select count(*)::int as n from sample_hour")).toEqual([{ n: 0 }]);
  });

  it("is written by one process, and by another when that one is gone", async () => {
    const queue = await newQueue(db);
    await enqueue(db, queue);
    await nextMinute();
    const first = await db.connect();
    await first.query("set search_path = millrace; begin; select history_sample()");
    expect(await sample()).toBe(0); // it is in the other's hands
    expect(await db.engine.historyGet({ queue })).toEqual([]);
    const { rows } = await first.query("select pg_backend_pid() as pid");
    first.on("error", () => {});
    await db.sql("select pg_terminate_backend($1)", [rows[0].pid]);
    while ((await sample()) === 0);
    expect((await db.engine.historyGet({ queue })).at(-1)).toMatchObject({ enqueued: 1 });
  });

  it("refuses what cannot be told", async () => {
    await expect(db.engine.historyGet({ type: "t" })).rejects.toMatchObject({ code: "MR001" });
    await expect(db.engine.historyGet({ seconds: 0 })).rejects.toMatchObject({ code: "MR001" });
    await expect(db.engine.historyGet({ seconds: 2_592_001 })).rejects.toMatchObject({ code: "MR001" });
    await expect(db.engine.historyGet({ windows: 1 } as never)).rejects.toMatchObject({ code: "MR001" });
    expect(await db.engine.historyGet({ queue: "none" })).toEqual([]);
  });
});
