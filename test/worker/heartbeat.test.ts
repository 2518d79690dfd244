import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { defineJob } from "../../src/job/define-job.js";
import { useMill } from "../support/mill.js";
import { startProxy } from "../support/proxy.js";
import { until } from "../support/wait.js";

const test = useMill();
const work = defineJob<{ ms?: number }>("work");

/** Who claims from a queue until this promise has ended, as a competitor would. */
async function claimedMeanwhile(queue: string, work: Promise<unknown>): Promise<number> {
  let [claimed, isOver] = [0, false];
  void work.finally(() => (isOver = true));
  while (!isOver) {
    claimed += (await test.db.engine.claim({ queues: [queue] })).length;
    await sleep(50);
  }
  return claimed;
}

describe("the length of a lease", () => {
  const leaseOf = async (queue: string, type: string, lease?: number): Promise<number> => {
    const definition = defineJob(type);
    await test
      .worker(queue, lease === undefined ? {} : { lease })
      .handle(definition, async ({ claimedAt, leaseEndsAt }) => leaseEndsAt.getTime() - claimedAt.getTime())
      .start();
    return test.mill.result<number>(await test.mill.enqueue(definition, null, { queue }));
  };

  it("is the worker's, else the type's, the queue's, the cell's, or 30 seconds [#9]", async () => {
    await test.db.engine.typePut("typed", { leaseSeconds: 50 });
    const [plain, queue] = [await test.queue(), await test.queue({ leaseSeconds: 40 })];
    expect(await leaseOf(plain, "a")).toBe(30_000);
    expect(await leaseOf(queue, "b")).toBe(40_000);
    expect(await leaseOf(queue, "typed")).toBe(50_000);
    expect(await leaseOf(await test.queue({ leaseSeconds: 40 }), "typed", 60_000)).toBe(60_000);
    await test.db.engine.cellPut({ leaseSeconds: 20 });
    expect(await leaseOf(await test.queue(), "c")).toBe(20_000);
    await test.db.engine.cellPut({ leaseSeconds: null });
  });

  it.each([true, false])(
    "decides how often it is prolonged: a handler that takes longer than it runs once (thread: %s) [#9 #95]",
    async (heartbeatThread) => {
      const queue = await test.queue();
      const type = `short-${heartbeatThread}`;
      const hasty = defineJob(type);
      await test.db.engine.typePut(type, { leaseSeconds: 1.5 });
      const lost: string[] = [];
      const worker = test.worker(queue, { heartbeatThread }).handle(hasty, () => sleep(2700, "kept"));
      worker.on("lost", (job) => lost.push(job.id)).on("refused", (ids) => lost.push(...ids));
      await worker.start();
      const result = test.mill.result((await test.mill.enqueue(hasty, null, { queue })).id);
      await until("it runs", () => worker.held === 1);
      expect(await claimedMeanwhile(queue, result)).toBe(0);
      expect([await result, lost]).toEqual(["kept", []]);
    },
  );
});

describe("when connections break", () => {
  const killAll = (where: string) =>
    test.db.sql(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and ${where}`,
    );

  it("the heartbeat connects again, and leases are kept [#95]", async () => {
    const queue = await test.queue();
    const worker = test
      .worker(queue, { lease: "2s", heartbeatThread: true, pollInterval: "1m" })
      .handle(work, ({ input }) => sleep(input.ms, "done"));
    worker.on("error", () => {});
    await worker.start();
    const { id } = await test.mill.enqueue(work, { ms: 3000 }, { queue });
    await until("it runs", () => worker.held === 1);
    expect((await killAll("application_name = 'millrace heartbeat'")).length).toBeGreaterThan(0);
    expect(await claimedMeanwhile(queue, test.mill.result(id))).toBe(0);
    expect((await test.mill.jobs.get(id))!.job).toMatchObject({ state: "succeeded", attempts: 1 });
    // and it listens again
    expect(await test.mill.result(await test.mill.enqueue(work, { ms: 0 }, { queue }), { timeout: "30s" })).toBe(
      "done",
    );
  });

  it("all of them, the worker goes on by itself and records every outcome [#88 #92]", async () => {
    const queue = await test.queue();
    const errors: unknown[] = [];
    const mill = test.open({ connection: { connectionString: test.db.url, application_name: "breaking", max: 5 } });
    const worker = test
      .worker(queue, { concurrency: 5, lease: "20s" }, mill)
      .handle(work, ({ input }) => sleep(input.ms, "done"));
    worker.on("error", (error) => errors.push(error));
    const made = await test.mill.enqueueMany(
      work,
      Array.from({ length: 120 }, () => ({ ms: 10 })),
      { queue },
    );
    await worker.start();
    for (let kills = 0; kills < 3; kills += 1) {
      await until("some run", () => worker.held > 0);
      await killAll("application_name = 'breaking'");
      await sleep(100);
    }
    await Promise.all(made.map((job) => test.mill.result(job)));
    const jobs = await test.mill.jobs.list({ queue, limit: 1000 });
    expect(jobs.filter((job) => job.state !== "succeeded")).toEqual([]);
  });

  it("a network that swallows everything for a while costs neither the lease nor the outcome [#92]", async () => {
    const queue = await test.queue();
    const proxy = await startProxy(test.db.url);
    const worker = test.worker(queue, { lease: "20s", heartbeatThread: true }, test.open({ connection: proxy.url }));
    worker.handle(work, ({ input }) => sleep(input.ms, "done"));
    await worker.start();
    const { id } = await test.mill.enqueue(work, { ms: 300 }, { queue });
    await until("it runs", () => worker.held === 1);
    proxy.freeze();
    await until("the handler has ended", () => worker.held === 0);
    expect((await test.mill.jobs.get(id))!.job.state).toBe("running");
    proxy.thaw();
    expect(await test.mill.result(id)).toBe("done");
    expect((await test.mill.jobs.get(id))!.job.attempts).toBe(1);
  });

  it("a worker that is cut off starts none of those that wait in it once their lease has ended, and all of them end [#92 #95]", async () => {
    const queue = await test.queue();
    const proxy = await startProxy(test.db.url);
    const starts: number[] = [];
    const options = { lease: "1500ms", concurrency: 1, prefetch: 50, heartbeatThread: true } as const;
    const worker = test.worker(queue, options, test.open({ connection: proxy.url })).handle(work, async ({ input }) => {
      starts.push(performance.now());
      await sleep(input.ms);
    });
    worker.on("error", () => {});
    const inputs = Array.from({ length: 40 }, () => ({ ms: 100 }));
    const made = await test.mill.enqueueMany(work, inputs, { queue });
    await worker.start();
    await until("most of them wait here", () => worker.held > 30 && starts.length > 0);
    proxy.freeze();
    const frozenAt = performance.now();
    await sleep(3000);
    const began = starts.length;
    expect(starts.filter((at) => at > frozenAt + 1600)).toEqual([]);
    expect([began > 5, began < 25]).toEqual([true, true]);
    proxy.thaw();
    await Promise.all(made.map((job) => test.mill.result(job, { timeout: "40s" })));
  });

  it("a connection that no thread can have is kept alive from the event loop, which is told [#95]", async () => {
    const queue = await test.queue();
    const errors: unknown[] = [];
    const mill = test.open({ connection: { connectionString: test.db.url, password: () => "secret" } });
    const worker = test
      .worker(queue, { lease: "1500ms", heartbeatThread: true }, mill)
      .handle(work, ({ input }) => sleep(input.ms, "done"));
    worker.on("error", (error) => errors.push(error));
    await worker.start();
    const result = test.mill.result((await test.mill.enqueue(work, { ms: 2200 }, { queue })).id);
    await until("it runs", () => worker.held === 1);
    expect(await claimedMeanwhile(queue, result)).toBe(0);
    expect(await result).toBe("done");
    expect(errors).toMatchObject([{ message: expect.stringContaining("event loop") }]);
  });
});
