import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { defineJob } from "../../src/job/define-job.js";
import { useMill } from "../support/mill.js";
import { startProxy } from "../support/proxy.js";
import { databaseUnavailable, invalidArgument } from "../support/steps.js";
import { fired, gate, until } from "../support/wait.js";

const test = useMill();
const work = defineJob<{ n?: number }>("work");
const many = (count: number) => Array.from({ length: count }, (_, n) => ({ n }));

describe("stop()", () => {
  it("claims no more, lets running handlers end, gives unstarted jobs back unharmed, and resolves when all that is done [#124]", async () => {
    const queue = await test.queue();
    const go = gate();
    let [calls, stopped] = [0, false];
    const worker = test.worker(queue, { concurrency: 2, prefetch: 2 }).handle(work, async ({ input }) => {
      calls += 1;
      await go.opened;
      return input.n;
    });
    const made = await test.mill.enqueueMany(work, many(10), { queue });
    await worker.start();
    await until("two run and four wait", () => calls === 2 && worker.held === 6);
    const stopping = worker.stop().then(() => (stopped = true));
    await until("the waiting ones are back", async () => (await test.mill.queues.depth(queue)).running === 2);
    expect(await test.mill.queues.depth(queue)).toMatchObject({ ready: 8, running: 2 });
    expect([calls, stopped]).toEqual([2, false]);
    go.open();
    await stopping;
    expect(calls).toBe(2);
    const jobs = await Promise.all(made.map(async ({ id }) => (await test.mill.jobs.get(id))!.job));
    expect(jobs.map((job) => job.state)).toEqual([
      ...Array<string>(2).fill("succeeded"),
      ...Array<string>(8).fill("ready"),
    ]);
    expect(jobs.map((job) => job.attempts)).toEqual([1, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
    expect(await test.db.engine.claim({ queues: [queue], limit: 100 })).toMatchObject(
      made.slice(2).map(({ id }) => ({ id, attempt: 1 })),
    );
  });

  it("under load, again and again, loses nothing, uses no attempt twice, and always ends [#124]", async () => {
    const queue = await test.queue();
    const ran = new Map<string, number>();
    const made = await test.mill.enqueueMany(work, many(2000), { queue });
    for (let round = 0; round < 12; round += 1) {
      const worker = test.worker(queue, { concurrency: 20, prefetch: 1 }).handle(work, async ({ id }) => {
        ran.set(id, (ran.get(id) ?? 0) + 1);
        await sleep(1);
      });
      await worker.start();
      await until("some have run", () => ran.size > round * 60);
      await worker.stop();
      expect(worker.held).toBe(0);
    }
    expect(await test.mill.queues.depth(queue)).toMatchObject({ running: 0, ready: 2000 - ran.size });
    const jobs = await test.mill.jobs.list({ queue, limit: 10_000 });
    for (const job of jobs)
      expect([job.id, job.state, job.attempts]).toEqual([
        job.id,
        ...(ran.has(job.id) ? ["succeeded", 1] : ["ready", 0]),
      ]);
    expect(new Set(ran.values())).toEqual(new Set([1]));
    expect(jobs).toHaveLength(made.length);
  });

  it("fires the signal after the grace period: a handler that obeys has not failed [#124]", async () => {
    const queue = await test.queue();
    const released: string[] = [];
    let started = 0;
    const worker = test.worker(queue, { grace: 100 }).handle(work, async ({ input }, { signal }) => {
      started += 1;
      if (input.n === 0) await sleep(60_000, undefined, { signal }); // rejects with an AbortError because of the reason
      const reason = await fired(signal);
      if (input.n === 1) throw reason;
      return "finished in a hurry";
    });
    worker.on("released", (job) => released.push(job.id)).on("failure", (job) => released.push(`failed ${job.id}`));
    const [sleeper, thrower, finisher] = await test.mill.enqueueMany(work, many(3), { queue });
    await worker.start();
    await until("all run", () => started === 3);
    await worker.stop();
    expect(released.toSorted()).toEqual([sleeper!.id, thrower!.id]);
    for (const { id } of [sleeper!, thrower!])
      expect((await test.mill.jobs.get(id))!.job).toMatchObject({ state: "ready", attempts: 0, lastError: null });
    expect((await test.mill.jobs.get(finisher!.id))!.job).toMatchObject({
      state: "succeeded",
      result: "finished in a hurry",
    });
  });

  it("leaves a deaf handler behind, says so, and gives its job back [#124]", async () => {
    const queue = await test.queue();
    const go = gate();
    const abandoned: string[] = [];
    const worker = test.worker(queue, { grace: 50 }).handle(work, () => go.opened);
    worker.on("abandoned", (jobs) => abandoned.push(...jobs.map((job) => job.id)));
    const { id } = await test.mill.enqueue(work, {}, { queue });
    await worker.start();
    await until("it runs", () => worker.held === 1);
    await worker.stop();
    expect(abandoned).toEqual([id]);
    expect((await test.mill.jobs.get(id))!.job).toMatchObject({ state: "ready", attempts: 0 });
    go.open();
  });

  it("waits for the handlers however long the grace period is [#124]", async () => {
    const queue = await test.queue();
    const go = gate();
    const signals: AbortSignal[] = [];
    const worker = test.worker(queue, { grace: "60d" }).handle(work, async (_, { signal }) => {
      signals.push(signal);
      await go.opened;
    });
    await test.mill.enqueue(work, {}, { queue });
    await worker.start();
    await until("it runs", () => signals.length === 1);
    const stopping = worker.stop();
    await sleep(200);
    expect(signals[0]!.aborted).toBe(false);
    go.open();
    await stopping;
  });

  it("with force, also in a second call, waits for no handler [#124]", async () => {
    const queue = await test.queue();
    const worker = test.worker(queue).handle(work, () => gate().opened);
    const { id } = await test.mill.enqueue(work, {}, { queue });
    await worker.start();
    await until("it runs", () => worker.held === 1);
    const stopping = worker.stop();
    await worker.stop({ force: true });
    await stopping;
    expect((await test.mill.jobs.get(id))!.job).toMatchObject({ state: "ready", attempts: 0 });
  });

  it("gives up on a database that is gone, when the grace period has passed again [#124]", async () => {
    const queue = await test.queue();
    const proxy = await startProxy(test.db.url);
    const worker = test
      .worker(queue, { grace: "100ms" }, test.open({ connection: proxy.url }))
      .handle(work, () => proxy.cut());
    worker.on("error", () => {});
    const { id } = await test.mill.enqueue(work, {}, { queue });
    await worker.start();
    await until("it has run", async () => (await test.mill.jobs.get(id))!.job.attempts === 1);
    await worker.stop();
    expect((await test.mill.jobs.get(id))!.job.state).toBe("running"); // until its lease ends
  });

  it("with force does not wait for a database that is gone [#124]", async () => {
    const queue = await test.queue();
    const proxy = await startProxy(test.db.url);
    const worker = test.worker(queue, { lease: "2s" }, test.open({ connection: proxy.url }));
    const [started, go] = [gate(), gate()];
    worker.handle(work, async () => {
      started.open();
      await go.opened;
    });
    const errors: unknown[] = [];
    worker.on("error", (error) => errors.push(error));
    await test.mill.enqueue(work, {}, { queue });
    await worker.start();
    await started.opened;
    proxy.cut();
    go.open();
    const stopping = worker.stop();
    await until("it was tried", () => errors.length > 0);
    await worker.stop({ force: true });
    await stopping;
  });
});

describe("starting and stopping", () => {
  it("start twice is harmless; after stop it is refused; stop twice is harmless [#124]", async () => {
    const queue = await test.queue();
    let starts = 0;
    const worker = test.worker(queue).handle(work, () => {});
    worker.on("started", () => (starts += 1));
    await Promise.all([worker.start(), worker.start()]);
    await worker.start();
    expect(starts).toBe(1);
    await Promise.all([worker.stop(), worker.stop()]);
    await worker.stop();
    await expect(worker.start()).rejects.toMatchObject(invalidArgument);
  });

  it("a stop while it starts stops it [#124]", async () => {
    const queue = await test.queue();
    let calls = 0;
    const worker = test.worker(queue).handle(work, () => void (calls += 1));
    const events: string[] = [];
    for (const name of ["started", "stopped"] as const) worker.on(name, () => events.push(name));
    const starting = worker.start();
    await worker.stop();
    await starting;
    expect(events).toEqual(["started", "stopped"]);
    await test.mill.enqueue(work, {}, { queue });
    await sleep(200);
    expect(calls).toBe(0);
    expect(worker.held).toBe(0);
  });

  it("one that was never started stops at once [#124]", async () => {
    await test.worker(await test.queue()).stop();
  });

  it("a failed start has started nothing, and can be tried again [#124]", async () => {
    const queue = await test.queue();
    const proxy = await startProxy(test.db.url);
    proxy.cut();
    const worker = test.worker(queue, {}, test.open({ connection: proxy.url })).handle(work, () => "ran");
    await expect(worker.start()).rejects.toMatchObject(databaseUnavailable);
    proxy.mend();
    await worker.start();
    expect(await test.mill.result(await test.mill.enqueue(work, {}, { queue }))).toBe("ran");
  });

  it("close() stops the workers and can be called twice [#124]", async () => {
    const queue = await test.queue();
    const mill = test.open();
    const events: string[] = [];
    const worker = test.worker(queue, {}, mill).handle(work, () => {});
    worker.on("stopped", () => events.push("stopped"));
    await worker.start();
    await Promise.all([mill.close(), mill.close()]);
    await mill.close();
    expect(events).toEqual(["stopped"]);
  });
});
