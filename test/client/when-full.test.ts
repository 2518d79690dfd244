import { describe, expect, it } from "vitest";
import { defineJob } from "../../src/job/define-job.js";
import { QueueFullError } from "../../src/index.js";
import { useMill } from "../support/mill.js";
import { invalidArgument, queueFull } from "../support/steps.js";

const test = useMill();
const work = defineJob<number>("work");
const times = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

describe("an enqueue into a queue that is full [#108]", () => {
  it("is refused with the time to come back, one and many", async () => {
    const queue = await test.queue({ maxDepth: 2 });
    await test.mill.enqueueMany(work, [1, 2], { queue });
    for (const call of [
      () => test.mill.enqueue(work, 3, { queue }),
      () => test.mill.enqueueMany(work, [3, 4], { queue, whenFull: "refuse" }),
    ]) {
      const error = await call().catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(QueueFullError);
      expect(error).toMatchObject({ ...queueFull, retryAfterSeconds: 1 });
    }
    expect(await test.mill.queues.depth(queue)).toMatchObject({ ready: 2 });
  });

  it("waits for room if told to, and gets in when there is some", async () => {
    const queue = await test.queue({ maxDepth: 2 });
    await test.mill.enqueueMany(work, [1, 2], { queue });
    let isIn = false;
    const waiting = test.mill
      .enqueue(work, 3, { queue, whenFull: "wait", maxWait: "30s" })
      .then((job) => ((isIn = true), job));
    await expect(test.mill.enqueue(work, 4, { queue })).rejects.toMatchObject(queueFull);
    expect(isIn).toBe(false);
    await test
      .worker(queue)
      .handle(work, ({ input }) => input)
      .start();
    expect(await test.mill.result(await waiting)).toBe(3);
  });

  it("feeds a stream no faster than it is worked off", async () => {
    const queue = await test.queue({ maxDepth: 1000 });
    await test
      .worker(queue)
      .handle(work, () => {})
      .start();
    const inputs = (function* () {
      yield* times(3500);
    })();
    expect(await test.mill.enqueueMany(work, inputs, { queue, whenFull: "wait" })).toEqual({ count: 3500 });
  });

  it("gives up after maxWait", async () => {
    const queue = await test.queue({ maxDepth: 1 });
    await test.mill.enqueue(work, 1, { queue });
    const startedAt = performance.now();
    await expect(test.mill.enqueue(work, 2, { queue, whenFull: "wait", maxWait: "300ms" })).rejects.toMatchObject(
      queueFull,
    );
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(290);
  });

  it("is refused at once inside a transaction, which a savepoint saves", async () => {
    const queue = await test.queue({ maxDepth: 1 });
    await test.mill.enqueue(work, 1, { queue });
    const tx = await test.db.connect();
    await tx.query("begin; create temp table kept on commit drop as select 1; savepoint here");
    await expect(test.mill.enqueue(work, 2, { queue, tx, whenFull: "wait", maxWait: "1h" })).rejects.toMatchObject(
      queueFull,
    );
    await tx.query("rollback to here; select from kept; commit");
  });

  it("refuses options that make no sense", async () => {
    await expect(test.mill.enqueue(work, 1, { whenFull: "block" as never })).rejects.toMatchObject(invalidArgument);
    await expect(test.mill.enqueue(work, 1, { whenFull: "wait", maxWait: "soon" })).rejects.toMatchObject(
      invalidArgument,
    );
  });
});

describe("backlogs", () => {
  it("can be set aside and shed", async () => {
    const queue = await test.queue();
    const old = await test.mill.enqueueMany(work, [1, 2], { queue });
    expect(await test.mill.queues.setAside(queue)).toBe(2);
    const fresh = await test.mill.enqueue(work, 3, { queue });
    expect((await test.mill.jobs.peek(queue)).map(({ id }) => id)).toEqual([fresh, ...old].map(({ id }) => id));
    expect(await test.mill.queues.shed(queue, new Date(Date.now() + 60_000), { type: "work" })).toBe(3);
    expect(await test.mill.queues.depth(queue)).toMatchObject({ ready: 0 });
  });
});
