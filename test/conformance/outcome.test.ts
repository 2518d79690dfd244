import { describe, expect, it } from "vitest";
import { JobNotFoundError, LeaseLostError } from "../../src/db/errors.js";
import { useDatabase } from "../support/database.js";
import { claimIds, claimOne, enqueue, jobOf, newQueue } from "../support/jobs.js";

const db = useDatabase();
const farLater = 400 * 86_400;

describe("success", () => {
  it("ends the job for good: no claim ever returns it again [#5]", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue);
    await db.engine.complete(await claimOne(db, queue));
    expect(await jobOf(db, id)).toMatchObject({ state: "succeeded", attempts: 1, finishedAt: expect.any(Date) });
    expect(await claimIds(db, queue)).toEqual([]);
    await db.moveClock(farLater);
    await db.engine.maintain();
    expect(await claimIds(db, queue)).toEqual([]);
    expect((await jobOf(db, id)).state).toBe("succeeded");
  });

  it.each([
    ["an object", { width: 3, nested: { list: [1, null, "ü", "9007199254740993"] } }],
    ["a list", [1, "two", { three: 3 }]],
    ["a string", "done"],
    ["a number", 0],
    ["false", false],
    ["nothing", undefined],
  ])("keeps its result, %s, to be read by id [#26]", async (_, result) => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue);
    await db.engine.complete(await claimOne(db, queue), result);
    expect(await jobOf(db, id)).toMatchObject({ state: "succeeded", result: result ?? null });
  });

  it("gives each job of a claim its own result [#26]", async () => {
    const queue = await newQueue(db);
    const ids = (await db.engine.enqueueMany("work", [1, 2, 3], { queue })).map((job) => job.id);
    const [first] = await db.engine.claim({ queues: [queue], limit: 3 });
    await db.engine.completeMany(first!.token, [ids[2]!, ids[0]!, ids[1]!], ["third", "first", "second"]);
    expect(await Promise.all(ids.map(async (id) => (await jobOf(db, id)).result))).toEqual([
      "first",
      "second",
      "third",
    ]);
  });
});

describe("failure", () => {
  it("reported as permanent on attempt 1 of 25 is final at once, with its reason [#6]", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue);
    await db.engine.fail(await claimOne(db, queue), { message: "invalid input", code: "E42" });
    expect(await jobOf(db, id)).toMatchObject({
      state: "failed",
      reason: "permanent",
      attempts: 1,
      maxAttempts: 25,
      lastError: { message: "invalid input", code: "E42" },
    });
    await db.moveClock(farLater);
    await db.engine.maintain();
    expect(await claimIds(db, queue)).toEqual([]);
  });

  it("keeps the finish time, the message and the stack [#27]", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue);
    const job = await claimOne(db, queue);
    const { message, stack } = new Error("out of paper");
    await db.moveClock(5);
    await db.engine.fail(job, { message, stack: stack! });
    const failed = await jobOf(db, id);
    expect(failed).toMatchObject({ state: "failed", lastError: { message, stack } });
    expect(failed.finishedAt!.getTime() - job.claimedAt.getTime()).toBeGreaterThanOrEqual(5000);
    expect((await db.engine.get(id))?.attempts).toMatchObject([
      { attempt: 1, outcome: "failed", error: { message, stack } },
    ]);
  });

  it("is final after the last attempt, and the last attempt knows that it is [#17]", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue, { maxAttempts: 3, retry: 10 });
    const isLast: boolean[] = [];
    for (let call = 0; call < 10; call += 1) {
      const [job] = await db.engine.claim({ queues: [queue] });
      if (job) {
        isLast.push(job.attempt === job.maxAttempts);
        await db.engine.retryLater(job, { message: `call ${job.attempt}` });
      }
      await db.moveClock(11);
    }
    expect(isLast).toEqual([false, false, true]);
    expect(await jobOf(db, id)).toMatchObject({
      state: "failed",
      reason: "exhausted",
      attempts: 3,
      lastError: { message: "call 3" },
    });
  });
});

describe("attempts", () => {
  it("are 0 before the first delivery, then exactly the deliveries, crashed ones included [#16]", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue, { retry: 1 });
    expect((await jobOf(db, id)).attempts).toBe(0);
    const deliver = async (attempt: number) => {
      const job = await claimOne(db, queue, { leaseSeconds: 10 });
      expect(job.attempt).toBe(attempt);
      expect((await jobOf(db, id)).attempts).toBe(attempt);
      return job;
    };
    await deliver(1);
    await db.moveClock(11); // crashed
    await db.engine.retryLater(await deliver(2), { message: "transient" });
    expect((await jobOf(db, id)).attempts).toBe(2);
    await db.moveClock(2);
    await deliver(3);
    await db.moveClock(11); // crashed
    await db.engine.maintain();
    expect((await jobOf(db, id)).attempts).toBe(3);
    await db.engine.complete(await deliver(4));
    expect(await jobOf(db, id)).toMatchObject({ state: "succeeded", attempts: 4 });
  });

  it("are not used by giving the job back unharmed [#16]", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue);
    await db.engine.release(await claimOne(db, queue));
    expect((await jobOf(db, id)).attempts).toBe(0);
    expect((await claimOne(db, queue)).attempt).toBe(1);
  });

  it("without a limit go on past 32,767, until success [#55]", async () => {
    const queue = await newQueue(db);
    const id = await unlimitedAt(queue, 32_766);
    for (let attempt = 32_766; attempt <= 32_770; attempt += 1) {
      const job = await claimOne(db, queue);
      expect(job).toMatchObject({ id, attempt, maxAttempts: Infinity });
      if (attempt < 32_770) await db.engine.retryLater(job, { message: "again" });
      else await db.engine.complete(job);
      await db.moveClock(3600 * 1.2); // the default policy waits an hour at most, give or take a tenth
    }
    expect(await jobOf(db, id)).toMatchObject({ state: "succeeded", attempts: 32_770, maxAttempts: Infinity });
  });

  it("without a limit end with a permanent failure, a cancel or expiry [#55]", async () => {
    const queue = await newQueue(db);
    const failing = await unlimitedAt(queue, 40_000);
    await db.engine.fail(await claimOne(db, queue));
    const cancelled = await unlimitedAt(queue, 40_000);
    await claimOne(db, queue);
    await db.engine.cancel([cancelled]);
    const expiring = await unlimitedAt(queue, 40_000, 120);
    await db.engine.retryLater(await claimOne(db, queue), undefined, 600);
    expect(await Promise.all([failing, cancelled, expiring].map(async (id) => (await jobOf(db, id)).state))).toEqual([
      "failed",
      "cancelled",
      "expired",
    ]);
    await db.moveClock(farLater);
    expect(await claimIds(db, queue)).toEqual([]);
  });

  it("are limited unless somebody asks otherwise [#55]", async () => {
    const queue = await newQueue(db);
    expect((await jobOf(db, await enqueue(db, queue))).maxAttempts).toBe(25);
  });

  /** A job without a limit that is about to be claimed for the n-th time; walking there would take minutes. */
  async function unlimitedAt(queue: string, attempt: number, ttlSeconds?: number): Promise<string> {
    const id = await enqueue(db, queue, { maxAttempts: Infinity, ...(ttlSeconds ? { ttlSeconds } : {}) });
    await db.engine.retryLater(await claimOne(db, queue), undefined, 60);
    await db.sql("update agenda set attempt = $2 where job_id = $1", [id, attempt]);
    await db.sql("update attempt set attempt = $2 where job_id = $1", [id, attempt - 1]);
    await db.moveClock(61);
    return id;
  }
});

describe("an outcome", () => {
  it("reported twice changes nothing, and the caller is told [#29]", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue);
    const job = await claimOne(db, queue);
    await db.engine.complete(job, "first");
    const before = await db.engine.get(id);
    await db.moveClock(1);
    await expect(db.engine.complete(job, "second")).rejects.toThrow(LeaseLostError);
    await expect(db.engine.fail(job, { message: "no" })).rejects.toThrow(LeaseLostError);
    await expect(db.engine.retryLater(job)).rejects.toThrow(LeaseLostError);
    await expect(db.engine.release(job)).rejects.toThrow(LeaseLostError);
    expect(await db.engine.completeMany(job.token, [id])).toEqual([id]);
    expect(await db.engine.get(id)).toEqual(before);
  });

  it("from an older token is refused [#29]", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue);
    const older = await claimOne(db, queue, { leaseSeconds: 10 });
    await db.moveClock(11);
    const newer = await claimOne(db, queue);
    const before = await db.engine.get(id);
    await expect(db.engine.fail(older, { message: "late" })).rejects.toThrow(LeaseLostError);
    await expect(db.engine.complete(older)).rejects.toThrow(LeaseLostError);
    expect(await db.engine.get(id)).toEqual(before);
    await db.engine.complete(newer, "newer");
    expect(await jobOf(db, id)).toMatchObject({ state: "succeeded", result: "newer" });
  });

  it("from another job's token is refused, and that token keeps its own job [#29]", async () => {
    const queue = await newQueue(db);
    await enqueue(db, queue);
    await enqueue(db, queue);
    const mine = await claimOne(db, queue);
    const other = await claimOne(db, queue);
    await expect(db.engine.fail({ id: mine.id, token: other.token })).rejects.toThrow(LeaseLostError);
    await expect(db.engine.fail({ id: mine.id, token: "00000000-0000-4000-8000-000000000000" })).rejects.toThrow(
      LeaseLostError,
    );
    expect((await jobOf(db, mine.id)).state).toBe("running");
    await db.engine.complete(mine);
    await db.engine.complete(other);
  });

  it("for an unknown id is a typed not-found error [#29]", async () => {
    const queue = await newQueue(db);
    await enqueue(db, queue);
    const job = await claimOne(db, queue);
    const unknown = { id: "1", token: job.token };
    await expect(db.engine.complete(unknown)).rejects.toThrow(JobNotFoundError);
    await expect(db.engine.fail(unknown)).rejects.toThrow(JobNotFoundError);
    await expect(db.engine.retryLater(unknown)).rejects.toThrow(JobNotFoundError);
    await expect(db.engine.release(unknown)).rejects.toThrow(JobNotFoundError);
    await expect(db.engine.cancel(["1"])).rejects.toThrow(JobNotFoundError);
    expect((await jobOf(db, job.id)).state).toBe("running");
  });
});
