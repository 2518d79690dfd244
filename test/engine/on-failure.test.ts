import { describe, expect, it } from "vitest";
import type { ClaimedJob, PauseRecord, QueueRecord } from "../../src/db/types.js";
import { useDatabase } from "../support/database.js";
import { claimIds, claimOne, enqueue, newQueue, stateOf } from "../support/jobs.js";
import { crossed, invalidArgument } from "../support/steps.js";

/**
 * Of its own, because a queue finishes only when transactions of the whole server that may have enqueued have ended.
 */
const db = useDatabase({ ownServer: true });

async function queueOf(name: string): Promise<QueueRecord> {
  return (await db.engine.queues()).find((queue) => queue.name === name)!;
}

async function pausesOf(name: string): Promise<PauseRecord[]> {
  return (await db.engine.pauses()).filter(({ queue }) => queue === name);
}

describe("a queue with onFailure pause", () => {
  it("is paused when a job fails for good, with the job and its error as the reason, and later jobs wait [#155]", async () => {
    const queue = await newQueue(db, { onFailure: "pause", maxRunning: 1 });
    const ids = [await enqueue(db, queue), await enqueue(db, queue), await enqueue(db, queue)];
    await db.engine.fail(await claimOne(db, queue), { message: "no such account" });
    const because = `job ${ids[0]} failed: no such account`;
    expect(await queueOf(queue)).toMatchObject({ state: "paused", pausedBy: "millrace", pausedBecause: because });
    expect(await pausesOf(queue)).toMatchObject([{ type: null, group: null, jobId: ids[0], pausedBecause: because }]);
    expect((await db.engine.queueEvents()).events.filter((event) => event.queue === queue)).toMatchObject([
      { event: "paused", by: "millrace", because, jobId: ids[0] },
    ]);
    expect(await claimIds(db, queue)).toEqual([]);
    expect(await stateOf(db, ids[1]!)).toBe("blocked");
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 0, blocked: 2 });
    expect(await enqueue(db, queue)).toEqual(expect.any(String));
  });

  it("goes on with the failed job first, when it is retried and the queue resumed [#155]", async () => {
    const queue = await newQueue(db, { onFailure: "pause", maxRunning: 1 });
    const ids = [await enqueue(db, queue), await enqueue(db, queue), await enqueue(db, queue)];
    await db.engine.fail(await claimOne(db, queue), { message: "broken" });
    expect(await db.engine.retry(1, { ids: [ids[0]!], by: "ann", because: "it is repaired" })).toBe(1);
    expect(await claimIds(db, queue)).toEqual([]); // deciding is not resuming
    await db.engine.queueResume(queue, { by: "ann" });
    const seen: string[] = [];
    for (
      let job: ClaimedJob | undefined = await claimOne(db, queue);
      job;
      [job] = await db.engine.claim({ queues: [queue], limit: 10 })
    ) {
      seen.push(job.id);
      await db.engine.complete(job);
    }
    expect(seen).toEqual(ids);
    expect(await db.engine.decisions(ids[0]!)).toMatchObject([{ action: "retry", by: "ann" }]);
    expect(await pausesOf(queue)).toEqual([]);
    expect(
      (await db.engine.queueEvents()).events.filter((event) => event.queue === queue).map(({ event }) => event),
    ).toEqual(["paused", "resumed"]);
  });

  it("goes on with the next one when the failed job is discarded and the queue resumed [#155]", async () => {
    const queue = await newQueue(db, { onFailure: "pause", maxRunning: 1 });
    const ids = [await enqueue(db, queue), await enqueue(db, queue)];
    await db.engine.fail(await claimOne(db, queue));
    expect(await db.engine.discard([ids[0]!], { by: "ann" })).toBe(1);
    await db.engine.queueResume(queue);
    expect(await claimIds(db, queue)).toEqual([ids[1]]);
    await expect(db.engine.queueResume(queue)).rejects.toMatchObject(invalidArgument);
  });

  it("is paused by every way to end without success after a start: exhausted, permanent, lost, too late to retry, past its deadline [#155]", async () => {
    const ways: readonly (readonly [string, (job: ClaimedJob) => Promise<void>, object])[] = [
      ["exhausted", (job) => db.engine.retryLater(job, { message: "x" }), { maxAttempts: 1 }],
      ["permanent", (job) => db.engine.fail(job, { message: "x" }), {}],
      [
        "settled",
        async (job) =>
          void (await db.engine.settle([
            { token: job.token, outcome: "failed", jobs: [job.id], error: { message: "x" } },
          ])),
        {},
      ],
      ["too late", (job) => db.engine.retryLater(job, { message: "x" }, 3600), { ttlSeconds: 60 }],
      [
        "lost",
        async () => {
          await db.moveClock(31);
          await db.engine.maintain();
        },
        { maxAttempts: 1 },
      ],
      [
        "deadline",
        async () => {
          await db.moveClock(3 * 3600);
          await db.engine.maintain();
        },
        { deadline: new Date(Date.now() + 2 * 3600_000) },
      ],
    ];
    for (const [name, end, options] of ways) {
      const queue = await newQueue(db, { onFailure: "pause" });
      const id = await enqueue(db, queue, options);
      await end(await claimOne(db, queue));
      expect(await pausesOf(queue), name).toMatchObject([
        { jobId: id, pausedBy: "millrace", pausedBecause: expect.stringContaining(`job ${id} `) },
      ]);
    }
  });

  it("is not paused by a retry, a success, a cancel, or an expiry before the start; nor is one without the option by a failure [#155]", async () => {
    const queue = await newQueue(db, { onFailure: "pause" });
    const plain = await newQueue(db, { onFailure: "continue" });
    for (const _ of [1, 2, 3]) await enqueue(db, queue);
    await enqueue(db, queue, { ttlSeconds: 5, delaySeconds: 10 });
    await db.engine.retryLater(await claimOne(db, queue), { message: "again" }, 3600);
    await db.engine.complete(await claimOne(db, queue));
    await db.engine.cancel([(await claimOne(db, queue)).id]);
    await db.moveClock(20);
    await db.engine.maintain();
    await enqueue(db, plain);
    await db.engine.fail(await claimOne(db, plain));
    expect([(await queueOf(queue)).state, (await queueOf(plain)).state]).toEqual(["active", "active"]);
    for (const onFailure of ["stop", true, 1])
      await expect(db.engine.queuePut(queue, { onFailure } as object)).rejects.toMatchObject(invalidArgument);
  });

  it("keeps the first reason, goes on only when resumed once, and a failure that commits after that pauses it again [#155]", async () => {
    const queue = await newQueue(db, { onFailure: "pause" });
    const ids = [
      await enqueue(db, queue),
      await enqueue(db, queue),
      await enqueue(db, queue),
      await enqueue(db, queue),
    ];
    const [first, second, third] = [await claimOne(db, queue), await claimOne(db, queue), await claimOne(db, queue)];
    const slow = await db.connect();
    await slow.query("begin");
    await db.engine.fail(third, { message: "third" }, { tx: slow });
    await db.engine.fail(first, { message: "first" });
    await db.engine.fail(second, { message: "second" });
    expect((await queueOf(queue)).pausedBecause).toBe(`job ${ids[0]} failed: first`);
    await db.engine.queueResume(queue);
    expect(await queueOf(queue)).toMatchObject({ state: "active" });
    await slow.query("commit");
    expect(await queueOf(queue)).toMatchObject({ state: "paused", pausedBecause: `job ${ids[2]} failed: third` });
    expect(await claimIds(db, queue)).toEqual([]);
  });

  it("lets two reports of failures in two queues, in opposite order, both get through [#101] [#155]", async () => {
    const [left, right] = [await newQueue(db, { onFailure: "pause" }), await newQueue(db, { onFailure: "pause" })];
    const jobs: ClaimedJob[] = [];
    for (const queue of [left, right, left, right]) {
      await enqueue(db, queue);
      jobs.push(await claimOne(db, queue));
    }
    const failed = ({ token, id }: ClaimedJob) => ({
      token,
      outcome: "failed" as const,
      jobs: [id],
      error: { message: "x" },
    });
    const row = ({ token }: ClaimedJob): string => `select from claim where token = '${token}' for update`;
    const results = await crossed(
      db,
      [row(jobs[0]!), row(jobs[2]!)],
      () => db.engine.settle([failed(jobs[0]!), failed(jobs[1]!)]),
      () => db.engine.settle([failed(jobs[3]!), failed(jobs[2]!)]),
    );
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled"]);
    expect([(await pausesOf(left)).length, (await pausesOf(right)).length]).toEqual([2, 2]);
  });

  it("that is closed is not finished before somebody has decided on the failed job and resumed it [#155] [#157]", async () => {
    const queue = await newQueue(db, { onFailure: "pause" });
    const id = await enqueue(db, queue);
    await db.engine.queueClose(queue);
    await db.engine.fail(await claimOne(db, queue));
    for (const _ of [1, 2, 3]) await db.engine.maintain();
    expect(await queueOf(queue)).toMatchObject({ state: "paused", finishedAt: null });
    expect(await db.engine.retry(1, { ids: [id] })).toBe(1);
    await db.engine.queueResume(queue);
    await db.engine.complete(await claimOne(db, queue));
    await expect
      .poll(async () => (await db.engine.maintain(), (await queueOf(queue)).state), { timeout: 20_000 })
      .toBe("finished");
  });
});
