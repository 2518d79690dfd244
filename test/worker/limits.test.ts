import { createHook } from "node:async_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { defineJob } from "../../src/job/define-job.js";
import { useMill } from "../support/mill.js";
import { gate, until } from "../support/wait.js";

const test = useMill();
const work = defineJob<{ n?: number }>("work");
const other = defineJob<{ n?: number }>("other");
const many = (count: number) => Array.from({ length: count }, (_, n) => ({ n }));

/** Counts calls, and how many there were at once. */
class Crowd {
  now = 0;
  most = 0;
  calls = 0;

  async visit(stay: () => Promise<unknown>): Promise<void> {
    this.calls += 1;
    this.now += 1;
    this.most = Math.max(this.most, this.now);
    await stay();
    this.now -= 1;
  }
}

describe("concurrency", () => {
  it("is never exceeded, and raised without a restart [#118 #164]", async () => {
    const queue = await test.queue();
    const crowd = new Crowd();
    const go = gate();
    const worker = test.worker(queue, { concurrency: 2 }).handle(work, () => crowd.visit(() => go.opened));
    const made = await test.mill.enqueueMany(work, many(20), { queue });
    await worker.start();
    await until("two run", () => crowd.now === 2);
    await sleep(200);
    expect(crowd.most).toBe(2);
    worker.concurrency = 5;
    await until("five run", () => crowd.now === 5);
    go.open();
    await Promise.all(made.map((job) => test.mill.result(job)));
    expect([crowd.most, crowd.calls]).toEqual([5, 20]);
  });

  it("is lowered as handlers end [#164]", async () => {
    const queue = await test.queue();
    const crowd = new Crowd();
    const first = gate();
    const worker = test
      .worker(queue, { concurrency: 6 })
      .handle(work, () => crowd.visit(() => first.opened.then(() => sleep(5))));
    const made = await test.mill.enqueueMany(work, many(30), { queue });
    await worker.start();
    await until("six run", () => crowd.now === 6);
    worker.concurrency = 1;
    first.open();
    await until("most have ended", () => crowd.calls > 15);
    crowd.most = 0;
    await Promise.all(made.map((job) => test.mill.result(job)));
    expect(crowd.most).toBe(1);
  });

  it("of two types is independent, and each job goes to its own handler [#116]", async () => {
    const queue = await test.queue();
    const [crowd, others] = [new Crowd(), new Crowd()];
    const go = gate();
    const worker = test
      .worker(queue, { concurrency: 8 })
      .handle(work, () => crowd.visit(() => go.opened), { concurrency: 1 })
      .handle(other, () => others.visit(() => go.opened), { concurrency: 3 });
    const made = [
      ...(await test.mill.enqueueMany(work, many(10), { queue })),
      ...(await test.mill.enqueueMany(other, many(10), { queue })),
    ];
    await worker.start();
    await until("all that may run do", () => crowd.now === 1 && others.now === 3);
    go.open();
    await Promise.all(made.map((job) => test.mill.result(job)));
    expect([crowd.most, crowd.calls, others.most, others.calls]).toEqual([1, 10, 3, 10]);
  });

  it("of a queue in all workers together is filled again as jobs end, and another queue does not wait for it [#147 #165 #166]", async () => {
    const [full, open] = [await test.queue({ maxRunning: 2 }), await test.queue()];
    const crowd = new Crowd();
    const go = gate();
    for (const name of ["one", "two"])
      await test
        .worker([full, open], { concurrency: 10, pollInterval: "1m", heartbeatThread: true, name })
        .handle(work, () => crowd.visit(() => go.opened.then(() => sleep(2))))
        .handle(other, ({ input }) => input)
        .start();
    const made = await test.mill.enqueueMany(work, many(40), { queue: full });
    await until("two run", () => crowd.now === 2);
    expect(
      await test.mill.result(await test.mill.enqueue(other, { n: 1 }, { queue: open }), { timeout: "30s" }),
    ).toEqual({ n: 1 });
    expect(crowd.now).toBe(2);
    go.open();
    await Promise.all(made.map((job) => test.mill.result(job, { timeout: "30s" })));
    expect(crowd.most).toBe(2);
  });

  it("bounds calls of a batch handler, not jobs [#116]", async () => {
    const queue = await test.queue();
    const crowd = new Crowd();
    const worker = test
      .worker(queue)
      .handleBatch(work, (jobs) => crowd.visit(() => sleep(5 * jobs.length)), { size: 10, concurrency: 2 });
    const made = await test.mill.enqueueMany(work, many(60), { queue });
    await worker.start();
    await Promise.all(made.map((job) => test.mill.result(job)));
    expect(crowd.most).toBeLessThanOrEqual(2);
    expect(crowd.calls).toBeLessThan(60);
  });
});

describe("what a worker holds", () => {
  it.each([
    [0, 4],
    [0.2, 5],
    [2, 12],
  ])("with prefetch %d and four slots is at most %d leases [#89 #182]", async (prefetch, most) => {
    const queue = await test.queue();
    const go = gate();
    const worker = test.worker(queue, { concurrency: 4, prefetch }).handle(work, () => go.opened);
    const made = await test.mill.enqueueMany(work, many(30), { queue });
    await worker.start();
    await until("all are here", async () => (await test.mill.queues.depth(queue)).running === most);
    for (let look = 0; look < 10; look += 1) {
      worker.wake();
      expect((await test.mill.queues.depth(queue)).running).toBe(most);
      expect(worker.held).toBe(most);
    }
    go.open();
    await Promise.all(made.map((job) => test.mill.result(job)));
    await until("nothing is left", () => worker.held === 0);
  });

  it("comes in batches through one fetcher: 100 handlers need far fewer claims than jobs [#89]", async () => {
    const queue = await test.queue();
    let claims = 0;
    const mill = test.open({
      metrics: {
        count: (name) => void (claims += Number(name === "millrace_polls_total")),
        move: () => {},
        observe: () => {},
      },
    });
    const crowd = new Crowd();
    const made = await test.mill.enqueueMany(work, many(1000), { queue });
    const worker = test
      .worker(queue, { concurrency: 100, pollInterval: "1m" }, mill)
      .handle(work, () => crowd.visit(() => sleep(20)));
    await worker.start();
    await Promise.all(made.map((job) => test.mill.result(job)));
    expect(crowd.most).toBeLessThanOrEqual(100);
    expect(crowd.most).toBeGreaterThan(50);
    expect(claims).toBeLessThan(200);
  });

  it("is no connection: 100 sleeping handlers get along with a pool of two [#91]", async () => {
    const queue = await test.queue();
    const mill = test.open({ connection: { connectionString: test.db.url, max: 2, application_name: "pool-of-two" } });
    const crowd = new Crowd();
    const go = gate();
    const made = await test.mill.enqueueMany(work, many(100), { queue });
    await test
      .worker(queue, { concurrency: 100 }, mill)
      .handle(work, () => crowd.visit(() => go.opened))
      .start();
    await until("all sleep", () => crowd.now === 100);
    const [row] = await test.db.sql(
      "select count(*)::int as n from pg_stat_activity where application_name = 'pool-of-two'",
    );
    expect(row!["n"]).toBeLessThanOrEqual(2);
    go.open();
    await Promise.all(made.map((job) => test.mill.result(job)));
  });
});

describe("a slot", () => {
  it("is refilled at once, not at the next poll [#166]", async () => {
    const queue = await test.queue();
    const made = await test.mill.enqueueMany(work, many(100), { queue });
    await test
      .worker(queue, { concurrency: 1, prefetch: 0, pollInterval: "1m" })
      .handle(work, () => sleep(1))
      .start();
    await Promise.all(made.map((job) => test.mill.result(job, { timeout: "20s" })));
  });

  it("that is taken costs nothing: a worker whose slots are full sleeps, however many jobs wait [#166]", async () => {
    const queue = await test.queue();
    const go = gate();
    let [calls, timers] = [0, 0];
    await test
      .worker(queue, { concurrency: 1, prefetch: 0, pollInterval: "1s" })
      .handle(work, async () => {
        calls += 1;
        if (calls === 1) await go.opened;
      })
      .start();
    const made = await test.mill.enqueueMany(work, many(3), { queue });
    await until("the first runs", () => calls === 1);
    await sleep(100);
    const counting = createHook({ init: (_, type) => void (timers += Number(type === "Timeout")) }).enable();
    await sleep(400);
    counting.disable();
    expect(timers).toBeLessThan(50);
    go.open();
    await Promise.all(made.map((job) => test.mill.result(job)));
  });

  it("goes to what has waited here for longest, whatever type was registered first [#116 #35]", async () => {
    const queue = await test.queue();
    const seen: string[] = [];
    const worker = test
      .worker(queue, { concurrency: 1, prefetch: 40 })
      .handle(work, async () => {
        seen.push("work");
        await sleep(3);
      })
      .handle(other, async () => {
        seen.push("other");
        await sleep(3);
      });
    const made = [
      ...(await test.mill.enqueueMany(work, many(200), { queue })),
      ...(await test.mill.enqueueMany(other, many(3), { queue, priority: 4 })),
    ];
    await worker.start();
    await Promise.all(made.map((job) => test.mill.result(job)));
    expect(seen.slice(0, 3)).toEqual(["other", "other", "other"]);
  });
});

describe("types", () => {
  it("nobody handles are left alone, listed and counted; the others come oldest first [#35 #45 #78]", async () => {
    const queue = await test.queue();
    const seen: number[] = [];
    const strangers = await test.mill.enqueueMany("stranger", [1, 2], { queue });
    const made = await test.mill.enqueueMany(other, many(20), { queue });
    await test
      .worker(queue, { concurrency: 1 })
      .handle(other, ({ input }) => void seen.push(input.n!))
      .start();
    await Promise.all(made.map((job) => test.mill.result(job)));
    await sleep(200);
    expect(seen).toEqual(many(20).map(({ n }) => n));
    expect(await test.mill.jobs.list({ queue, type: "stranger" })).toMatchObject(
      strangers.toReversed().map(({ id }) => ({ id, state: "ready", attempts: 0, worker: null })),
    );
    expect(await test.mill.queues.depth(queue)).toMatchObject({ ready: 2, running: 0 });
  });

  it("handled by several workers run each job once, whoever is faster [#167 #168 #88]", async () => {
    const queue = await test.queue();
    const ran = new Map<string, number>();
    const errors: unknown[] = [];
    const made = await test.mill.enqueueMany(work, many(400), { queue });
    await Promise.all(
      [1, 2, 3, 4, 5].map(async () => {
        const worker = test
          .worker(queue, { concurrency: 3 })
          .handle(work, ({ id }) => void ran.set(id, (ran.get(id) ?? 0) + 1));
        worker.on("error", (error) => errors.push(error)).on("refused", (ids) => errors.push(ids));
        await worker.start();
      }),
    );
    await Promise.all(made.map((job) => test.mill.result(job)));
    expect(ran.size).toBe(400);
    expect(new Set(ran.values())).toEqual(new Set([1]));
    expect(errors).toEqual([]);
  });
});

describe("a rate", () => {
  it("is kept by several workers, and used up between their polls", async () => {
    const queue = await test.queue();
    await test.mill.queues.put(queue, { rate: { perSecond: 40, burst: 1 } });
    const crowd = new Crowd();
    await test.mill.enqueueMany(work, many(200), { queue });
    const workers = [1, 2].map(() =>
      test.worker(queue, { concurrency: 10 }).handle(work, () => crowd.visit(() => Promise.resolve())),
    );
    const startedAt = performance.now();
    for (const worker of workers) await worker.start();
    await until("some have run", () => crowd.calls >= 60);
    const seconds = (performance.now() - startedAt) / 1000;
    expect(seconds).toBeGreaterThan(1.4); // 60 starts take 59 tokens more than there were
    expect(seconds).toBeLessThan(10); // with a token at each poll they would take 30 s
  });
});
