import { describe, expect, it } from "vitest";
import { clockNow } from "../support/clock.js";
import { useDatabase } from "../support/database.js";
import { claimOne, jobOf, newQueue } from "../support/jobs.js";
import { claimAll, leaseLost, miscounts } from "../support/steps.js";

const db = useDatabase();
const inSeconds = async (seconds: number): Promise<Date> => new Date((await clockNow(db)).getTime() + seconds * 1000);

describe("a time to start by", () => {
  it("ends the job as expired: no claim after it, and one sweep makes it final [#137]", async () => {
    const queue = await newQueue(db);
    const { id } = await db.engine.enqueue({ type: "t", queue, ttlSeconds: 5 });
    await db.moveClock(5);
    expect(await claimAll(db, queue)).toEqual([]);
    await db.engine.maintain();
    expect(await jobOf(db, id)).toMatchObject({ state: "expired", attempts: 0 });
    expect((await jobOf(db, id)).finishedAt).not.toBeNull();
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 0, delayed: 0, running: 0 });
  });

  it("is swept without any claim [#137]", async () => {
    const queue = await newQueue(db);
    const { id } = await db.engine.enqueue({ type: "t", queue, ttlSeconds: 5 });
    await db.moveClock(5);
    await db.engine.maintain();
    expect((await jobOf(db, id)).finishedAt).not.toBeNull();
    expect((await db.engine.queueDepth(queue)).ready).toBe(0);
  });

  it("is swept also when its transaction commits after the sweep of its time [#137]", async () => {
    const queue = await newQueue(db);
    const tx = await db.connect();
    await tx.query("begin");
    const { id } = await db.engine.enqueue({ type: "t", queue, ttlSeconds: 5 }, { tx });
    await db.moveClock(5);
    for (let n = 0; n < 3; n += 1) await db.engine.maintain();
    await tx.query("commit");
    await db.engine.maintain();
    expect(await jobOf(db, id)).toMatchObject({ state: "expired" });
    expect((await jobOf(db, id)).finishedAt).not.toBeNull();
  });

  it("is recorded by the claim that passes over it, however many sweeps its transaction was open for [#14] [#137]", async () => {
    const queue = await newQueue(db);
    await db.engine.enqueue({ type: "t", queue });
    await db.engine.complete(await claimOne(db, queue));
    for (let n = 0; n < 2; n += 1) await db.engine.maintain();
    const tx = await db.connect();
    await tx.query("begin");
    const { id } = await db.engine.enqueue({ type: "t", queue, ttlSeconds: 5 }, { tx });
    await db.moveClock(5);
    for (let n = 0; n < 2; n += 1) await db.engine.maintain();
    await tx.query("commit");
    expect(await claimAll(db, queue)).toEqual([]);
    const { state, finishedAt } = await jobOf(db, id);
    expect([state, finishedAt]).toEqual(["expired", expect.any(Date)]);
    for (let n = 0; n < 3; n += 1) await db.engine.maintain();
    expect(await miscounts(db, queue)).toEqual([]);
    await db.engine.enqueue({ type: "t", queue });
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 1, delayed: 0 });
  });

  it("can be claimed until just before it [#137]", async () => {
    const queue = await newQueue(db);
    const { id } = await db.engine.enqueue({ type: "t", queue, ttlSeconds: 5 });
    await db.moveClock(4);
    await db.engine.maintain();
    expect((await claimOne(db, queue)).id).toBe(id);
  });

  it("stops retries too: no attempt starts after it [#137]", async () => {
    const queue = await newQueue(db);
    const { id } = await db.engine.enqueue({ type: "t", queue, ttlSeconds: 30, retry: 10 });
    await db.engine.retryLater(await claimOne(db, queue), { message: "one" });
    await db.moveClock(10);
    const second = await claimOne(db, queue);
    await db.moveClock(15);
    await db.engine.retryLater(second, { message: "two" });
    await db.moveClock(10);
    await db.engine.maintain();
    expect(await claimAll(db, queue)).toEqual([]);
    expect(await jobOf(db, id)).toMatchObject({ state: "expired", attempts: 2, lastError: { message: "two" } });
  });

  it("stops a released or lost job that waits past it [#137]", async () => {
    const queue = await newQueue(db);
    const released = await db.engine.enqueue({ type: "t", queue, ttlSeconds: 20 });
    await db.engine.release(await claimOne(db, queue), 10);
    const lost = await db.engine.enqueue({ type: "t", queue, ttlSeconds: 20 });
    await claimOne(db, queue, { leaseSeconds: 25 });
    await db.moveClock(30);
    await db.engine.maintain();
    for (const { id } of [released, lost]) expect((await jobOf(db, id)).state).toBe("expired");
    expect(await claimAll(db, queue)).toEqual([]);
  });

  it("does not touch a job that started in time: its late success counts [#137]", async () => {
    const queue = await newQueue(db);
    const { id } = await db.engine.enqueue({ type: "t", queue, ttlSeconds: 5 });
    const job = await claimOne(db, queue, { leaseSeconds: 600 });
    await db.moveClock(60);
    await db.engine.maintain();
    expect((await jobOf(db, id)).state).toBe("running");
    await db.engine.complete(job, "done");
    expect(await jobOf(db, id)).toMatchObject({ state: "succeeded", result: "done" });
  });

  it("counts from the first time the job could run, not from the enqueue [#139]", async () => {
    const queue = await newQueue(db);
    const { id } = await db.engine.enqueue({ type: "t", queue, delaySeconds: 3600, ttlSeconds: 10 });
    await db.moveClock(3599);
    await db.engine.maintain();
    expect((await jobOf(db, id)).state).toBe("delayed");
    await db.moveClock(10);
    await db.engine.maintain();
    expect((await claimOne(db, queue)).id).toBe(id);
  });

  it("then ends the delayed job as well [#139]", async () => {
    const queue = await newQueue(db);
    const { id } = await db.engine.enqueue({ type: "t", queue, runAt: await inSeconds(3600), ttlSeconds: 10 });
    await db.moveClock(3611);
    expect(await claimAll(db, queue)).toEqual([]);
    await db.engine.maintain();
    expect((await jobOf(db, id)).state).toBe("expired");
  });

  it("is set by queue and type, the job's own first [#139]", async () => {
    const queue = await newQueue(db, { ttlSeconds: 100 });
    await db.engine.typePut("typed", { ttlSeconds: 50 });
    const ttl = async (type: string, ttlSeconds?: number) => {
      const job = await jobOf(db, (await db.engine.enqueue({ type, queue, ...(ttlSeconds ? { ttlSeconds } : {}) })).id);
      return (job.expiresAt!.getTime() - job.runAt.getTime()) / 1000;
    };
    expect([await ttl("t"), await ttl("typed"), await ttl("typed", 7)]).toEqual([100, 50, 7]);
  });
});

describe("a deadline", () => {
  it("ends a running job as expired; its holder is told at its next beat, and its late success is refused [#137]", async () => {
    const queue = await newQueue(db);
    const late = await db.engine.enqueue({ type: "t", queue, deadline: await inSeconds(5) });
    const other = await db.engine.enqueue({ type: "t", queue });
    const claimed = await db.engine.claim({ queues: [queue], limit: 2, leaseSeconds: 600 });
    const { token } = claimed[0]!;
    await db.moveClock(5);
    await db.engine.maintain();
    expect((await jobOf(db, late.id)).state).toBe("expired");
    expect((await db.engine.claimExtend([token])).get(token)?.jobIds).toEqual([other.id]);
    await expect(db.engine.complete({ id: late.id, token }, "late")).rejects.toMatchObject(leaseLost);
    expect(await jobOf(db, late.id)).toMatchObject({ state: "expired", attempts: 1, result: null });
    await db.engine.complete({ id: other.id, token });
  });

  it("lets a success through that came in time [#137]", async () => {
    const queue = await newQueue(db);
    const { id } = await db.engine.enqueue({ type: "t", queue, deadline: await inSeconds(5) });
    const job = await claimOne(db, queue);
    await db.moveClock(4);
    await db.engine.maintain();
    await db.engine.complete(job);
    expect((await jobOf(db, id)).state).toBe("succeeded");
  });

  it("ends a waiting job without running it [#137]", async () => {
    const queue = await newQueue(db);
    const { id } = await db.engine.enqueue({ type: "t", queue, deadline: await inSeconds(5), ttlSeconds: 600 });
    await db.moveClock(5);
    await db.engine.maintain();
    expect(await claimAll(db, queue)).toEqual([]);
    expect(await jobOf(db, id)).toMatchObject({ state: "expired", attempts: 0 });
  });
});
