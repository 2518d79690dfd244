import type pg from "pg";
import { describe, expect, it } from "vitest";
import type { EnqueueOptions } from "../../src/db/types.js";
import { useDatabase } from "../support/database.js";
import { claimOne, jobOf, newQueue } from "../support/jobs.js";
import { claimAll, invalidArgument } from "../support/steps.js";

const db = useDatabase();

/** Enqueue a job and fail one attempt after the other. */
async function failing(
  queue: string,
  options: EnqueueOptions,
  rounds: number,
): Promise<{ id: string; waits: number[] }> {
  const { id } = await db.engine.enqueue({ type: "t", queue, ...options });
  return { id, waits: await waitsOf(queue, id, rounds) };
}

/** Fail the job's next attempts; how long it had to wait after each, in seconds. */
async function waitsOf(queue: string, id: string, rounds: number): Promise<number[]> {
  const seconds: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    await db.engine.retryLater(await claimOne(db, queue), { message: `round ${round}` });
    const job = await jobOf(db, id);
    if (job.state !== "delayed") break;
    const wait = (job.runAt.getTime() - job.updatedAt.getTime()) / 1000;
    seconds.push(wait);
    await db.moveClock(wait);
  }
  return seconds;
}

describe("a constant delay", () => {
  it("makes the next claim possible after exactly that long, not earlier [#129]", async () => {
    const queue = await newQueue(db);
    const { id } = await db.engine.enqueue({ type: "t", queue, retry: 10 });
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      const job = await claimOne(db, queue);
      expect(job).toMatchObject({ id, attempt });
      await db.engine.retryLater(job);
      const failed = await jobOf(db, id);
      expect(failed.state).toBe("delayed");
      expect(failed.runAt.getTime() - failed.updatedAt.getTime()).toBe(10_000);
      await db.moveClock(9);
      expect(await claimAll(db, queue)).toEqual([]);
      await db.moveClock(1);
    }
  });

  it("of 0 makes it claimable at once [#129]", async () => {
    const queue = await newQueue(db);
    await db.engine.enqueue({ type: "t", queue, retry: 0 });
    await db.engine.retryLater(await claimOne(db, queue));
    expect((await claimOne(db, queue)).attempt).toBe(2);
  });
});

describe("a list of delays", () => {
  it("waits 60, 300, 300 and then gives up at the fourth [#130]", async () => {
    const queue = await newQueue(db);
    const { id, waits } = await failing(queue, { retry: [60, 300], maxAttempts: 4 }, 4);
    expect(waits).toEqual([60, 300, 300]);
    expect(await jobOf(db, id)).toMatchObject({ state: "failed", reason: "exhausted", attempts: 4 });
  });

  it("goes on with its last entry for retries granted later [#130]", async () => {
    const queue = await newQueue(db);
    const { id } = await failing(queue, { retry: [60, 300], maxAttempts: 2 }, 2);
    expect(await db.engine.retry(3, { ids: [id] })).toBe(1);
    expect(await waitsOf(queue, id, 3)).toEqual([300, 300]);
    expect((await jobOf(db, id)).state).toBe("failed");
  });

  it("given with the job wins over the constant of its type and queue [#130]", async () => {
    const queue = await newQueue(db, { retry: 7 });
    await db.engine.typePut("constant", { retry: 9 });
    const seconds = async (retry?: number[]) => {
      const { id } = await db.engine.enqueue({ type: "constant", queue, ...(retry ? { retry } : {}) });
      return waitsOf(queue, id, 1);
    };
    expect(await seconds([60, 300])).toEqual([60]);
    await db.engine.queuePurge(queue);
    expect(await seconds()).toEqual([9]);
  });
});

describe("exponential backoff", () => {
  it("is base · factor^(k−1), never above the cap [#131]", async () => {
    const queue = await newQueue(db);
    const { waits } = await failing(queue, { retry: { base: 2, factor: 3, cap: 50, jitter: 0 }, maxAttempts: 7 }, 7);
    expect(waits).toEqual([2, 6, 18, 50, 50, 50]);
  });

  it("spreads by at most the jitter either way, and does spread [#131]", async () => {
    const queue = await newQueue(db);
    const jobs = await db.engine.enqueueMany(
      "t",
      Array.from({ length: 200 }, (_, i) => i),
      { queue, retry: { base: 100, factor: 2, cap: 150, jitter: 0.4 } },
    );
    for (const expected of [100, 150]) {
      const claimed = await db.engine.claim({ queues: [queue], limit: 200 });
      expect(claimed).toHaveLength(200);
      const { refused } = await db.engine.settle([
        { token: claimed[0]!.token, outcome: "retryLater", jobs: jobs.map((job) => job.id) },
      ]);
      expect(refused).toEqual([]);
      const delays = (await db.engine.list({ queue, state: "delayed", limit: 1000 })).map(
        (job) => (job.runAt.getTime() - job.updatedAt.getTime()) / 1000 / expected,
      );
      expect(delays).toHaveLength(200);
      // 200 samples miss the outer eighths of the range with a chance below 1e-10.
      expect(Math.min(...delays)).toBeGreaterThanOrEqual(0.599);
      expect(Math.min(...delays)).toBeLessThan(0.7);
      expect(Math.max(...delays)).toBeGreaterThan(1.3);
      expect(Math.max(...delays)).toBeLessThanOrEqual(1.401);
      await db.moveClock(300);
    }
  });

  it("is the default: 1 s doubling, a tenth of jitter [#131]", async () => {
    const queue = await newQueue(db);
    const { waits } = await failing(queue, {}, 12);
    expect(waits).toHaveLength(12);
    for (const [k, wait] of waits.entries()) {
      expect(wait / 2 ** k).toBeGreaterThanOrEqual(0.899);
      expect(wait / 2 ** k).toBeLessThanOrEqual(1.101);
    }
  });

  it("stays at the cap after any number of attempts [#131]", async () => {
    const queue = await newQueue(db);
    const { id } = await db.engine.enqueue({
      type: "t",
      queue,
      maxAttempts: Infinity,
      retry: { base: 1, factor: 10, cap: 3600, jitter: 0 },
    });
    await db.engine.retryLater(await claimOne(db, queue));
    await db.sql("update agenda set attempt = 1000000 where job_id = $1", [id]);
    await db.moveClock(1);
    expect(await waitsOf(queue, id, 2)).toEqual([3600, 3600]);
  });
});

describe("the last attempt", () => {
  it("leaves the job failed as exhausted, and no claim returns it again [#132]", async () => {
    const queue = await newQueue(db);
    const { id } = await db.engine.enqueue({ type: "t", queue, maxAttempts: 3, retry: 5 });
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      const job = await claimOne(db, queue);
      expect(job).toMatchObject({ attempt, maxAttempts: 3 });
      await db.engine.retryLater(job, { message: `failure ${attempt}` });
      await db.moveClock(5);
    }
    expect(await jobOf(db, id)).toMatchObject({
      state: "failed",
      reason: "exhausted",
      attempts: 3,
      lastError: { message: "failure 3" },
    });
    await db.moveClock(86_400);
    await db.engine.maintain();
    expect(await claimAll(db, queue)).toEqual([]);
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 0, delayed: 0, running: 0 });
  });

  it("is final whatever delay the retry asks for [#132]", async () => {
    const queue = await newQueue(db);
    const { id } = await db.engine.enqueue({ type: "t", queue, maxAttempts: 1 });
    await db.engine.retryLater(await claimOne(db, queue), { message: "no" }, 0);
    expect(await jobOf(db, id)).toMatchObject({ state: "failed", reason: "exhausted" });
  });

  it("is told apart from a permanent failure [#132]", async () => {
    const queue = await newQueue(db);
    const { id } = await db.engine.enqueue({ type: "t", queue, maxAttempts: 1 });
    await db.engine.fail(await claimOne(db, queue), { message: "no" });
    expect(await jobOf(db, id)).toMatchObject({ state: "failed", reason: "permanent" });
  });
});

describe("retry with an explicit delay", () => {
  it("sets the run time to the clock plus the delay [#100]", async () => {
    const queue = await newQueue(db);
    const { id } = await db.engine.enqueue({ type: "t", queue, retry: 5 });
    await db.engine.retryLater(await claimOne(db, queue), { message: "busy" }, 90);
    const job = await jobOf(db, id);
    expect(job.state).toBe("delayed");
    expect(job.runAt.getTime() - job.updatedAt.getTime()).toBe(90_000);
    await db.moveClock(89);
    expect(await claimAll(db, queue)).toEqual([]);
    await db.moveClock(1);
    expect((await claimOne(db, queue)).attempt).toBe(2);
  });

  it("finds due jobs by index: a claim does not read those that are not due [#100]", async () => {
    const queue = await newQueue(db);
    await db.engine.enqueueMany(
      "waits",
      Array.from({ length: 20_000 }, (_, i) => i),
      { queue, delaySeconds: 86_400 },
    );
    await db.engine.enqueue({ type: "retried", queue });
    const [first] = await db.engine.claim({ queues: [queue], types: ["retried"] });
    await db.engine.retryLater(first!, undefined, 60);
    await db.moveClock(60);
    const tx = await db.connect();
    await tx.query("begin");
    const readBefore = await rowsRead(tx);
    const [job] = await db.engine.claim({ queues: [queue], types: ["retried"] }, { tx });
    expect(job?.attempt).toBe(2);
    for (let n = 0; n < 5; n += 1) await db.engine.claim({ queues: [queue], types: ["retried"] }, { tx });
    const read = (await rowsRead(tx)) - readBefore;
    await tx.query("commit");
    expect(read).toBeGreaterThan(0);
    // entries of jobs long gone stay while anybody's snapshot is open; those that wait would be 20,000 per claim
    expect(read).toBeLessThan(10_000);
  });

  it.each([-1, Number.NaN])("refuses %d seconds, and keeps the lease [#100]", async (delay) => {
    const queue = await newQueue(db);
    const { id } = await db.engine.enqueue({ type: "t", queue });
    const job = await claimOne(db, queue);
    await expect(db.engine.retryLater(job, undefined, delay)).rejects.toMatchObject(invalidArgument);
    await expect(db.engine.release(job, delay)).rejects.toMatchObject(invalidArgument);
    expect((await jobOf(db, id)).state).toBe("running");
  });
});

/** How many rows and index entries of the agenda this transaction has read so far. */
async function rowsRead(tx: pg.Client): Promise<number> {
  const { rows } = await tx.query(`
    select pg_stat_get_xact_tuples_returned(t.oid) + (select sum(pg_stat_get_xact_tuples_returned(i.indexrelid)) from pg_index i where i.indrelid = t.oid) as n
      from pg_class t where t.oid = 'millrace.agenda'::regclass`);
  return Number(rows[0].n);
}
