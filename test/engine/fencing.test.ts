import { describe, expect, it } from "vitest";
import type { ClaimedJob } from "../../src/db/types.js";
import { clockNow } from "../support/clock.js";
import { useDatabase } from "../support/database.js";
import { claimOne, jobOf, newQueue } from "../support/jobs.js";
import { claimAll, leaseLost } from "../support/steps.js";

const db = useDatabase();

/** A claims the job, its lease ends, B gets it. */
async function takenOver(): Promise<{ queue: string; a: ClaimedJob; b: ClaimedJob }> {
  const queue = await newQueue(db);
  await db.engine.enqueue({ type: "t", queue, input: "work" });
  const a = await claimOne(db, queue, { worker: "A", leaseSeconds: 10 });
  await db.moveClock(10);
  const b = await claimOne(db, queue, { worker: "B", leaseSeconds: 60 });
  expect(b).toMatchObject({ id: a.id, attempt: 2, input: "work" });
  return { queue, a, b };
}

describe("a lease that another worker has now", () => {
  it.each([
    ["complete", (a: ClaimedJob) => db.engine.complete(a, "late")],
    ["fail", (a: ClaimedJob) => db.engine.fail(a, { message: "late" })],
    ["retry", (a: ClaimedJob) => db.engine.retryLater(a, { message: "late" }, 0)],
    ["release", (a: ClaimedJob) => db.engine.release(a)],
    ["dead-letter", (a: ClaimedJob) => db.engine.deadLetter(a, "default")],
    ["start", (a: ClaimedJob) => db.engine.start(a)],
    ["save progress", (a: ClaimedJob) => db.engine.progressPut(a, { step: "late" })],
    ["change its visibility", (a: ClaimedJob) => db.engine.setVisibility(a, 600)],
  ])("refuses the first holder's attempt to %s, and changes nothing [#96]", async (_, act) => {
    const { a, b } = await takenOver();
    await db.engine.progressPut(b, { step: 1 });
    const before = await db.engine.get(a.id);
    await expect(act(a)).rejects.toMatchObject({ ...leaseLost, jobIds: [a.id] });
    expect(await db.engine.get(a.id)).toEqual(before);
    await db.engine.complete(b, "mine");
    expect(await jobOf(db, a.id)).toMatchObject({ state: "succeeded", result: "mine", attempts: 2, worker: "B" });
  });

  it("leaves the first holder's token out when it extends, and B's lease as it is [#96]", async () => {
    const { a, b } = await takenOver();
    expect([...(await db.engine.claimExtend([a.token], 3600)).keys()]).toEqual([]);
    expect((await jobOf(db, a.id)).leaseEndsAt).toEqual(b.leaseEndsAt);
    expect([...(await db.engine.claimExtend([a.token, b.token], 3600)).keys()]).toEqual([b.token]);
  });

  it("names the lost job in a batch and records the rest [#96]", async () => {
    const { queue, a, b } = await takenOver();
    await db.engine.enqueue({ type: "t", queue, input: "other" });
    const other = await claimOne(db, queue);
    const { refused } = await db.engine.settle([
      { token: a.token, outcome: "succeeded", jobs: [a.id], results: ["late"] },
      { token: other.token, outcome: "succeeded", jobs: [other.id], results: ["fine"] },
    ]);
    expect(refused).toEqual([a.id]);
    expect((await jobOf(db, other.id)).state).toBe("succeeded");
    expect(await jobOf(db, b.id)).toMatchObject({ state: "running", worker: "B" });
  });

  it("is a return value in SQL, so the caller's transaction goes on [#96]", async () => {
    const { a } = await takenOver();
    const tx = await db.connect();
    await tx.query("begin");
    await tx.query("create table public.effects (n int)");
    await expect(db.engine.complete(a, "late", { tx })).rejects.toMatchObject(leaseLost);
    await tx.query("insert into public.effects values (1)");
    await tx.query("commit");
    expect(await db.sql("select n from public.effects")).toEqual([{ n: 1 }]);
  });

  it("is told in SQL also when the report names no ids [#96]", async () => {
    const { a } = await takenOver();
    for (const verb of ["job_complete", "job_fail", "job_retry_later", "job_release"]) {
      const told = await db.sql(`select ${verb}($1) as refused`, [a.token]).then(
        ([row]) => row!["refused"] as unknown,
        (error: unknown) => error,
      );
      expect(told, verb).not.toEqual([]);
    }
  });

  it("stays refused after B has finished and after the job came back to life [#96]", async () => {
    const { a, b } = await takenOver();
    await db.engine.fail(b, { message: "no" });
    await expect(db.engine.complete(a)).rejects.toMatchObject(leaseLost);
    await db.engine.retry(1, { ids: [a.id] });
    await expect(db.engine.complete(a)).rejects.toMatchObject(leaseLost);
    await expect(db.engine.complete(b)).rejects.toMatchObject(leaseLost);
    expect((await jobOf(db, a.id)).state).toBe("ready");
  });
});

describe("a lease that ended but that nobody took", () => {
  it("still accepts its holder's success [#97]", async () => {
    const queue = await newQueue(db);
    const { id } = await db.engine.enqueue({ type: "t", queue });
    const job = await claimOne(db, queue, { leaseSeconds: 10 });
    await db.moveClock(3600);
    expect(await jobOf(db, id)).toMatchObject({ state: "running", leaseEnded: true });
    await db.engine.complete(job, "late but first");
    expect(await jobOf(db, id)).toMatchObject({ state: "succeeded", result: "late but first", attempts: 1 });
    expect(await claimAll(db, queue)).toEqual([]);
  });

  it("can still be extended and then belongs to its holder again [#97]", async () => {
    const queue = await newQueue(db);
    await db.engine.enqueue({ type: "t", queue });
    const job = await claimOne(db, queue, { leaseSeconds: 10 });
    await db.moveClock(11);
    expect((await db.engine.claimExtend([job.token], 30)).get(job.token)?.jobIds).toEqual([job.id]);
    expect(await claimAll(db, queue)).toEqual([]);
    await db.engine.complete(job);
  });

  it("is lost once the sweep has closed it, even if nobody claimed the job since [#97]", async () => {
    const queue = await newQueue(db);
    await db.engine.enqueue({ type: "t", queue });
    const job = await claimOne(db, queue, { leaseSeconds: 10 });
    await db.moveClock(10);
    await db.engine.maintain();
    await expect(db.engine.complete(job)).rejects.toMatchObject(leaseLost);
    expect((await jobOf(db, job.id)).state).toBe("ready");
  });

  it("is decided once when the holder's report and the sweep meet [#97]", async () => {
    const queue = await newQueue(db);
    for (let round = 0; round < 20; round += 1) {
      const { id } = await db.engine.enqueue({ type: "t", queue, maxAttempts: 1 });
      const job = await claimOne(db, queue, { leaseSeconds: 10 });
      await db.moveClock(10);
      const [report] = await Promise.allSettled([db.engine.complete(job), db.engine.maintain(), db.engine.maintain()]);
      expect((await jobOf(db, id)).state).toBe(report.status === "fulfilled" ? "succeeded" : "failed");
    }
  });
});

describe("jobs running past their lease", () => {
  it("are claimed before younger ready ones once a sweep has passed [#94]", async () => {
    const queue = await newQueue(db);
    for (const input of ["old", "young"]) await db.engine.enqueue({ type: "t", queue, input });
    await claimOne(db, queue, { leaseSeconds: 10 });
    await db.moveClock(10);
    await db.engine.maintain();
    expect((await claimAll(db, queue)).map((job) => [job.input, job.attempt])).toEqual([
      ["old", 2],
      ["young", 1],
    ]);
  });

  it("are claimed before younger ready ones with no sweep at all [#94]", async () => {
    const queue = await newQueue(db);
    for (const input of ["old", "young", "youngest"]) await db.engine.enqueue({ type: "t", queue, input });
    await claimOne(db, queue, { leaseSeconds: 10 });
    await db.moveClock(10);
    expect((await claimAll(db, queue)).map((job) => job.input)).toEqual(["old", "young", "youngest"]);
  });

  it("go by priority like ready ones [#94]", async () => {
    const queue = await newQueue(db);
    await db.engine.enqueue({ type: "t", queue, priority: 7, input: "calm" });
    await claimOne(db, queue, { leaseSeconds: 10 });
    await db.engine.enqueue({ type: "t", queue, priority: 1, input: "urgent" });
    await db.moveClock(10);
    await db.engine.maintain();
    expect((await claimAll(db, queue)).map((job) => job.input)).toEqual(["urgent", "calm"]);
  });

  it("count against the limit of a claim, and only go to workers that handle their type [#94]", async () => {
    const queue = await newQueue(db);
    await db.engine.enqueueMany("a", [1, 2, 3], { queue });
    expect(await db.engine.claim({ queues: [queue], limit: 3, leaseSeconds: 10 })).toHaveLength(3);
    await db.moveClock(10);
    await db.engine.maintain();
    expect(await db.engine.claim({ queues: [queue], types: ["b"], limit: 3 })).toEqual([]);
    expect(await db.engine.claim({ queues: [queue], types: ["a"], limit: 1 })).toHaveLength(1);
    expect((await claimAll(db, queue)).map((job) => [job.input, job.attempt])).toEqual([
      [2, 2],
      [3, 2],
    ]);
  });

  it("wait while their queue is paused [#94]", async () => {
    const queue = await newQueue(db);
    await db.engine.enqueue({ type: "t", queue });
    await claimOne(db, queue, { leaseSeconds: 10 });
    await db.engine.queuePause(queue);
    await db.moveClock(10);
    expect(await claimAll(db, queue)).toEqual([]);
    await db.engine.queueResume(queue);
    expect((await claimOne(db, queue)).attempt).toBe(2);
  });

  it("use up their attempts, and the cap applies: the last one lost leaves the job failed (lost) [#94] [#136]", async () => {
    const queue = await newQueue(db);
    const { id } = await db.engine.enqueue({ type: "t", queue, maxAttempts: 3 });
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      expect(await claimOne(db, queue, { leaseSeconds: 10 })).toMatchObject({ id, attempt });
      await db.moveClock(10);
    }
    expect(await claimAll(db, queue)).toEqual([]);
    expect(await jobOf(db, id)).toMatchObject({ state: "failed", reason: "lost", attempts: 3 });
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 0, delayed: 0, running: 0 });
  });

  it("go alone also when they were given back since, now or later, and others go as they went [#134]", async () => {
    const queue = await newQueue(db);
    const { id } = await db.engine.enqueue({ type: "t", queue });
    await claimOne(db, queue, { leaseSeconds: 10 });
    await db.moveClock(10);
    for (const delaySeconds of [0, 5]) {
      const suspect = await claimOne(db, queue);
      expect(suspect).toMatchObject({ id, attempt: 2, alone: true });
      await db.engine.release(suspect, delaySeconds);
      await db.moveClock(delaySeconds);
    }
    const failing = await claimOne(db, queue);
    expect(failing).toMatchObject({ id, attempt: 2, alone: true });
    await db.engine.retryLater(failing, { message: "not lost" });
    await db.moveClock(60);
    const third = await claimOne(db, queue);
    expect(third).toMatchObject({ id, attempt: 3, alone: false });
    await db.engine.release(third);
    expect(await claimOne(db, queue)).toMatchObject({ id, attempt: 3, alone: false });
  });

  it("end failed (lost) by the sweep alone when no worker claims any more [#136]", async () => {
    const queue = await newQueue(db);
    const { id } = await db.engine.enqueue({ type: "t", queue, maxAttempts: 1 });
    await claimOne(db, queue, { leaseSeconds: 10 });
    await db.moveClock(10);
    await db.engine.maintain();
    const job = await jobOf(db, id);
    expect(job).toMatchObject({ state: "failed", reason: "lost", attempts: 1 });
    expect(job.finishedAt!.getTime()).toBeLessThanOrEqual((await clockNow(db)).getTime());
    expect((await db.engine.get(id))?.attempts).toMatchObject([
      { attempt: 1, outcome: "lost", finalState: "failed", reason: "lost" },
    ]);
  });
});
