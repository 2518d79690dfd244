import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { defineJob } from "../../src/job/define-job.js";
import { useMill } from "../support/mill.js";
import { until } from "../support/wait.js";

const test = useMill();
const resize = defineJob("resize");
let names = 0;
const newName = (): string => `worker-${(names += 1)}`;

/** A handler that ends when it is told to, and how many of it run. */
function gate() {
  const waiting: (() => void)[] = [];
  return {
    handler: () => new Promise<void>((resolve) => waiting.push(resolve)),
    get running() {
      return waiting.length;
    },
    open: () => waiting.splice(0).forEach((resolve) => resolve()),
  };
}

const declared = async (name: string) =>
  (await test.mill.workers.list()).flatMap(({ workers, orders, id }) =>
    workers.filter((worker) => worker.name === name).map((worker) => ({ ...worker, orders, id })),
  );

describe("an order to workers", () => {
  it("pauses all of a name and lets them go on, asked twice too", async () => {
    const queue = await test.queue();
    const name = newName();
    const held = gate();
    const worker = test.worker(queue, { name, concurrency: 2, heartbeatThread: true }).handle(resize, held.handler);
    await worker.start();
    await test.mill.enqueueMany(resize, [1, 2, 3, 4, 5], { queue });
    await until("two run", () => held.running === 2);
    const note = { by: "ann", because: "the provider is down" };
    const ordered = once(worker, "ordered");
    expect(await test.mill.workers.pause({ worker: name }, note)).toBe(1);
    expect(await test.mill.workers.pause({ worker: name }, note)).toBe(1);
    expect((await ordered)[0]).toMatchObject({ hold: "pause", ...note });
    await until("it is told", async () => (await declared(name))[0]?.held === "paused", 20_000);
    expect((await declared(name))[0]!.orders).toMatchObject([
      { process: null, worker: name, hold: "pause", concurrency: null, ...note, at: expect.any(Date) },
    ]);
    held.open();
    await until("what ran has ended", async () => (await test.mill.engine.queueDepth(queue)).running === 0);
    expect(await test.mill.engine.queueDepth(queue)).toMatchObject({ ready: 3 });
    expect(held.running).toBe(0);
    expect(await test.mill.workers.resume({ worker: name })).toBe(1);
    await until("the next two run", () => held.running === 2, 20_000);
    expect(await test.mill.workers.resume({ worker: name })).toBe(0);
    await until("it is told", async () => (await declared(name))[0]?.held === undefined, 20_000);
    held.open();
    await until("the last runs", () => held.running === 1);
    held.open();
  });

  it("drains a process: it shows so when the last handler has ended, and one that starts later is free", async () => {
    const queue = await test.queue();
    const name = newName();
    const held = gate();
    const worker = test.worker(queue, { name, concurrency: 2, heartbeatThread: true }).handle(resize, held.handler);
    await worker.start();
    await test.mill.enqueueMany(resize, [1, 2, 3], { queue });
    await until("two run", () => held.running === 2);
    const { id } = (await declared(name))[0]!;
    await test.mill.workers.drain({ process: id, worker: name }, { by: "ann" });
    await until("it drains", async () => (await declared(name))[0]?.held === "draining", 20_000);
    expect(held.running).toBe(2);
    const drained = once(worker, "drained");
    held.open();
    await drained;
    await until("it is told", async () => (await declared(name))[0]?.held === "drained", 20_000);
    expect(await test.mill.engine.queueDepth(queue)).toMatchObject({ ready: 1, running: 0 });
    await worker.stop();
    expect(await test.db.sql("select from worker_order where process = $1", [id])).toEqual([]);
  });

  it("is obeyed by one that starts later, before it takes a job", async () => {
    const queue = await test.queue();
    const name = newName();
    const first = test.worker(queue, { name }).handle(resize, () => {});
    await first.start();
    await test.mill.workers.pause({ worker: name }, { because: "first" });
    await first.stop();
    await test.mill.enqueue(resize, 1, { queue });
    let runs = 0;
    const second = test.worker(queue, { name, heartbeatThread: true }).handle(resize, () => void (runs += 1));
    await second.start();
    expect(second.order).toMatchObject({ hold: "pause", because: "first" });
    expect(await test.mill.engine.queueDepth(queue)).toMatchObject({ ready: 1, running: 0 });
    await test.mill.workers.resume({ worker: name });
    await until("it runs", () => runs === 1, 20_000);
  });

  it("changes the concurrency and gives it back, while who holds it stays known", async () => {
    const queue = await test.queue();
    const name = newName();
    const held = gate();
    const worker = test.worker(queue, { name, concurrency: 1, heartbeatThread: true }).handle(resize, held.handler);
    await worker.start();
    await test.mill.enqueueMany(resize, [1, 2, 3, 4], { queue });
    await until("one runs", () => held.running === 1);
    await test.mill.workers.concurrency({ worker: name }, 3, { by: "bob" });
    await until("three run", () => held.running === 3, 20_000);
    expect(worker.concurrency).toBe(3);
    worker.concurrency = 2; // its own, for when the order has ended
    expect(worker.concurrency).toBe(3);
    await test.mill.workers.pause({ worker: name }, { by: "ann" });
    await test.mill.workers.concurrency({ worker: name }, 4, { by: "bob" });
    expect((await declared(name))[0]!.orders).toMatchObject([{ hold: "pause", concurrency: 4, by: "ann" }]);
    await test.mill.workers.resume({ worker: name });
    await test.mill.workers.concurrency({ worker: name }, null);
    await until("its own counts", () => worker.concurrency === 2 && worker.order === undefined, 20_000);
    expect((await declared(name))[0]!.orders).toEqual([]);
    held.open();
    await until("the last runs", () => held.running === 1);
    held.open();
  });

  it("to nobody is a typed error, as is one that cannot be obeyed", async () => {
    const { workers } = test.mill;
    await expect(workers.pause({ worker: "nobody" })).rejects.toMatchObject({ code: "MR022" });
    await expect(workers.drain({ process: "nowhere" })).rejects.toMatchObject({ code: "MR022" });
    await expect(workers.resume({ process: "nowhere", worker: "nobody" })).rejects.toThrow(
      'there is no worker "nobody" in process "nowhere"',
    );
    await expect(workers.pause({} as never)).rejects.toMatchObject({ code: "MR001" });
    await expect(workers.pause({ name: "x" } as never)).rejects.toMatchObject({ code: "MR001" });
    const queue = await test.queue();
    const name = newName();
    await test
      .worker(queue, { name })
      .handle(resize, () => {})
      .start();
    await expect(workers.concurrency({ worker: name }, 0)).rejects.toMatchObject({ code: "MR001" });
    await expect(workers.concurrency({ worker: name }, 9001)).rejects.toMatchObject({ code: "MR001" });
    await expect(workers.pause({ worker: name }, { because: "x".repeat(1001) })).rejects.toMatchObject({
      code: "MR001",
    });
    const { id } = (await declared(name))[0]!;
    await workers.pause({ process: id });
    await expect(workers.resume({ worker: name })).rejects.toThrow(`an order for process "${id}" still holds it`);
    await workers.resume({ process: id });
  });

  it("for a name that nobody has had for a week is forgotten, and one for a process that is gone", async () => {
    const facts = {
      host: "h",
      pid: 1,
      release: null,
      workers: [{ name: "old", queues: [], types: [], concurrency: 1 }],
    };
    const state = { running: 0, memoryBytes: 1, stalledSeconds: 0 };
    await test.mill.engine.workerBeat("h:1:old", facts, state);
    await test.mill.workers.pause({ worker: "old" });
    await test.mill.workers.pause({ process: "h:1:old" });
    const left = () =>
      test.db.sql("select process, worker from worker_order where worker = 'old' or process = 'h:1:old'");
    await test.db.sql("update worker_process set expected_at = now() - interval '25 hours' where id = 'h:1:old'");
    await test.mill.engine.maintain();
    expect(await left()).toEqual([{ process: "", worker: "old" }]);
    await test.db.sql("update worker_order set at = now() - interval '8 days' where worker = 'old'");
    await test.mill.engine.maintain();
    expect(await left()).toEqual([]);
  });
});
