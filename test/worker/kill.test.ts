import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect } from "vitest";
import { defineJob } from "../../src/job/define-job.js";
import type { JobDetails, JobId } from "../../src/db/types.js";
import { useMill } from "../support/mill.js";
import { type WorkerProcess, it } from "../support/processes.js";
import { startProxy } from "../support/proxy.js";
import { randomFrom } from "../support/steps.js";
import { until } from "../support/wait.js";

/** What a handler in worker-process.mjs does. */
interface Input {
  readonly sleepMs?: number;
  readonly blockMs?: number;
  readonly untilSignal?: boolean;
  readonly exit?: boolean;
}

const test = useMill();
const work = defineJob<Input>("work", { retryDelay: 0 });
const repeated = (count: number, input: Input): Input[] => Array.from({ length: count }, () => input);
const pollInterval = 100;
const short = { lease: "1s", pollInterval } as const;
const long = { lease: "5s", pollInterval } as const;

async function details(id: JobId): Promise<JobDetails> {
  const found = await test.mill.jobs.get(id);
  if (!found) throw new Error(`there is no job ${id}`);
  return found;
}

describe.concurrent("SIGKILL", () => {
  it("gives the job to whoever is left, after the lease and not the attempt timeout, with attempt 2 [#11 #16 #30 #128 #134 #135]", async ({
    start,
  }) => {
    const [queue, { url }] = [await test.queue(), test.db];
    const victim = start({ url, queue, worker: { ...short, lease: "2s", name: "victim" } });
    const { id } = await test.mill.enqueue(work, { sleepMs: 2000 }, { queue, attemptTimeout: "1h" });
    await victim.hasSaid("start");
    victim.kill("SIGKILL");
    await victim.exit;
    const { job } = await details(id);
    expect(job).toMatchObject({ state: "running", attempts: 1, worker: "victim", leaseEnded: false });
    expect(await test.db.engine.claim({ queues: [queue] })).toEqual([]);

    const survivor = start({ url, queue, worker: { ...long, name: "survivor" } });
    expect(await test.mill.result(id)).toEqual({ by: "survivor", attempt: 2 });
    expect(survivor.of("start")).toMatchObject([{ id, attempt: 2, input: { sleepMs: 2000 } }]);
    const { attempts } = await details(id);
    expect(attempts).toMatchObject([
      { attempt: 1, outcome: "lost", worker: "victim" },
      { attempt: 2, outcome: "succeeded", worker: "survivor" },
    ]);
    expect(attempts[1]!.startedAt.getTime()).toBeGreaterThanOrEqual(job.leaseEndsAt!.getTime());
  });

  it("at random moments loses none of 1000 jobs: each ran, and all have succeeded [#120 #92]", async ({ start }) => {
    const [queue, { url }] = [await test.queue(), test.db];
    const seed = Date.now() % 1_000_000;
    console.log(`seed ${seed}`);
    const random = randomFrom(seed);
    const options = { url, queue, worker: short };
    const made = await test.mill.enqueueMany(work, repeated(1000, { sleepMs: 5 }), { queue });
    const all = [start(options), start(options)];
    for (let kills = 0; kills < 4; kills += 1) {
      await all[kills]!.hasSaid("start");
      await sleep(random(150));
      all[kills]!.kill("SIGKILL");
      all.push(start(options));
    }
    await Promise.all(made.map((job) => test.mill.result(job)));
    // what a process said may be heard later than what it did is seen
    await expect
      .poll(() => {
        const ran = new Set(all.flatMap((one) => one.ids("start")));
        return made.filter(({ id }) => !ran.has(id));
      })
      .toEqual([]);
    await until("nothing is left", async () => (await test.mill.queues.depth(queue)).running === 0);
    expect(await test.mill.queues.depth(queue)).toMatchObject({ ready: 0, delayed: 0 });
  });

  it("of a process by its own job costs the others nothing but time [#16 #134]", async ({ start }) => {
    const [queue, { url }] = [await test.queue(), test.db];
    const poison = await test.mill.enqueue(work, { exit: true }, { queue, maxAttempts: 2 });
    const made = await test.mill.enqueueMany(work, [{}, {}, {}, {}], { queue });
    const exits: WorkerProcess[] = [];
    const isOver = async () => (await details(poison.id)).job.state === "failed";
    while (!(await isOver())) {
      const process = start({ url, queue, worker: short });
      await Promise.race([process.exit.then(() => exits.push(process)), until("the poisonous one is over", isOver)]);
    }
    expect((await details(poison.id)).job).toMatchObject({ state: "failed", attempts: 2 });
    await Promise.all(made.map((job) => test.mill.result(job)));
    expect(exits).toHaveLength(2);
  });
});

describe.concurrent("SIGSTOP", () => {
  it("costs the lease; on SIGCONT the signal fires, nothing is reported, and the second outcome stands [#96 #121 #134]", async ({
    start,
  }) => {
    const [queue, { url }] = [await test.queue(), test.db];
    const frozen = start({ url, queue, worker: { ...short, name: "frozen" } });
    const { id } = await test.mill.enqueue(work, { untilSignal: true }, { queue });
    await frozen.hasSaid("start");
    frozen.kill("SIGSTOP");
    let [second] = await test.db.engine.claim({ queues: [queue] });
    await until("the lease has ended", async () => {
      [second] = await test.db.engine.claim({ queues: [queue], leaseSeconds: 100 });
      return second !== undefined;
    });
    frozen.kill("SIGCONT");
    await frozen.hasSaid("lost");
    await frozen.hasSaid("end");
    expect(frozen.of("signal")).toMatchObject([{ id, reason: expect.stringContaining("lease") }]);
    await test.db.engine.complete(second!, "by the second");
    expect(await details(id)).toMatchObject({
      job: { state: "succeeded", result: "by the second" },
      attempts: [{ outcome: "lost" }, { outcome: "succeeded" }],
    });
  });
});

describe.concurrent("an event loop that stands still", () => {
  it("keeps its lease for as long as it is allowed to: the job runs once [#95]", async ({ start }) => {
    const [queue, { url }] = [await test.queue(), test.db];
    const busy = start({ url, queue, worker: { ...short, lease: "3s" } });
    const { id } = await test.mill.enqueue(work, { blockMs: 7000 }, { queue });
    await busy.hasSaid("start");
    let others = 0;
    await until("it has ended", async () => {
      others += (await test.db.engine.claim({ queues: [queue] })).length;
      return (await details(id)).job.state !== "running";
    });
    expect(others).toBe(0);
    expect((await details(id)).job).toMatchObject({ state: "succeeded", attempts: 1 });
  });

  it("loses it afterwards, and is fenced when it wakes up [#95 #96 #134]", async ({ start }) => {
    const [queue, { url }] = [await test.queue(), test.db];
    const hung = start({ url, queue, worker: { ...short, name: "hung", stallTimeout: "1s", concurrency: 1 } });
    const { id } = await test.mill.enqueue(work, { blockMs: 6000 }, { queue });
    await hung.hasSaid("start");
    await until("somebody else gets it", async () => {
      const [second] = await test.db.engine.claim({ queues: [queue], leaseSeconds: 100 });
      if (second) await test.db.engine.complete(second, "by the second");
      return second !== undefined;
    });
    await hung.hasSaid("end");
    await until("it was told", () => hung.of("lost").length + hung.of("refused").length > 0);
    expect((await details(id)).job).toMatchObject({ result: "by the second", attempts: 2 });
  });
});

describe.concurrent("SIGTERM", () => {
  it("stops gracefully: what runs is finished and recorded, the rest goes back, and the process ends by itself [#124]", async ({
    start,
  }) => {
    const [queue, { url }] = [await test.queue(), test.db];
    const worker = start({ url, queue, worker: { ...long, handleSignals: true, concurrency: 1, prefetch: 2 } });
    const made = await test.mill.enqueueMany(work, repeated(5, { sleepMs: 700 }), { queue });
    await worker.hasSaid("start");
    worker.kill("SIGTERM");
    expect(await worker.exit).toEqual({ code: 0, signal: null });
    expect(worker.of("stopped")).toHaveLength(1);
    const ended = worker.ids("end");
    expect(ended).toEqual(worker.ids("start"));
    expect(ended.length).toBeLessThan(5);
    for (const { id } of made) {
      const { job } = await details(id);
      expect([id, job.state, job.attempts]).toEqual([id, ...(ended.includes(id) ? ["succeeded", 1] : ["ready", 0])]);
    }
  });

  it("twice does not wait for handlers [#124]", async ({ start }) => {
    const [queue, { url }] = [await test.queue(), test.db];
    const worker = start({ url, queue, worker: { ...long, handleSignals: true } });
    const { id } = await test.mill.enqueue(work, { sleepMs: 100_000 }, { queue });
    await worker.hasSaid("start");
    worker.kill("SIGTERM");
    await sleep(100);
    worker.kill("SIGTERM");
    await worker.hasSaid("stopped");
    expect((await details(id)).job).toMatchObject({ state: "ready", attempts: 0 });
  });

  it("ends the process as ever when nobody asked for a graceful stop [#30]", async ({ start }) => {
    const worker = start({ url: test.db.url, queue: await test.queue() });
    await worker.hasSaid("ready");
    worker.kill("SIGTERM");
    expect(await worker.exit).toEqual({ code: null, signal: "SIGTERM" });
  });
});

describe.concurrent("an error outside of all handlers", () => {
  it.for(["exception", "rejection"] as const)(
    "an uncaught %s ends the process, as it would without a worker [#141]",
    async (stray, { start }) => {
      const process = start({ url: test.db.url, queue: await test.queue(), stray });
      expect(await process.exit).toEqual({ code: 1, signal: null });
      expect(process.errors.join("\n")).toContain("nobody's fault");
    },
  );
});

describe.concurrent("three hosts", () => {
  it("finish everything when one is killed and one is cut off from the database [#92 #135]", async ({
    start,
    onTestFinished,
  }) => {
    const [queue, { url }] = [await test.queue(), test.db];
    const proxy = await startProxy(url, onTestFinished);
    const worker = { ...short, concurrency: 5 };
    const [killed, cut, whole] = [
      start({ url, queue, worker }),
      start({ url: proxy.url, queue, worker }),
      start({ url, queue, worker }),
    ];
    await Promise.all([killed, cut, whole].map((one) => one.hasSaid("ready")));
    const made = await test.mill.enqueueMany(work, repeated(60, { sleepMs: 100 }), { queue });
    await Promise.all([killed, cut, whole].map((one) => one.hasSaid("start")));
    proxy.freeze();
    killed.kill("SIGKILL");
    await Promise.all(made.map((job) => test.mill.result(job)));
    proxy.thaw();
    whole.kill("SIGKILL");
    // the one that was cut off goes on by itself
    expect(await test.mill.result(await test.mill.enqueue(work, {}, { queue }))).toMatchObject({ attempt: 1 });
    expect(await test.mill.jobs.list({ queue, state: "failed" })).toEqual([]);
  });
});
