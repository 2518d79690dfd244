import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { defineJob } from "../../src/job/define-job.js";
import { PermanentError } from "../../src/job/permanent-error.js";
import { useMill } from "../support/mill.js";
import { invalidArgument, jobNotFound } from "../support/steps.js";
import { gate } from "../support/wait.js";

const test = useMill();
const work = defineJob<string>("work");

describe("result()", () => {
  it("waits for a success and gives the value, to everybody who waits, before and after the end [#26]", async () => {
    const queue = await test.queue();
    const go = gate();
    await test
      .worker(queue)
      .handle(work, async ({ input }) => {
        await go.opened;
        return { input };
      })
      .start();
    const made = await test.mill.enqueueMany(work, ["a", "b", "c"], { queue });
    const early = Promise.all([...made, ...made].map((job) => test.mill.result(job)));
    await sleep(100);
    go.open();
    expect(await early).toEqual(["a", "b", "c", "a", "b", "c"].map((input) => ({ input })));
    expect(await test.mill.result(made[0]!.id)).toEqual({ input: "a" });
    expect((await test.mill.jobs.get(made[0]!.id))!.job.result).toEqual({ input: "a" });
  });

  it("rejects when the job failed, was cancelled or has expired, saying which and why [#27]", async () => {
    const queue = await test.queue();
    const [failing, cancelled] = await test.mill.enqueueMany(work, ["fail", "cancel"], { queue });
    const expired = await test.mill
      .enqueue(work, "expire", { queue, expiresAt: new Date(Date.now() - 1000) })
      .catch(() => undefined);
    await test.mill.cancel(cancelled!, { because: "not wanted" });
    await test
      .worker(queue)
      .handle(work, ({ input }) => {
        throw new PermanentError(`cannot ${input}`);
      })
      .start();
    const failure = { name: "JobFailedError", code: "MR013" };
    await expect(test.mill.result(failing!)).rejects.toMatchObject({
      ...failure,
      state: "failed",
      jobId: failing!.id,
      message: expect.stringContaining("cannot fail"),
    });
    await expect(test.mill.result(cancelled!)).rejects.toMatchObject({
      ...failure,
      state: "cancelled",
      message: expect.stringContaining("not wanted"),
    });
    if (expired) await expect(test.mill.result(expired)).rejects.toMatchObject({ ...failure, state: "expired" });
  });

  it("gives up after its timeout, at its signal, or at once for an id nobody knows", async () => {
    const queue = await test.queue();
    const waiting = await test.mill.enqueue(work, "nobody comes", { queue });
    await expect(test.mill.result(waiting, { timeout: 50 })).rejects.toMatchObject({
      name: "TimeoutError",
      code: "MR012",
    });
    const controller = new AbortController();
    const aborted = test.mill.result(waiting, { signal: controller.signal });
    controller.abort(new Error("not interested any more"));
    await expect(aborted).rejects.toThrow("not interested any more");
    await expect(test.mill.result(waiting, { signal: AbortSignal.abort(new Error("never was")) })).rejects.toThrow(
      "never was",
    );
    await expect(test.mill.result("123456789")).rejects.toMatchObject(jobNotFound);
    expect((await test.mill.jobs.get(waiting.id))!.job.state).toBe("ready");
  });

  it("waits as long as asked, however long that is", async () => {
    const queue = await test.queue();
    const job = await test.mill.enqueue(work, "later", { queue });
    const result = test.mill.result(job, { timeout: "60d" });
    await sleep(50);
    await test
      .worker(queue)
      .handle(work, ({ input }) => input)
      .start();
    expect(await result).toBe("later");
  });

  it("refuses what is no id, without harm to others that wait", async () => {
    const queue = await test.queue();
    const job = await test.mill.enqueue(work, "fine", { queue });
    const good = test.mill.result(job);
    const bad = ["", "abc", "1.5", "99999999999999999999", 5 as unknown as string].map((id) => test.mill.result(id));
    for (const result of await Promise.allSettled(bad))
      expect(result).toMatchObject({ status: "rejected", reason: invalidArgument });
    await test
      .worker(queue)
      .handle(work, ({ input }) => input)
      .start();
    expect(await good).toBe("fine");
    await expect(test.mill.result(job, { timeout: "soon" })).rejects.toMatchObject(invalidArgument);
    await expect(test.mill.result(job, { timout: 5 } as object)).rejects.toMatchObject(invalidArgument);
  });

  it("is read until its retention ends [#26]", async () => {
    const queue = await test.queue();
    const worker = test.worker(queue).handle(work, ({ input }) => input);
    await worker.start();
    const job = await test.mill.enqueue(work, "kept", { queue });
    await test.mill.result(job);
    await worker.stop();
    await test.db.moveClock(6 * 86_400);
    expect(await test.mill.result(job)).toBe("kept");
  });
});
