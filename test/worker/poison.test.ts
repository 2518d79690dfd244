import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect } from "vitest";
import { type AnyJobDefinition, defineJob } from "../../src/job/define-job.js";
import type { Enqueued } from "../../src/db/types.js";
import { suspectMs } from "../../src/worker/quarantine.js";
import { useMill } from "../support/mill.js";
import { type ProcessOptions, type WorkerProcess, it } from "../support/processes.js";
import { gate, until } from "../support/wait.js";

const test = useMill();
const work = defineJob<{ readonly sleepMs?: number; readonly kill?: boolean }>("work");
const other = defineJob("other");

/** Keep one worker running, as whoever runs it in production does, until something is so. Returns all there were. */
async function supervise(
  start: (options: ProcessOptions) => WorkerProcess,
  options: ProcessOptions,
  isOver: () => Promise<boolean>,
): Promise<WorkerProcess[]> {
  const all: WorkerProcess[] = [];
  while (!(await isOver())) {
    const process = start(options);
    all.push(process);
    await Promise.race([process.exit, until("it is over", isOver)]);
  }
  return all;
}

/** Jobs that somebody holds who will be lost when the test says so: whoever claims them next must run them alone. */
async function doomed(
  queue: string,
  ...definitions: AnyJobDefinition[]
): Promise<{ readonly made: Enqueued[]; readonly lose: () => Promise<void> }> {
  const made: Enqueued[] = [];
  for (const definition of definitions) made.push(await test.mill.enqueue(definition, {}, { queue }));
  const held = await test.db.engine.claim({ queues: [queue], limit: 100, leaseSeconds: 1000 });
  const tokens = [...new Set(held.map(({ token }) => token))];
  const lose = async () => {
    await test.db.engine.claimExtend(tokens, 0.001);
    await sleep(5);
    await test.db.engine.maintain();
  };
  return { made, lose };
}

const jobsOf = async (made: readonly Enqueued[]) =>
  Promise.all(made.map(async ({ id }) => (await test.mill.jobs.get(id))!.job));

describe("a job that ends its process every time", () => {
  it("fails alone: 60 others succeed, none lost, none hit more than once [#16 #134]", async ({ start }) => {
    const queue = await test.queue();
    const inputs = Array.from({ length: 61 }, (_, n) => (n === 30 ? { kill: true } : { sleepMs: 20 }));
    const made = await test.mill.enqueueMany(work, inputs, { queue, maxAttempts: 3 });
    const [poison] = made.splice(30, 1);
    const worker = { lease: "1s", pollInterval: 100, concurrency: 5, prefetch: 2 } as const;
    const processes = await supervise(start, { url: test.db.url, queue, worker }, async () => {
      const { ready, running, delayed } = await test.mill.queues.depth(queue);
      return ready + running + delayed === 0;
    });

    const { job, attempts } = (await test.mill.jobs.get(poison!.id))!;
    expect(job).toMatchObject({ state: "failed", attempts: 3 });
    expect(attempts).toMatchObject([{ outcome: "lost" }, { outcome: "lost" }, { outcome: "lost", reason: "lost" }]);
    const others = await jobsOf(made);
    expect(others.filter(({ state }) => state !== "succeeded")).toEqual([]);
    expect(others.filter(({ attempts: used }) => used > 2)).toEqual([]);
    expect(others.filter(({ attempts: used }) => used === 2).length).toBeGreaterThan(0);

    const killed = processes.filter((process) => process.said.at(-1)?.id === poison!.id);
    expect(killed).toHaveLength(3);
    // The second and third time everything that had started before it had also ended.
    for (const process of killed.slice(1))
      expect(process.ids("start").slice(0, -1).toSorted()).toEqual(process.ids("end").toSorted());
  });
});

describe("a job lost before", () => {
  it("lets what runs end, then runs a second alone, then is joined by others, without waiting for the next poll", async () => {
    const queue = await test.queue();
    const [first, go] = [gate(), gate()];
    const started = new Map<string, number>();
    const {
      made: [suspect],
      lose,
    } = await doomed(queue, work);
    const made = [await test.mill.enqueue(work, {}, { queue })];
    const worker = test
      .worker(queue, { pollInterval: "1m", maintenance: false })
      .handle(work, async ({ id, alone }) => {
        started.set(id, performance.now());
        await (alone ? go : first).opened;
      });
    await worker.start();
    await until("one runs", () => started.size === 1);
    await lose();
    worker.wake();
    await until("the suspect is here", () => worker.held === 2);
    made.push(await test.mill.enqueue(work, {}, { queue }));
    worker.wake();
    await sleep(100);
    expect(started.size).toBe(1);
    expect(await test.mill.queues.depth(queue)).toMatchObject({ ready: 1, running: 2 });

    first.open();
    await until("the suspect runs", () => started.has(suspect!.id));
    expect((await jobsOf(made)).map(({ state }) => state)).toEqual(["succeeded", "ready"]);
    await until("another one runs beside it", () => started.size === 3);
    expect(started.get(made[1]!.id)! - started.get(suspect!.id)!).toBeGreaterThan(suspectMs - 10);
    expect(worker.held).toBeGreaterThan(0);
    go.open();
    expect(await Promise.all([...made, suspect!].map((job) => test.mill.result(job)))).toHaveLength(3);
  });

  it("follows another only when that is recorded, in a batch of its own [#16]", async () => {
    const queue = await test.queue();
    const { made, lose } = await doomed(queue, ...Array<AnyJobDefinition>(6).fill(work));
    await lose();
    const batches: number[] = [];
    const running: number[] = [];
    const worker = test.worker(queue).handleBatch(
      work,
      async (jobs) => {
        batches.push(jobs.length);
        running.push((await test.mill.queues.depth(queue)).running);
      },
      { size: 10, concurrency: 3 },
    );
    await worker.start();
    await Promise.all(made.map((job) => test.mill.result(job)));
    expect([batches, running]).toEqual([Array(6).fill(1), Array(6).fill(1)]);
    expect((await jobsOf(made)).map(({ attempts }) => attempts)).toEqual(Array(6).fill(2));
  });

  it("of two types with limits of their own runs like any other, and uses no attempt by waiting [#16]", async () => {
    const queue = await test.queue();
    const { made, lose } = await doomed(queue, work, other, work, other, other, work);
    await lose();
    const worker = test
      .worker(queue)
      .handle(work, () => sleep(5), { concurrency: 1 })
      .handle(other, () => sleep(5), { concurrency: 2 });
    await worker.start();
    await Promise.all(made.map((job) => test.mill.result(job)));
    expect((await jobsOf(made)).map(({ attempts }) => attempts)).toEqual(Array(6).fill(2));
  });

  it("and cancelled while it waits holds up nobody any more", async () => {
    const queue = await test.queue();
    const go = gate();
    let calls = 0;
    const {
      made: [suspect],
      lose,
    } = await doomed(queue, work);
    await test.mill.enqueue(other, {}, { queue });
    const worker = test
      .worker(queue, { lease: "1s" })
      .handle(other, () => go.opened)
      .handle(work, () => void (calls += 1));
    await worker.start();
    await until("one runs", () => worker.held === 1);
    const lost = new Promise((resolve) => worker.once("lost", ({ id }) => resolve(id)));
    await lose();
    await until("the suspect is here", () => worker.held === 2);
    const next = await test.mill.enqueue(work, {}, { queue });
    await test.mill.cancel(suspect!);
    expect(await lost).toBe(suspect!.id);
    await test.mill.result(next);
    expect([calls, worker.held]).toEqual([1, 1]);
    go.open();
  });

  it("and waiting when the worker stops goes back unharmed [#124]", async () => {
    const queue = await test.queue();
    const go = gate();
    const { made, lose } = await doomed(queue, work);
    await test.mill.enqueue(other, {}, { queue });
    const worker = test
      .worker(queue)
      .handle(other, () => go.opened)
      .handle(work, () => {});
    await worker.start();
    await until("one runs", () => worker.held === 1);
    await lose();
    await until("the suspect is here", () => worker.held === 2);
    const stopping = worker.stop();
    await until("it is back", async () => (await test.mill.queues.depth(queue)).ready === 1);
    go.open();
    await stopping;
    expect(await jobsOf(made)).toMatchObject([{ state: "ready", attempts: 1 }]);
  });
});
