import { describe, expect, it } from "vitest";
import type { EnqueueOptions } from "../../src/db/types.js";
import { useDatabase } from "../support/database.js";
import { claimOne, jobOf, newQueue } from "../support/jobs.js";
import { claimAll, invalidArgument, jobNotFound, waitersOf } from "../support/steps.js";

const db = useDatabase();
let types = 0;
const newType = (): string => `type-${(types += 1)}`;

async function exhausted(queue: string, type: string, options: EnqueueOptions = {}): Promise<string> {
  const { id } = await db.engine.enqueue({ type, queue, maxAttempts: 1, ...options });
  await db.engine.retryLater(await claimOne(db, queue, { types: [type] }), { message: "no" });
  return id;
}

async function expired(queue: string, type: string, options: EnqueueOptions = {}): Promise<string> {
  const { id } = await db.engine.enqueue({ type, queue, ttlSeconds: 10, ...options });
  await db.moveClock(10);
  await db.engine.maintain();
  return id;
}

/** Fail attempts until the job is final; how many there were. */
async function attemptsLeft(queue: string, id: string): Promise<number> {
  for (let n = 0; ; n += 1) {
    const [job] = await db.engine.claim({ queues: [queue] });
    if (job?.id !== id) return n;
    await db.engine.retryLater(job, { message: "still no" }, 0);
  }
}

describe("retry", () => {
  it("makes all failed and expired jobs of the type ready, leaves others alone, and counts [#133]", async () => {
    const queue = await newQueue(db);
    const [x, y] = [newType(), newType()];
    const chosen = [await exhausted(queue, x), await expired(queue, x), await exhausted(queue, x)];
    const others = [await exhausted(queue, y), await expired(queue, y)];
    const before = await Promise.all(others.map((id) => jobOf(db, id)));

    expect(await db.engine.retry(2, { type: x })).toBe(3);
    for (const id of chosen) expect((await jobOf(db, id)).state).toBe("ready");
    expect(await Promise.all(others.map((id) => jobOf(db, id)))).toEqual(before);
    expect((await claimAll(db, queue)).map((job) => job.id)).toEqual(chosen);
  });

  it("leaves live, succeeded and cancelled jobs of the type alone [#133]", async () => {
    const queue = await newQueue(db);
    const type = newType();
    await db.engine.enqueueMany(type, ["done", "cancelled", "running", "ready"], { queue });
    const [done, cancelled] = await db.engine.claim({ queues: [queue], limit: 3 });
    await db.engine.complete(done!);
    await db.engine.cancel([cancelled!.id]);
    expect(await db.engine.retry(2, { type })).toBe(0);
    expect((await db.engine.list({ queue })).map((job) => job.state)).toEqual([
      "ready",
      "running",
      "cancelled",
      "succeeded",
    ]);
  });

  it.each([1, 3])("gives exactly %d attempts to go [#133]", async (n) => {
    const queue = await newQueue(db);
    const type = newType();
    const id = await exhausted(queue, type);
    await db.engine.retry(n, { ids: [id] });
    const job = await jobOf(db, id);
    expect(job.maxAttempts - job.attempts).toBe(n);
    expect(await attemptsLeft(queue, id)).toBe(n);
    expect(await jobOf(db, id)).toMatchObject({ state: "failed", reason: "exhausted", attempts: 1 + n });
  });

  it("gives exactly that many to an expired one too, and the first delivery is attempt 1 [#133] [#16]", async () => {
    const queue = await newQueue(db);
    const type = newType();
    const id = await expired(queue, type);
    await db.engine.retry(2, { ids: [id] });
    const first = await claimOne(db, queue);
    expect(first).toMatchObject({ id, attempt: 1, maxAttempts: 2 });
    await db.engine.retryLater(first, { message: "no" }, 0);
    expect(await attemptsLeft(queue, id)).toBe(1);
  });

  it("renews the expiry from the job's own options [#133]", async () => {
    const queue = await newQueue(db);
    const type = newType();
    const id = await expired(queue, type, { ttlSeconds: 10 });
    await db.moveClock(3600);
    await db.engine.retry(1, { ids: [id] });
    const job = await jobOf(db, id);
    expect(job.state).toBe("ready");
    expect((job.expiresAt!.getTime() - job.updatedAt.getTime()) / 1000).toBeCloseTo(10, 1);
    await db.moveClock(9);
    expect((await claimOne(db, queue)).id).toBe(id);
  });

  it("renews it by its length also for a job whose run time lay in the past [#133]", async () => {
    const queue = await newQueue(db);
    const type = newType();
    const id = await expired(queue, type, { ttlSeconds: 10, runAt: new Date("2024-01-01T00:00:00Z") });
    await db.engine.retry(1, { ids: [id] });
    const job = await jobOf(db, id);
    expect((job.expiresAt!.getTime() - job.updatedAt.getTime()) / 1000).toBeCloseTo(10, 1);
  });

  it("lets the job expire again when it is not started in time, also by the sweep [#133] [#137]", async () => {
    const queue = await newQueue(db);
    const type = newType();
    const id = await expired(queue, type);
    await db.engine.retry(1, { ids: [id] });
    await db.moveClock(10);
    await db.engine.maintain();
    expect((await jobOf(db, id)).state).toBe("expired");
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 0, delayed: 0 });
    expect(await claimAll(db, queue)).toEqual([]);
  });

  it("includes jobs that have expired but were not swept yet [#133]", async () => {
    const queue = await newQueue(db);
    const type = newType();
    const { id } = await db.engine.enqueue({ type, queue, ttlSeconds: 10 });
    await db.moveClock(10);
    expect((await jobOf(db, id)).state).toBe("expired");
    expect(await db.engine.retry(1, { type })).toBe(1);
    expect(await claimOne(db, queue)).toMatchObject({ id });
  });

  it("wins over a claim that is passing the job's old place in line [#133] [#101]", async () => {
    const queue = await newQueue(db);
    const type = newType();
    const id = await expired(queue, type);
    const cursor = await db.connect();
    await cursor.query("begin");
    await cursor.query("select from lane_cursor for update");
    const claim = db.engine.claim({ queues: [queue], types: [type] });
    await waitersOf(db, cursor, 1);
    const added = db.engine.retry(1, { ids: [id] });
    await waitersOf(db, cursor, 1);
    await cursor.query("commit");
    expect(await added).toBe(1);
    const job = (await claim)[0] ?? (await claimOne(db, queue));
    expect(job.id).toBe(id);
    await db.engine.complete(job);
    expect((await jobOf(db, id)).state).toBe("succeeded");
  });

  it("can be confined to one queue [#133]", async () => {
    const [here, there] = [await newQueue(db), await newQueue(db)];
    const type = newType();
    const id = await exhausted(here, type);
    const other = await exhausted(there, type);
    expect(await db.engine.retry(1, { type, queue: here })).toBe(1);
    expect((await jobOf(db, id)).state).toBe("ready");
    expect((await jobOf(db, other)).state).toBe("failed");
  });

  it("works once: a second call finds nothing to revive [#133]", async () => {
    const queue = await newQueue(db);
    const type = newType();
    const id = await exhausted(queue, type);
    const counts = await Promise.all(Array.from({ length: 5 }, () => db.engine.retry(1, { ids: [id] })));
    expect(counts.reduce((a, b) => a + b)).toBe(1);
    expect(await claimAll(db, queue)).toHaveLength(1);
  });

  it("works again after the job has failed again [#133]", async () => {
    const queue = await newQueue(db);
    const type = newType();
    const id = await exhausted(queue, type);
    for (let round = 2; round <= 4; round += 1) {
      expect(await db.engine.retry(1, { ids: [id] })).toBe(1);
      const job = await claimOne(db, queue);
      expect(job).toMatchObject({ id, attempt: round, maxAttempts: round });
      await db.engine.retryLater(job, { message: "no" });
    }
  });

  it.each([0, -1, 1.5, Number.NaN])("refuses %d attempts, and revives nothing [#133]", async (n) => {
    const queue = await newQueue(db);
    const type = newType();
    const id = await exhausted(queue, type);
    await expect(db.engine.retry(n, { type })).rejects.toMatchObject(invalidArgument);
    await expect(db.engine.retry(n, { ids: [id] })).rejects.toMatchObject(invalidArgument);
    expect((await jobOf(db, id)).state).toBe("failed");
  });

  it("refuses an id that names no job [#133]", async () => {
    await expect(db.engine.retry(1, { ids: ["1"] })).rejects.toMatchObject(jobNotFound);
  });
});
