import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { defineJob } from "../../src/job/define-job.js";
import type { ClaimedJob, JobDetails, JobId } from "../../src/db/types.js";
import { PrometheusMetrics } from "../../src/observe/prometheus.js";
import { clockNow } from "../support/clock.js";
import { useMill } from "../support/mill.js";
import { invalidArgument, leaseLost } from "../support/steps.js";
import { fired, gate, until } from "../support/wait.js";

const test = useMill();
const work = defineJob<{ n?: number }>("work");

async function details(id: JobId): Promise<JobDetails> {
  const found = await test.mill.jobs.get(id);
  if (!found) throw new Error(`there is no job ${id}`);
  return found;
}

/** Let the leases in a queue end, and take its only job, as another host would. */
async function takeOver(queue: string): Promise<ClaimedJob> {
  for (;;) {
    await test.db.moveClock(10);
    const [job] = await test.db.engine.claim({ queues: [queue], leaseSeconds: 1000 });
    if (job) return job;
    await test.db.sql("update agenda set due_at = clock_now()"); // no patience with the retry's delay
  }
}

describe("a cancel", () => {
  it("fires the signal of the running handler; what it returns then is not recorded [#96]", async () => {
    const queue = await test.queue();
    const lost: JobId[] = [];
    let reason: unknown;
    const worker = test.worker(queue, { lease: "1s" }).handle(work, async (_, { signal }) => {
      reason = await fired(signal);
      return "too late";
    });
    worker.on("lost", (job) => lost.push(job.id));
    await worker.start();
    const { id } = await test.mill.enqueue(work, {}, { queue });
    await until("it runs", async () => (await details(id)).job.state === "running");
    expect(await test.mill.cancel(id, { because: "changed our mind" })).toBe(true);
    await expect(test.mill.result(id)).rejects.toMatchObject({
      name: "JobFailedError",
      code: "MR013",
      state: "cancelled",
    });
    await until("the signal has fired", () => reason !== undefined && worker.held === 0);
    expect(reason).toMatchObject(leaseLost);
    expect(lost).toEqual([id]);
    expect((await details(id)).job).toMatchObject({
      state: "cancelled",
      result: null,
      lastError: { message: "changed our mind" },
    });
    expect(await test.mill.cancel(id)).toBe(false);
  });

  it("reaches jobs that wait here for a slot: they never run [#124]", async () => {
    const queue = await test.queue();
    const go = gate();
    const ran: number[] = [];
    const worker = test.worker(queue, { concurrency: 1, prefetch: 3, lease: "1s" }).handle(work, async ({ input }) => {
      ran.push(input.n!);
      await go.opened;
    });
    const made = await test.mill.enqueueMany(work, [{ n: 0 }, { n: 1 }, { n: 2 }, { n: 3 }], { queue });
    await worker.start();
    await until("all are here", () => worker.held === 4);
    await test.mill.cancel(made[2]!);
    await until("one is gone", () => worker.held === 3);
    go.open();
    await Promise.allSettled(made.map((job) => test.mill.result(job)));
    expect(ran).toEqual([0, 1, 3]);
  });

  it("of one job of a batch leaves the others and their signal alone [#116]", async () => {
    const queue = await test.queue();
    const go = gate();
    const signals: AbortSignal[] = [];
    const worker = test.worker(queue, { lease: "1s" }).handleBatch(work, async (jobs, { signal }) => {
      signals.push(signal);
      await go.opened;
      return jobs.map(({ input }) => input.n);
    });
    const made = await test.mill.enqueueMany(work, [{ n: 0 }, { n: 1 }, { n: 2 }], { queue });
    await worker.start();
    await until("the batch runs", () => signals.length > 0 && worker.held === 3);
    await test.mill.cancel(made[1]!);
    await until("the worker knows", () => worker.held === 2);
    expect(signals[0]!.aborted).toBe(false);
    go.open();
    const results = await Promise.allSettled(made.map((job) => test.mill.result(job)));
    expect(results.map((one) => (one.status === "fulfilled" ? one.value : one.status))).toEqual([0, "rejected", 2]);
  });
});

describe("a lost lease", () => {
  /** It takes one job, and does not take it again when it has lost it. */
  const alone = { concurrency: 1, prefetch: 0, pollInterval: "1m" } as const;

  it("fires the signal, refuses every report of the first run, and leaves one outcome: the second's [#96 #121 #29]", async () => {
    const queue = await test.queue();
    const metrics = new PrometheusMetrics();
    const worker = test.worker(queue, { ...alone, lease: "1s", name: "first" }, test.open({ metrics }));
    const refusals: unknown[] = [];
    const [started, over] = [gate(), gate()];
    worker.handle(work, async (job, { signal, progress }) => {
      started.open();
      refusals.push(await fired(signal));
      const tx = await test.db.connect();
      await progress({ by: "first" }).catch((error: unknown) => refusals.push(error));
      await job.complete("by the first", { tx }).catch((error: unknown) => refusals.push(error));
      await test.db.engine.fail(job).catch((error: unknown) => refusals.push(error));
      await test.db.engine.retryLater(job).catch((error: unknown) => refusals.push(error));
      refusals.push((await test.db.engine.claimExtend([job.token])).size);
      over.open();
      return "by the first";
    });
    const { id } = await test.mill.enqueue(work, { n: 1 }, { queue });
    await worker.start();
    await started.opened;
    const second = await takeOver(queue);
    expect(second).toMatchObject({ id, attempt: 2, input: { n: 1 } });
    await over.opened;
    expect(refusals).toMatchObject([leaseLost, leaseLost, leaseLost, leaseLost, leaseLost, 0]);
    expect(await details(id)).toMatchObject({ job: { state: "running", attempts: 2 }, progress: null });
    await test.db.engine.complete(second, "by the second");
    expect(await details(id)).toMatchObject({
      job: { state: "succeeded", result: "by the second", attempts: 2 },
      attempts: [
        { attempt: 1, outcome: "lost", worker: "first" },
        { attempt: 2, outcome: "succeeded" },
      ],
    });
    expect(metrics.text()).toContain('millrace_leases_lost_total{worker="first"} 1\n');
  });

  it("that nobody noticed is told when the report is refused [#96 #121]", async () => {
    const queue = await test.queue();
    const metrics = new PrometheusMetrics();
    const refused: JobId[] = [];
    const [started, go] = [gate(), gate()];
    const worker = test
      .worker(queue, { ...alone, lease: "30s", name: "slow" }, test.open({ metrics }))
      .handle(work, async () => {
        started.open();
        await go.opened;
        return "late";
      });
    worker.on("refused", (ids) => refused.push(...ids));
    const { id } = await test.mill.enqueue(work, {}, { queue });
    await worker.start();
    await started.opened;
    await test.db.moveClock(21);
    const second = await takeOver(queue);
    go.open();
    await until("the report is refused", () => refused.length > 0);
    expect(refused).toEqual([id]);
    await test.db.engine.complete(second, "in time");
    expect((await details(id)).job.result).toBe("in time");
    expect(metrics.text()).toContain('millrace_leases_lost_total{worker="slow"} 1\n');
  });

  it("ends a handler that lets the refusal of its own call through, without a second report [#96]", async () => {
    const queue = await test.queue();
    const events: string[] = [];
    const [started, go] = [gate(), gate()];
    const worker = test.worker(queue, { ...alone, lease: "30s" }).handle(work, async (_, { progress }) => {
      started.open();
      await go.opened;
      await progress({ done: 1 });
    });
    for (const name of ["lost", "failure", "refused", "success"] as const) worker.on(name, () => events.push(name));
    await test.mill.enqueue(work, {}, { queue });
    await worker.start();
    await started.opened;
    await test.db.moveClock(21);
    await takeOver(queue);
    go.open();
    await until("it has ended", () => events.length > 0);
    await worker.stop();
    expect(events).toEqual(["lost"]);
  });
});

describe("an attempt timeout", () => {
  it("fires the signal, counts as a failed attempt, and the job is retried [#127]", async () => {
    const queue = await test.queue();
    const reasons: unknown[] = [];
    await test
      .worker(queue)
      .handle(work, async ({ attempt }, { signal }) => {
        if (attempt === 2) return "quick this time";
        reasons.push(await fired(signal));
        return "too late";
      })
      .start();
    const { id } = await test.mill.enqueue(work, {}, { queue, attemptTimeout: 200, retryDelay: 0 });
    expect(await test.mill.result(id)).toBe("quick this time");
    expect(reasons).toMatchObject([{ name: "TimeoutError", code: "MR012" }]);
    const { attempts } = await details(id);
    expect(attempts).toMatchObject([
      { outcome: "failed", error: { name: "TimeoutError", timeout: true, message: expect.stringContaining("200 ms") } },
      { outcome: "succeeded" },
    ]);
    expect(attempts[0]!.finishedAt.getTime() - attempts[0]!.startedAt.getTime()).toBeGreaterThanOrEqual(190);
  });

  it("uses up the attempts like any failure [#127]", async () => {
    const queue = await test.queue();
    await test
      .worker(queue)
      .handle(work, async (_, { signal }) => void (await fired(signal)))
      .start();
    const { id } = await test.mill.enqueue(work, {}, { queue, attemptTimeout: 100, retryDelay: 0, maxAttempts: 2 });
    await expect(test.mill.result(id)).rejects.toMatchObject({ state: "failed" });
    expect((await details(id)).job).toMatchObject({ state: "failed", reason: "exhausted", attempts: 2 });
  });

  it("does not fire for a handler that is quicker [#127]", async () => {
    const queue = await test.queue();
    const signals: AbortSignal[] = [];
    await test
      .worker(queue)
      .handle(work, (_, { signal }) => void signals.push(signal))
      .start();
    await test.mill.result(await test.mill.enqueue(work, {}, { queue, attemptTimeout: 150 }));
    await sleep(300);
    expect(signals[0]!.aborted).toBe(false);
  });

  it("frees the slot of a handler that goes on regardless, after a while, and says so [#127 #118]", async () => {
    const queue = await test.queue();
    const go = gate();
    const abandoned: JobId[][] = [];
    const worker = test.worker(queue, { concurrency: 1 }).handle(work, async ({ input }) => {
      if (input.n === 1) await go.opened;
      return input.n;
    });
    worker.on("abandoned", (jobs) => abandoned.push(jobs.map((job) => job.id)));
    const [deaf, next] = await test.mill.enqueueMany(work, [{ n: 1 }, { n: 2 }], {
      queue,
      attemptTimeout: 100,
      maxAttempts: 1,
    });
    await worker.start();
    expect(await test.mill.result(next!)).toBe(2);
    expect(abandoned).toEqual([[deaf!.id]]);
    expect((await details(deaf!.id)).job).toMatchObject({ state: "failed" });
    go.open();
  });
});

describe("a deadline", () => {
  const inMs = async (ms: number): Promise<Date> => new Date((await clockNow(test.db)).getTime() + ms);

  it("that passes while waiting expires the job without a run [#71]", async () => {
    const queue = await test.queue();
    let calls = 0;
    const { id } = await test.mill.enqueue(work, {}, { queue, deadline: await inMs(10_000), delay: "1s" });
    await test.db.moveClock(20);
    await test
      .worker(queue)
      .handle(work, () => void (calls += 1))
      .start();
    await expect(test.mill.result(id)).rejects.toMatchObject({ name: "JobFailedError", state: "expired" });
    expect(calls).toBe(0);
  });

  it("that passes while running fires the signal and ends the job as expired [#71]", async () => {
    const queue = await test.queue();
    const reasons: unknown[] = [];
    const lost: JobId[] = [];
    const worker = test.worker(queue, { maintenance: false }).handle(work, async (_, { signal }) => {
      reasons.push(await fired(signal));
      return "too late";
    });
    worker.on("lost", (job) => lost.push(job.id));
    await worker.start();
    const { id } = await test.mill.enqueue(work, {}, { queue, deadline: await inMs(600) });
    await expect(test.mill.result(id)).rejects.toMatchObject({ state: "expired" });
    expect(reasons).toMatchObject([{ name: "TimeoutError", message: expect.stringContaining("deadline") }]);
    expect(lost).toEqual([id]);
    expect(await details(id)).toMatchObject({
      job: { state: "expired", attempts: 1, result: null },
      attempts: [{ outcome: "expired" }],
    });
  });

  it("counts the time a job has waited here for its slot [#71]", async () => {
    const queue = await test.queue();
    const go = gate();
    let waitedMs = 0;
    const worker = test.worker(queue, { concurrency: 1, prefetch: 1 }).handle(work, async ({ input }, { signal }) => {
      if (input.n === 1) return go.opened;
      const startedAt = performance.now();
      await fired(signal);
      waitedMs = performance.now() - startedAt;
    });
    await test.mill.enqueue(work, { n: 1 }, { queue });
    const { id } = await test.mill.enqueue(work, { n: 2 }, { queue, deadline: await inMs(3000) });
    await worker.start();
    await until("both are here", () => worker.held === 2);
    await sleep(2000);
    go.open();
    await expect(test.mill.result(id)).rejects.toMatchObject({ state: "expired" });
    await until("the signal has fired", () => waitedMs > 0);
    expect(waitedMs).toBeLessThan(2000);
  });
});

describe("progress", () => {
  it("is read by others at once, and by the next attempt; it makes no attempt and keeps the lease [#69]", async () => {
    const queue = await test.queue();
    const [seen, found] = [gate(), [] as unknown[]];
    const worker = test
      .worker(queue, { lease: "20s" })
      .handle(work, async ({ attempt }, { progress, lastProgress }) => {
        found.push(await lastProgress());
        await progress({ page: attempt });
        if (attempt === 1) {
          await seen.opened;
          throw new Error("crash");
        }
      });
    await worker.start();
    const { id } = await test.mill.enqueue(work, {}, { queue, retryDelay: 0 });
    await until("the progress is there", async () => (await test.mill.jobs.progress(id)) !== null);
    const { job, progress } = await details(id);
    expect(progress).toEqual({ page: 1 });
    expect(job).toMatchObject({ state: "running", attempts: 1 });
    expect(job.leaseEndsAt!.getTime() - job.lastAttemptAt!.getTime()).toBeGreaterThanOrEqual(20_000);
    seen.open();
    await test.mill.result(id);
    expect(found).toEqual([null, { page: 1 }]);
    expect((await details(id)).job.attempts).toBe(2);
  });

  it("of 100,000 calls that nobody awaits is written a few times, the last value last, and before the job ends [#69]", async () => {
    const queue = await test.queue();
    const writes = vi.spyOn(test.mill.engine, "progressPut");
    let stored = 0;
    await test
      .worker(queue)
      .handle(work, async (_, { progress }) => {
        for (let step = 1; step <= 100_000; step += 1) void progress({ step }).then(() => (stored += 1));
        await test.mill.queues.depth(queue); // the pool still has room for others
      })
      .start();
    const { id } = await test.mill.enqueue(work, {}, { queue });
    await test.mill.result(id, { timeout: "60s" });
    expect((await details(id)).progress).toEqual({ step: 100_000 });
    expect(stored).toBe(100_000);
    expect(writes.mock.calls.length).toBeLessThan(10);
    writes.mockRestore();
  });

  it("that a handler left without waiting is there when it has thrown [#69]", async () => {
    const queue = await test.queue();
    await test
      .worker(queue)
      .handle(work, (_, { progress }) => {
        for (const page of [1, 2, 3]) void progress({ page });
        throw new Error("crash");
      })
      .start();
    const { id } = await test.mill.enqueue(work, {}, { queue, maxAttempts: 1 });
    await expect(test.mill.result(id)).rejects.toMatchObject({ state: "failed" });
    expect((await details(id)).progress).toEqual({ page: 3 });
  });

  it("that is not JSON is refused, and only that [#69 #79]", async () => {
    const queue = await test.queue();
    await test
      .worker(queue)
      .handle(work, async (_, { progress }) => {
        const before = [progress({ page: 1 }), progress({ page: 2 })];
        await expect(progress(new Map())).rejects.toMatchObject(invalidArgument);
        await Promise.all(before);
        return "went on";
      })
      .start();
    expect(await test.mill.result(await test.mill.enqueue(work, {}, { queue }))).toBe("went on");
  });
});
