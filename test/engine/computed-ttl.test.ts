import { describe, expect, it } from "vitest";
import type { EnqueueOptions, JobRecord } from "../../src/db/types.js";
import { useDatabase } from "../support/database.js";
import { claimOne, enqueue, jobOf, newQueue } from "../support/jobs.js";
import { claimAll, invalidArgument, leaseLost } from "../support/steps.js";

const db = useDatabase();
const options = {
  ttlSeconds: "computed",
  maxAttempts: 4,
  attemptTimeoutSeconds: 10,
  retry: 5,
} as const satisfies EnqueueOptions;

/** How long after its first claim the job must have ended. */
const lengthOf = ({ expiresAt }: JobRecord, claimedAt: Date): number =>
  (expiresAt!.getTime() - claimedAt.getTime()) / 1000;

async function firstFailure(queue: string, more: EnqueueOptions = {}): Promise<{ id: string; claimedAt: Date }> {
  const id = await enqueue(db, queue, { ...options, ...more });
  const job = await claimOne(db, queue);
  await db.engine.retryLater(job, { message: "no" });
  return { id, claimedAt: job.claimedAt };
}

describe("a computed time to live", () => {
  it.each([
    [55, "4 attempts of 10 s, 5 s apart", {}],
    [700, "4 attempts of 10 s, delays [60, 300]", { retry: [60, 300] }],
    [10, "1 attempt of 10 s, had it been retried", { maxAttempts: 1 }],
    [40 + 1 + 2 + 4, "exponential delays", { retry: { base: 1, factor: 2, jitter: 0 } }],
    [40 + 1.5 * (10 + 20 + 25), "jitter at its longest", { retry: { base: 10, factor: 2, cap: 25, jitter: 0.5 } }],
  ])("is %d s for %s [#138]", async (seconds, _, more) => {
    const { retry, maxAttempts, attemptTimeoutSeconds } = { ...options, ...more } as {
      retry: unknown;
      maxAttempts: number;
      attemptTimeoutSeconds: number;
    };
    const [row] = await db.sql("select ttl_computed($1::jsonb, 1, $2, $3) as seconds", [
      JSON.stringify(retry),
      maxAttempts,
      attemptTimeoutSeconds * 1000,
    ]);
    expect(row!["seconds"]).toBeCloseTo(seconds, 6);
    if (maxAttempts === 1) return;
    const { id, claimedAt } = await firstFailure(await newQueue(db), more);
    const job = await jobOf(db, id);
    expect(lengthOf(job, claimedAt)).toBeCloseTo(seconds, 2);
    expect(job.deadline).toEqual(job.expiresAt);
  });

  it("follows the delays of the type and the queue when the job has none of its own [#138]", async () => {
    const queue = await newQueue(db, { retry: [60, 300], attemptTimeoutSeconds: 10, maxAttempts: 4 });
    const id = await enqueue(db, queue, { ttlSeconds: "computed" });
    const job = await claimOne(db, queue);
    await db.engine.retryLater(job, { message: "no" });
    expect(lengthOf(await jobOf(db, id), job.claimedAt)).toBeCloseTo(700, 2);
  });

  it("is the deadline that later attempts are told [#138]", async () => {
    const queue = await newQueue(db);
    const { id } = await firstFailure(queue, {});
    await db.moveClock(6);
    const again = await claimOne(db, queue);
    expect(again).toMatchObject({ id, attempt: 2, deadline: (await jobOf(db, id)).deadline });
  });

  it("is not used up by waiting: the job starts whenever somebody takes it, and has its whole time then [#138]", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue, options);
    expect((await jobOf(db, id)).expiresAt).toBeNull();
    await db.moveClock(1e6);
    await db.engine.maintain();
    const job = await claimOne(db, queue);
    expect(job).toMatchObject({ id, attempt: 1 });
    await db.engine.release(job); // back unharmed, as if nobody had taken it
    await db.moveClock(1e6);
    await db.engine.maintain();
    const again = await claimOne(db, queue);
    await db.engine.retryLater(again, { message: "no" });
    expect(lengthOf(await jobOf(db, id), again.claimedAt)).toBeCloseTo(55, 2);
  });

  it("is enough for all attempts when each takes its timeout and is taken at once [#138]", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue, { ...options, attemptTimeoutSeconds: 11 });
    for (let attempt = 1; attempt <= 4; attempt += 1) {
      const job = await claimOne(db, queue, { leaseSeconds: 60 });
      expect(job).toMatchObject({ id, attempt });
      await db.moveClock(10); // and less than a second of the test's own time
      await db.engine.retryLater(job, { message: "timeout" });
      await db.moveClock(5);
      await db.engine.maintain();
    }
    expect(await jobOf(db, id)).toMatchObject({ state: "failed", reason: "exhausted", attempts: 4 });
  });

  it("ends the job as expired when the next attempt would start too late [#138]", async () => {
    const queue = await newQueue(db);
    const { id } = await firstFailure(queue);
    await db.moveClock(48);
    const second = await claimOne(db, queue, { leaseSeconds: 60 });
    await db.moveClock(3);
    await db.engine.retryLater(second, { message: "slow" });
    expect(await jobOf(db, id)).toMatchObject({ state: "expired", attempts: 2, lastError: { message: "slow" } });
    expect(await claimAll(db, queue)).toEqual([]);
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 0, delayed: 0, running: 0 });
  });

  it("ends it already after the first attempt when that took too long, or asked for too long a delay [#138]", async () => {
    const queue = await newQueue(db);
    const slow = await enqueue(db, queue, options);
    await claimOne(db, queue, { leaseSeconds: 55 });
    const patient = await enqueue(db, queue, options);
    await db.engine.retryLater(await claimOne(db, queue), { message: "come back later" }, 56);
    await db.moveClock(55);
    await db.engine.maintain(); // the lease has ended: lost
    for (const id of [slow, patient]) expect(await jobOf(db, id)).toMatchObject({ state: "expired", attempts: 1 });
    expect(await claimAll(db, queue)).toEqual([]);
  });

  it("ends it while it waits for the next attempt and nobody takes it [#138]", async () => {
    const queue = await newQueue(db);
    const { id } = await firstFailure(queue);
    await db.moveClock(54);
    expect((await jobOf(db, id)).state).toBe("ready");
    await db.moveClock(1);
    expect(await claimAll(db, queue)).toEqual([]);
    await db.engine.maintain();
    expect(await jobOf(db, id)).toMatchObject({ state: "expired", attempts: 1, finishedAt: expect.any(Date) });
  });

  it("ends it while it runs again: its holder is told, its late success refused [#138]", async () => {
    const queue = await newQueue(db);
    const { id } = await firstFailure(queue);
    await db.moveClock(50);
    const second = await claimOne(db, queue, { leaseSeconds: 600 });
    await db.moveClock(5);
    await db.engine.maintain();
    expect(await jobOf(db, id)).toMatchObject({ state: "expired", attempts: 2 });
    expect((await db.engine.claimExtend([second.token])).get(second.token)).toBeUndefined();
    await expect(db.engine.complete(second)).rejects.toMatchObject(leaseLost);
  });

  it("lets a permanent failure and exhausted attempts be what they are [#138]", async () => {
    const queue = await newQueue(db);
    const permanent = await enqueue(db, queue, options);
    await db.engine.fail(await claimOne(db, queue));
    const exhausted = await enqueue(db, queue, { ...options, maxAttempts: 1 });
    await db.engine.retryLater(await claimOne(db, queue));
    expect(await jobOf(db, permanent)).toMatchObject({ state: "failed", reason: "permanent" });
    expect(await jobOf(db, exhausted)).toMatchObject({ state: "failed", reason: "exhausted" });
  });

  it("begins anew with added retries, for as many attempts as were added [#138] [#133]", async () => {
    const queue = await newQueue(db);
    const { id } = await firstFailure(queue);
    await db.moveClock(100);
    await db.engine.maintain();
    expect((await jobOf(db, id)).state).toBe("expired");
    await db.engine.retry(2, { ids: [id] });
    expect(await jobOf(db, id)).toMatchObject({ state: "ready", expiresAt: null, deadline: null });
    await db.moveClock(1e6);
    const job = await claimOne(db, queue);
    expect(job).toMatchObject({ id, attempt: 2, maxAttempts: 3 });
    await db.engine.retryLater(job, { message: "no" });
    expect(lengthOf(await jobOf(db, id), job.claimedAt)).toBeCloseTo(2 * 10 + 5, 2);
  });

  it("holds for jobs enqueued in any way, debounced ones and follow-ups too [#138]", async () => {
    const queue = await newQueue(db);
    await db.engine.enqueueMany("many", [1], { queue, ...options });
    await db.engine.enqueueEach([{ type: "each", queue, ...options }]);
    await enqueue(db, queue, { type: "debounced", fingerprint: "d", ...options });
    await enqueue(db, queue, { type: "debounced", fingerprint: "d", fingerprintMode: "debounce", ...options });
    await enqueue(db, queue, { type: "first", fingerprint: "f" });
    const first = await claimOne(db, queue, { types: ["first"] });
    await enqueue(db, queue, { type: "follow-up", fingerprint: "f", fingerprintMode: "followUp", ...options });
    await db.engine.complete(first);
    await db.moveClock(1);
    await db.engine.maintain();
    for (const type of ["many", "each", "debounced", "follow-up"]) {
      const job = await claimOne(db, queue, { types: [type] });
      await db.engine.retryLater(job, { message: "no" });
      expect(lengthOf(await jobOf(db, job.id), job.claimedAt), type).toBeCloseTo(55, 2);
    }
  });

  it("shows no expiry, to nobody, before the first claim has ended [#138]", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue, options);
    await claimOne(db, queue);
    expect(await jobOf(db, id)).toMatchObject({ state: "running", expiresAt: null, deadline: null });
    expect(await db.engine.list({ queue })).toMatchObject([{ expiresAt: null }]);
  });

  it.each([
    ["no attempt timeout", { attemptTimeoutSeconds: undefined }],
    ["no limit of attempts", { maxAttempts: Infinity }],
    ["a deadline", { deadline: "2100-01-01T00:00:00Z" }],
    ["an expiry of its own", { expiresAt: "2100-01-01T00:00:00Z" }],
    ["another word", { ttlSeconds: "forever" }],
    ["no number", { ttlSeconds: "Infinity" }],
  ])("is refused with %s [#138]", async (_, more) => {
    const job = { type: "t", ...options, ...more } as never;
    await expect(db.engine.enqueue(job)).rejects.toMatchObject(invalidArgument);
    await expect(db.engine.enqueueEach([job])).rejects.toMatchObject(invalidArgument);
  });

  it("is a job's own, not a default of queues and types, which know no attempt timeout of their jobs [#138]", async () => {
    await expect(db.engine.queuePut("q", { ttlSeconds: "computed" as never })).rejects.toMatchObject(invalidArgument);
  });
});
