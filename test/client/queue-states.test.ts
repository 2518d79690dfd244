import { describe, expect, it } from "vitest";
import { defineJob } from "../../src/job/define-job.js";
import { QueueClosedError } from "../../src/index.js";
import { useMill } from "../support/mill.js";
import { invalidArgument } from "../support/steps.js";
import { gate } from "../support/wait.js";

/**
 * On a server of its own, because a queue finishes only when transactions of the whole server that may have enqueued
 * have ended.
 */
const test = useMill({}, { ownServer: true });
const work = defineJob<string>("work");

describe("queues of a client", () => {
  it("wait for each other: workers finish the first, then run the second, and all of it is told [#156] [#157]", async () => {
    const [first, second] = [await test.queue(), await test.queue()];
    await test.mill.queues.put(second, { waitsFor: [first] });
    const stop = new AbortController();
    const told: string[] = [];
    const listening = (async () => {
      for await (const { queue, event } of test.mill.queues.events({
        signal: stop.signal,
        pollInterval: 50,
        since: "1:1:",
      }))
        if ([first, second].includes(queue)) told.push(`${queue} ${event}`);
    })();
    const order: string[] = [];
    for (const queue of [first, second])
      await test
        .worker(queue)
        .handle(work, (job) => void order.push(job.input))
        .start();
    const after = await test.mill.enqueue(work, "second", { queue: second });
    await test.mill.enqueueMany(work, ["first", "first", "first"], { queue: first });
    await test.mill.queues.close(first, { by: "ann" });
    await expect(test.mill.enqueue(work, "late", { queue: first })).rejects.toThrow(QueueClosedError);
    await expect(test.mill.enqueueMany(work, ["late"], { queue: first })).rejects.toThrow(QueueClosedError);
    await test.mill.result(after, { timeout: "50s" });
    expect(order).toEqual(["first", "first", "first", "second"]);
    await expect.poll(() => told).toEqual([`${first} closed`, `${first} finished`, `${second} released`]);
    stop.abort();
    await listening;
    await expect(test.mill.queues.open(first)).rejects.toThrow(QueueClosedError);
  });

  it("pause when a job fails, and go on with it when it was retried and they were resumed [#155]", async () => {
    const queue = await test.queue();
    await test.mill.queues.put(queue, { maxRunning: 1, onFailure: "pause" });
    const order: string[] = [];
    const failed = gate();
    await test
      .worker(queue)
      .handle(work, (job) => {
        order.push(`${job.input} ${job.attempt}`);
        if (job.input !== "a" || job.attempt > 1) return;
        failed.open();
        throw new Error("not yet");
      })
      .start();
    const [a, b] = [
      await test.mill.enqueue(work, "a", { queue, maxAttempts: 1 }),
      await test.mill.enqueue(work, "b", { queue }),
    ];
    await failed.opened;
    await expect
      .poll(() => test.mill.queues.pauses())
      .toMatchObject([{ queue, jobId: a.id, pausedBecause: `job ${a.id} failed: not yet` }]);
    expect(await test.mill.jobs.list({ queue, undecided: true })).toMatchObject([{ id: a.id }]);
    expect(await test.mill.retry(a, { by: "ann" })).toBe(true);
    await test.mill.queues.resume(queue, { by: "ann" });
    await Promise.all([test.mill.result(a), test.mill.result(b)]);
    expect(order).toEqual(["a 1", "a 2", "b 1"]);
  });

  it("hold staged jobs until they are released [#180]", async () => {
    const queue = await test.queue();
    const order: string[] = [];
    await test
      .worker(queue)
      .handle(work, (job) => void order.push(job.input))
      .start();
    const staged = await test.mill.enqueue(work, "staged", { queue, stage: "approval" });
    await test.mill.enqueue(work, "unwanted", { queue, stage: "never" });
    await test.mill.result(await test.mill.enqueue(work, "plain", { queue }));
    expect(await test.mill.queues.stages()).toMatchObject([
      { queue, stage: "approval", jobs: 1 },
      { queue, stage: "never", jobs: 1 },
    ]);
    expect(await test.mill.queues.stageCancel(queue, "never")).toBe(1);
    expect(await test.mill.queues.stageRelease(queue, "approval", { by: "ann" })).toBe(1);
    await test.mill.result(staged);
    expect(order).toEqual(["plain", "staged"]);
    expect(await test.mill.queues.depth(queue)).toMatchObject({ staged: 0, delayed: 0 });
  });

  it("refuse options nobody knows", async () => {
    const queue = await test.queue();
    await expect(test.mill.queues.close(queue, { why: "x" } as never)).rejects.toMatchObject(invalidArgument);
    await expect(test.mill.queues.stageRelease(queue, "s", {}, { txn: 1 } as never)).rejects.toMatchObject(
      invalidArgument,
    );
    await expect(test.mill.queues.events({ every: 1 } as never).next()).rejects.toMatchObject(invalidArgument);
    await expect(test.mill.queues.put(queue, { waitFor: ["x"] } as never)).rejects.toMatchObject(invalidArgument);
  });
});
