import { describe, expect, it } from "vitest";
import { day } from "../support/clock.js";
import { useDatabase } from "../support/database.js";
import { claimIds, claimOne, enqueue, idsOf, jobOf, newQueue, stateOf } from "../support/jobs.js";

const db = useDatabase();

describe("a job with a start-by age", () => {
  it.each([
    ["its own", { ttlSeconds: day }, {}],
    ["its queue's", {}, { ttlSeconds: day }],
  ])(
    "of a day, %s, is handed out before that age and never after, though no sweep runs [#13] [#19]",
    async (_, options, defaults) => {
      const queue = await newQueue(db, defaults);
      const [started, agedOut] = [await enqueue(db, queue, options), await enqueue(db, queue, options)];
      await db.moveClock(day - 5);
      expect((await claimOne(db, queue)).id).toBe(started);
      await db.moveClock(6);
      expect(await claimIds(db, queue)).toEqual([]);
      await db.moveClock(30 * day);
      expect(await claimIds(db, queue)).not.toContain(agedOut);
      expect(await stateOf(db, agedOut)).toBe("expired");
    },
  );

  it("is passed over in the middle of others that are not too old [#13] [#19]", async () => {
    const queue = await newQueue(db);
    const first = await enqueue(db, queue);
    await enqueue(db, queue, { ttlSeconds: day });
    const third = await enqueue(db, queue);
    await db.moveClock(day + 1);
    expect(await claimIds(db, queue)).toEqual([first, third]);
  });

  it("counts it from the first time it can run, not from the enqueue [#13]", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue, { ttlSeconds: day, delaySeconds: 10 * day });
    await db.moveClock(10 * day + 60);
    expect(await claimIds(db, queue)).toEqual([id]);
  });
});

describe("one sweep after a job has aged out", () => {
  it("it is expired, counted as such, and gone from the depth [#14]", async () => {
    await db.engine.maintain(); // what earlier tests left
    const queue = await newQueue(db);
    const ids = idsOf(await db.engine.enqueueMany("work", [1, 2], { queue, ttlSeconds: day }));
    await db.moveClock(day + 1);
    expect((await db.engine.maintain()).expired).toBe(2);
    await expectExpired(queue, ids);
    expect(await jobOf(db, ids[0]!)).toMatchObject({ attempts: 0, finishedAt: expect.any(Date) });
  });

  it("it is so in a paused queue, where no claim comes by [#14]", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue, { ttlSeconds: day });
    await db.engine.queuePause(queue);
    await db.moveClock(day + 1);
    await db.engine.maintain();
    await expectExpired(queue, [id]);
  });

  it("it is so when it could not start again in time after a failure [#14]", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue, { ttlSeconds: day });
    await db.engine.retryLater(await claimOne(db, queue), { message: "no" }, day / 2);
    await db.moveClock(day + 1);
    await sweepOften();
    await expectExpired(queue, [id]);
  });

  it("it is so when it was given back only after its time [#14]", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue, { ttlSeconds: day });
    const job = await claimOne(db, queue, { leaseSeconds: 10 * day });
    await db.moveClock(day + 1);
    await sweepOften();
    await db.engine.release(job);
    await sweepOften();
    await expectExpired(queue, [id]);
  });

  it("it is so when a duplicate had pushed its run time, and its expiry with it [#14]", async () => {
    const queue = await newQueue(db);
    const options = { fingerprint: "f", fingerprintMode: "debounce", ttlSeconds: day } as const;
    const id = await enqueue(db, queue, options);
    await enqueue(db, queue, { ...options, delaySeconds: 2 * day });
    await db.moveClock(day + 1);
    await sweepOften();
    expect(await stateOf(db, id), "pushed away, so not too old yet").toBe("delayed");
    await db.moveClock(2 * day);
    await sweepOften();
    await expectExpired(queue, [id]);
  });

  it("it is so when it ages out for the second time, after it was given more attempts [#14]", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue, { ttlSeconds: day });
    await db.moveClock(day + 1);
    await sweepOften();
    expect(await db.engine.retry(3, { ids: [id] })).toBe(1);
    expect(await stateOf(db, id)).toBe("ready");
    await db.moveClock(day + 1);
    await sweepOften();
    await expectExpired(queue, [id]);
  });

  /**
   * Later sweeps let the first one's mark take effect, once older transactions have ended: what the mark passes must
   * not be lost.
   */
  async function sweepOften(): Promise<void> {
    for (let i = 0; i < 5; i += 1) await db.engine.maintain();
  }

  async function expectExpired(queue: string, ids: readonly string[]): Promise<void> {
    expect(
      await db.sql("select state, count(*)::int as jobs from jobs where queue = $1 group by state", [queue]),
    ).toEqual([{ state: "expired", jobs: ids.length }]);
    expect(idsOf(await db.engine.list({ queue, state: "expired" })).sort()).toEqual([...ids].sort());
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 0, blocked: 0, delayed: 0, running: 0 });
  }
});
