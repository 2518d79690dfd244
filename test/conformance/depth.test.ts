import { describe, expect, it } from "vitest";
import { useDatabase } from "../support/database.js";
import { claimIds, claimOne, enqueue, newQueue } from "../support/jobs.js";

const db = useDatabase();

describe("depth", () => {
  it("of a queue with nothing in it is zeros, not an error [#36]", async () => {
    const empty = {
      ready: 0,
      blocked: 0,
      delayed: 0,
      running: 0,
      staged: 0,
      oldestReadyAt: null,
      oldestAgeSeconds: null,
    };
    const queue = await newQueue(db);
    expect(await db.engine.queueDepth(queue)).toEqual(empty);
    await enqueue(db, queue);
    await db.engine.complete(await claimOne(db, queue));
    expect(await db.engine.queueDepth(queue)).toEqual(empty);
  });

  it("counts each live state, and no finished one, before and after the counts are folded [#36]", async () => {
    const queue = await newQueue(db);
    await jobsInAllStates(queue);
    await enqueue(db, await newQueue(db)); // another queue's business
    const expected = { ready: 3, blocked: 0, delayed: 2, running: 4 };
    expect(await db.engine.queueDepth(queue)).toMatchObject(expected);
    await db.engine.maintain();
    expect(await db.engine.queueDepth(queue)).toMatchObject(expected);
    expect(await countsOf(queue)).toEqual({
      ready: 3,
      delayed: 2,
      running: 4,
      succeeded: 1,
      failed: 1,
      cancelled: 3,
      expired: 1,
    });
  });

  it.each(["nobody has claimed from it yet", "it is in use"])(
    "can be asked in a read-only transaction, when %s [#36]",
    async (when) => {
      const queue = await newQueue(db);
      await enqueue(db, queue);
      await enqueue(db, queue, { type: "grouped", group: "g" });
      await enqueue(db, queue, { delaySeconds: 3600 });
      await db.moveClock(100);
      if (when === "it is in use") {
        for (const type of ["work", "grouped"]) {
          await claimOne(db, queue, { types: [type], leaseSeconds: 3600 });
          await enqueue(db, queue, { type, group: "g" });
        }
      }
      const reader = await db.connect();
      await reader.query("begin read only");
      const depth = await db.engine.queueDepth(queue, { tx: reader });
      await reader.query("commit");
      expect(depth).toMatchObject({ ready: 2, blocked: 0, delayed: 1, running: when === "it is in use" ? 2 : 0 });
      expect(depth.oldestAgeSeconds).toBeGreaterThanOrEqual(when === "it is in use" ? 0 : 100);
      expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 2, delayed: 1 });
    },
  );

  it("shows what a paused queue holds back as blocked [#36]", async () => {
    const queue = await newQueue(db);
    await jobsInAllStates(queue);
    await db.engine.queuePause(queue);
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 0, blocked: 3, delayed: 2, running: 4 });
  });

  it("tells the age of the oldest ready job [#36]", async () => {
    const queue = await newQueue(db);
    await enqueue(db, queue, { type: "a" });
    await db.moveClock(100);
    await enqueue(db, queue, { type: "b" });
    await db.moveClock(50);
    await expectOldest(queue, 150);
    await claimOne(db, queue);
    await expectOldest(queue, 50);
  });

  it("counts a delayed job's age from when it could run [#36]", async () => {
    const queue = await newQueue(db);
    await enqueue(db, queue, { delaySeconds: 100 });
    await db.moveClock(130);
    await db.engine.maintain();
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 1, delayed: 0 });
    await expectOldest(queue, 30);
  });

  it.each([
    ["was cancelled", 1000, async (id: string) => void (await db.engine.cancel([id]))],
    ["has expired", 100, async () => void (await db.engine.maintain())],
  ])("does not take a job that %s for the oldest ready one [#36]", async (_, ttlSeconds, end) => {
    const queue = await newQueue(db);
    const oldest = await enqueue(db, queue, { ttlSeconds });
    await db.moveClock(100);
    await enqueue(db, queue);
    await end(oldest);
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 1 });
    await expectOldest(queue, 0);
  });

  it("is right again after jobs went back and forth [#36]", async () => {
    const queue = await newQueue(db);
    await db.engine.enqueueMany("work", Array.from({ length: 50 }), { queue, maxAttempts: 2 });
    const jobs = await db.engine.claim({ queues: [queue], limit: 30, leaseSeconds: 10 });
    for (const job of jobs.slice(0, 5)) await db.engine.retryLater(job, undefined, 0);
    for (const job of jobs.slice(5, 10)) await db.engine.retryLater(job, undefined, 3600);
    for (const job of jobs.slice(10, 15)) await db.engine.release(job);
    for (const job of jobs.slice(15, 20)) await db.engine.complete(job);
    await db.engine.cancel(jobs.slice(20, 22).map((job) => job.id));
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 30, delayed: 5, running: 8 });
    await db.moveClock(11);
    await db.engine.maintain();
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 38, delayed: 5, running: 0 });
    await db.engine.queuePurge(queue);
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 0, delayed: 0, running: 0 });
    expect(await claimIds(db, queue)).toEqual([]);
  });

  async function expectOldest(queue: string, seconds: number): Promise<void> {
    const { oldestAgeSeconds } = await db.engine.queueDepth(queue);
    expect(oldestAgeSeconds).toBeGreaterThanOrEqual(seconds);
    expect(oldestAgeSeconds).toBeLessThan(seconds + 10); // the clock goes on while the test runs
  }

  /** 3 ready, 2 delayed, 4 running, and one or more of each terminal state. */
  async function jobsInAllStates(queue: string): Promise<void> {
    await enqueue(db, queue, { ttlSeconds: 1 });
    await db.moveClock(2);
    await db.engine.maintain();
    await db.engine.enqueueMany("work", Array.from({ length: 7 }), { queue });
    const [succeeded, failed, cancelled] = await db.engine.claim({ queues: [queue], limit: 7, leaseSeconds: 86_400 });
    await db.engine.complete(succeeded!);
    await db.engine.fail(failed!);
    await db.engine.cancel([cancelled!.id, await enqueue(db, queue), await enqueue(db, queue, { delaySeconds: 3600 })]);
    await enqueue(db, queue, { type: "ready" });
    await enqueue(db, queue, { type: "ready", priority: 1 });
    await enqueue(db, queue);
    await enqueue(db, queue, { delaySeconds: 3600 });
    const retried = await enqueue(db, queue, { type: "retried" });
    const [job] = await db.engine.claim({ queues: [queue], types: ["retried"] });
    expect(job!.id).toBe(retried);
    await db.engine.retryLater(job!, undefined, 3600);
  }

  async function countsOf(queue: string): Promise<Record<string, number>> {
    const rows = await db.sql<{ state: string; jobs: number }>(
      "select state, count(*)::int as jobs from jobs where queue = $1 group by state",
      [queue],
    );
    return Object.fromEntries(rows.map((row) => [row.state, row.jobs]));
  }
});
