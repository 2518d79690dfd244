import pg from "pg";
import { describe, expect, it } from "vitest";
import { Engine } from "../../src/db/engine.js";
import type { ClaimedJob } from "../../src/db/types.js";
import { useDatabase } from "../support/database.js";
import { claimIds, claimOne, enqueue, jobOf, newQueue, stateOf } from "../support/jobs.js";

const db = useDatabase();
const leaseSeconds = (job: ClaimedJob) => (job.leaseEndsAt.getTime() - job.claimedAt.getTime()) / 1000;

describe("length of a lease", () => {
  it("is 30 s by default; the cell, the queue, the type and the claim say otherwise, the most specific one wins [#9]", async () => {
    const queue = await newQueue(db);
    const next = async (options = {}) => {
      await enqueue(db, queue, { type: "leased" });
      return leaseSeconds(await claimOne(db, queue, options));
    };
    expect(await next()).toBe(30);
    await db.engine.cellPut({ leaseSeconds: 40 });
    expect(await next()).toBe(40);
    await db.engine.queuePut(queue, { leaseSeconds: 50 });
    expect(await next()).toBe(50);
    await db.engine.typePut("leased", { leaseSeconds: 60 });
    expect(await next()).toBe(60);
    expect(await next({ leaseSeconds: 70 })).toBe(70);

    await db.engine.typePut("leased", { leaseSeconds: null });
    expect(await next()).toBe(50);
    await db.engine.queuePut(queue, { leaseSeconds: null });
    expect(await next()).toBe(40);
    await db.engine.cellPut({ leaseSeconds: null });
    expect(await next()).toBe(30);
  });

  const expectedLease = (attempt: number) => Math.min(10 * 3 ** (attempt - 1), 200);

  it("grows with each attempt up to a cap, as the client asked: min(b * f^(k-1), m) [#33]", async () => {
    const queue = await newQueue(db);
    await enqueue(db, queue);
    for (let attempt = 1; attempt <= 5; attempt += 1) {
      const job = await claimOne(db, queue, { leaseSeconds: 10, leaseFactor: 3, leaseCapSeconds: 200 });
      expect(job.attempt).toBe(attempt);
      expect(leaseSeconds(job), `attempt ${attempt}`).toBe(expectedLease(attempt));
      await db.engine.retryLater(job, undefined, 0);
    }
  });

  it("grows as the queue's defaults say, when the client says nothing [#33] [#9]", async () => {
    const queue = await newQueue(db, { leaseSeconds: 10, leaseFactor: 3, leaseCapSeconds: 200 });
    await enqueue(db, queue);
    for (let attempt = 1; attempt <= 5; attempt += 1) {
      const job = await claimOne(db, queue);
      expect(leaseSeconds(job), `attempt ${attempt}`).toBe(expectedLease(attempt));
      await db.engine.retryLater(job, undefined, 0);
    }
  });

  it("follows each job's own attempt, also when several are claimed together [#33]", async () => {
    const queue = await newQueue(db);
    await enqueue(db, queue);
    await enqueue(db, queue);
    await db.engine.retryLater(await claimOne(db, queue), undefined, 0);
    await enqueue(db, queue);
    const claim = () =>
      db.engine.claim({ queues: [queue], limit: 10, leaseSeconds: 10, leaseFactor: 3, leaseCapSeconds: 200 });
    const jobs = [...(await claim()), ...(await claim())];
    expect(jobs.map((job) => [job.attempt, leaseSeconds(job)])).toEqual([
      [2, 30],
      [1, 10],
      [1, 10],
    ]);
  });

  it("stays at the cap after thousands of attempts [#33] [#55]", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue, { maxAttempts: Infinity });
    await db.engine.retryLater(await claimOne(db, queue), undefined, 60);
    await db.sql("update agenda set attempt = 5000 where job_id = $1", [id]);
    await db.moveClock(61);
    expect(leaseSeconds(await claimOne(db, queue, { leaseSeconds: 10, leaseFactor: 3, leaseCapSeconds: 200 }))).toBe(
      200,
    );
  });
});

describe("while a lease runs", () => {
  it("a hundred workers that claim ten times each do not get the job [#12]", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue);
    await claimOne(db, queue, { leaseSeconds: 3600 });
    // Five connections for all: claims of one lane follow each other anyway, and forty that wait for it take five times
    // as long.
    const pool = new pg.Pool({ connectionString: db.url, max: 5 });
    const engine = new Engine({ pool });
    const worker = async (name: string) => {
      const received: ClaimedJob[] = [];
      for (let i = 0; i < 10; i += 1) received.push(...(await engine.claim({ queues: [queue], worker: name })));
      return received;
    };
    const received = await Promise.all(Array.from({ length: 100 }, (_, i) => worker(`w${i}`)));
    await pool.end();
    expect(received.flat()).toEqual([]);
    expect(await jobOf(db, id)).toMatchObject({ state: "running", attempts: 1 });
  });

  it("its holder keeps the job for ten times its length by extending it every third [#32]", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue);
    const job = await claimOne(db, queue, { leaseSeconds: 30 });
    for (let third = 0; third < 30; third += 1) {
      await db.moveClock(10);
      const held = await db.engine.claimExtend([job.token], 30);
      expect(held.get(job.token)?.jobIds).toEqual([id]);
      expect(await claimIds(db, queue, { worker: "another" })).toEqual([]);
      await db.engine.maintain();
    }
    await db.engine.complete(job);
    expect(await jobOf(db, id)).toMatchObject({ state: "succeeded", attempts: 1 });
  });

  it("is extended without waiting for a report on another one that is not committed yet [#32 #101]", async () => {
    const queue = await newQueue(db);
    for (let n = 0; n < 2; n += 1) await enqueue(db, queue);
    const [reported, other] = [
      await claimOne(db, queue, { leaseSeconds: 10 }),
      await claimOne(db, queue, { leaseSeconds: 10 }),
    ];
    const tx = await db.connect();
    await tx.query("begin");
    await db.engine.complete(reported, null, { tx });
    const held = await db.engine.claimExtend([reported.token, other.token], 60);
    expect(new Set([...held.values()].flatMap(({ jobIds }) => jobIds))).toEqual(new Set([reported.id, other.id]));
    await db.moveClock(20);
    // neither is given away: one is extended, the other in somebody's hands
    expect(await claimIds(db, queue)).toEqual([]);
    await tx.query("rollback");
    expect(await claimIds(db, queue)).toEqual([reported.id]);
  });

  it("extending counts from now, so the job comes back that much later and not earlier [#32]", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue);
    const job = await claimOne(db, queue, { leaseSeconds: 30 });
    await db.moveClock(20);
    await db.engine.claimExtend([job.token], 30);
    await db.moveClock(28);
    expect(await claimIds(db, queue)).toEqual([]);
    await db.moveClock(3);
    expect(await claimIds(db, queue)).toEqual([id]);
  });
});

describe("after a lease", () => {
  it("another worker receives the same job, its second attempt; before, nobody does [#11]", async () => {
    const queue = await newQueue(db);
    const payload = Buffer.from([0, 255, 1]);
    const id = await enqueue(db, queue, { input: { key: "a.png" }, payload });
    const first = await claimOne(db, queue, { worker: "vanished", leaseSeconds: 10 });
    await db.moveClock(8);
    expect(await claimIds(db, queue)).toEqual([]);
    await db.moveClock(3);
    const second = await claimOne(db, queue, { worker: "other" });
    expect(second).toMatchObject({ id, attempt: 2, input: first.input, payload: first.payload });
    expect(second.token).not.toBe(first.token);
    expect(await jobOf(db, id)).toMatchObject({ worker: "other", attempts: 2 });
  });

  it("the job is claimable again with no action by anyone [#30]", async () => {
    const queue = await newQueue(db);
    const jobs = (await db.engine.enqueueMany("work", [1, 2, 3], { queue })).map((job) => job.id);
    expect(await claimIds(db, queue, { leaseSeconds: 10 })).toEqual(jobs);
    await db.moveClock(11);
    const again: string[] = [];
    for (let i = 0; i < 3; i += 1) again.push((await claimOne(db, queue)).id);
    expect(again).toEqual(jobs);
  });

  it("each of a lost claim's jobs comes back alone, so that one that kills its process spares the others [#30]", async () => {
    const queue = await newQueue(db);
    await db.engine.enqueueMany("work", [1, 2, 3], { queue });
    await claimIds(db, queue, { leaseSeconds: 10 });
    await db.moveClock(11);
    expect(await db.engine.claim({ queues: [queue], limit: 10 })).toMatchObject([{ alone: true }]);
  });
});

describe("a job whose process is killed on every attempt", () => {
  it("is failed as lost after its last attempt, though no worker ever reported [#54] [#16]", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue, { maxAttempts: 3 });
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      expect(await claimOne(db, queue, { leaseSeconds: 10 })).toMatchObject({ id, attempt });
      await db.moveClock(11);
    }
    expect(await claimIds(db, queue)).toEqual([]);
    expect(await jobOf(db, id)).toMatchObject({ state: "failed", reason: "lost", attempts: 3 });
    expect((await db.engine.get(id))?.attempts.map((attempt) => attempt.outcome)).toEqual(["lost", "lost", "lost"]);
  });

  it("is failed by a sweeper, when no worker is left [#54]", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue, { maxAttempts: 1 });
    await claimOne(db, queue, { leaseSeconds: 10 });
    await db.moveClock(11);
    await db.engine.maintain();
    expect(await jobOf(db, id)).toMatchObject({ state: "failed", reason: "lost", attempts: 1 });
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 0, delayed: 0, running: 0 });
  });

  it("is failed also when the process dies before it says that it began [#54]", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue, { maxAttempts: 3 });
    // the first claim is forgiven: the job had not begun; from then on it is alone, and guilty
    for (let claim = 1; claim <= 4; claim += 1) {
      expect((await claimOne(db, queue, { leaseSeconds: 10, trackStart: true })).id).toBe(id);
      await db.moveClock(11);
    }
    await db.engine.maintain();
    expect(await stateOf(db, id)).toBe("failed");
  });
});
