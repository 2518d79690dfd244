import { describe, expect, it } from "vitest";
import { useDatabase } from "../support/database.js";
import { claimIds, claimOne, enqueue, jobOf, newQueue } from "../support/jobs.js";
import { jobNotFound } from "../support/steps.js";

const db = useDatabase();
const depthOf = async (queue: string) => {
  const { ready, delayed } = (await db.engine.queues()).find(({ name }) => name === queue)!;
  return { ready, delayed };
};

describe("run now", () => {
  it("makes a delayed job due, counts it as ready, and wakes the workers of its queue", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue, { delaySeconds: 7200 });
    const later = await enqueue(db, queue, { delaySeconds: 7200 });
    const listener = await db.connect();
    const heard: string[] = [];
    listener.on("notification", ({ payload }) => heard.push(payload!));
    await listener.query('listen "millrace:millrace"');
    expect(await db.engine.runNow([id])).toBe(1);
    while (!heard.some((payload) => payload.includes(queue))) await listener.query("select");
    expect(await claimIds(db, queue, { limit: 5 })).toEqual([id]);
    expect(await depthOf(queue)).toEqual({ ready: 0, delayed: 1 });
    expect((await jobOf(db, later)).state).toBe("delayed");
  });

  it("does not wait for the time of a retry, and counts its attempts on", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue);
    await db.engine.retryLater(await claimOne(db, queue), { message: "no" }, 7200);
    expect(await claimIds(db, queue)).toEqual([]);
    expect(await db.engine.runNow([id])).toBe(1);
    expect(await claimOne(db, queue)).toMatchObject({ id, attempt: 2 });
  });

  it("keeps the order of an ordered group whose first job waits for a retry", async () => {
    const queue = await newQueue(db, { ordered: true });
    const [first, second] = [await enqueue(db, queue, { group: "a" }), await enqueue(db, queue, { group: "a" })];
    await db.engine.retryLater(await claimOne(db, queue), { message: "no" }, 7200);
    expect(await claimIds(db, queue)).toEqual([]);
    expect(await db.engine.runNow([first, second]), "the second is blocked, not delayed").toBe(1);
    for (const id of [first, second]) {
      const job = await claimOne(db, queue);
      expect(job.id).toBe(id);
      await db.engine.complete(job);
    }
  });

  it("takes groups in turns as before, and lets the time to start by count from now", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue, { group: "acme", delaySeconds: 7200, ttlSeconds: 60 });
    expect(await db.engine.runNow([id])).toBe(1);
    const { expiresAt, runAt } = await jobOf(db, id);
    expect(expiresAt!.getTime() - runAt.getTime()).toBe(60_000);
    await db.moveClock(61);
    expect(await claimIds(db, queue)).toEqual([]);
    expect((await jobOf(db, id)).state).toBe("expired");
  });

  it("leaves alone what is not delayed, and what a stage holds", async () => {
    const queue = await newQueue(db);
    const running = await enqueue(db, queue);
    await claimOne(db, queue);
    const ready = await enqueue(db, queue);
    const staged = await enqueue(db, queue, { stage: "approval", delaySeconds: 60 });
    const cancelled = await enqueue(db, queue, { delaySeconds: 60 });
    await db.engine.cancel([cancelled]);
    expect(await db.engine.runNow([running, ready, staged, cancelled])).toBe(0);
    expect(await claimIds(db, queue, { limit: 5 })).toEqual([ready]);
    expect((await jobOf(db, staged)).stage).toBe("approval");
    await expect(db.engine.runNow(["1"])).rejects.toMatchObject(jobNotFound);
  });

  it("is done once by two who ask at the same time, and taken back with the transaction", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue, { delaySeconds: 60 });
    await db.engine
      .transaction(async (tx) => {
        expect(await db.engine.runNow([id], { tx })).toBe(1);
        throw new Error("no");
      })
      .catch(() => undefined);
    expect(await claimIds(db, queue)).toEqual([]);
    await Promise.all([db.engine.runNow([id]), db.engine.runNow([id])]);
    expect(await claimIds(db, queue, { limit: 5 })).toEqual([id]);
    expect(await depthOf(queue)).toEqual({ ready: 0, delayed: 0 });
  });
});
