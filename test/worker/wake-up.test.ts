import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { describe, expect, it } from "vitest";
import { defineJob } from "../../src/job/define-job.js";
import { useMill } from "../support/mill.js";
import { until } from "../support/wait.js";

const test = useMill();
const work = defineJob<number>("work");
/** Who is not woken would wait longer than the test does; who may not do the upkeep does not keep the watch. */
const onlyWoken = { heartbeatThread: true, pollInterval: "5m", maintenance: false } as const;

let ends = 0;

/** Hears what workers hear. `allArrived` waits until everything sent before has come. */
/** Notifications of one queue; those of earlier tests may still be on their way. */
async function listen(queue: string): Promise<{ heard: string[]; allArrived: () => Promise<void> }> {
  const client = await test.db.connect();
  const heard: string[] = [];
  client.on("notification", ({ payload }) => {
    if (payload === queue || payload!.startsWith("the end")) heard.push(payload!);
  });
  await client.query('listen "millrace:millrace"');
  return {
    heard,
    allArrived: async () => {
      const last = `the end ${(ends += 1)}`;
      await test.db.sql("select pg_notify('millrace:millrace', $1)", [last]);
      await until("the last one is heard", () => heard.includes(last));
      heard.splice(heard.indexOf(last), 1);
    },
  };
}

async function begin(): Promise<pg.Client> {
  const tx = await test.db.connect();
  await tx.query("begin");
  return tx;
}

describe("a worker that sleeps", () => {
  it("is woken by each enqueue, and never misses one that comes while it looks [#117 #149]", async () => {
    const queue = await test.queue();
    const worker = test.worker(queue, onlyWoken).handle(work, ({ input }) => input);
    await worker.start();
    for (let n = 0; n < 60; n += 1) {
      expect(await test.mill.result(await test.mill.enqueue(work, n, { queue }), { timeout: "30s" })).toBe(n);
      if (n % 3 === 0) await sleep(n % 20); // now it sleeps, now it is just about to
    }
    const made = await Promise.all(Array.from({ length: 100 }, (_, n) => test.mill.enqueue(work, n, { queue })));
    await Promise.all(made.map((job) => test.mill.result(job, { timeout: "30s" })));
  });

  it("is woken after the commit when the transaction asks for it [#117 #149]", async () => {
    const queue = await test.queue();
    await test
      .worker(queue, onlyWoken)
      .handle(work, ({ input }) => input)
      .start();
    const tx = await begin();
    const { id } = await test.mill.enqueue(work, 1, { queue, tx, notify: true });
    await sleep(100);
    await tx.query("commit");
    expect(await test.mill.result(id, { timeout: "30s" })).toBe(1);
  });

  it("finds what nobody told it of at its next poll, and what is due later [#117]", async () => {
    const queue = await test.queue();
    await test
      .worker(queue, { pollInterval: 200 })
      .handle(work, ({ input }) => input)
      .start();
    const tx = await begin();
    const { id } = await test.mill.enqueue(work, 1, { queue, tx });
    await tx.query("commit");
    expect(await test.mill.result(id, { timeout: "30s" })).toBe(1);
    const later = await test.mill.enqueue(work, 2, { queue, delay: 700 });
    expect(await test.mill.result(later, { timeout: "30s" })).toBe(2);
    const { job, attempts } = (await test.mill.jobs.get(later.id))!;
    expect(attempts[0]!.startedAt.getTime()).toBeGreaterThanOrEqual(job.createdAt.getTime() + 700);
  });

  it("looks when told to, without any notification [#117]", async () => {
    const queue = await test.queue();
    const worker = test.worker(queue, { pollInterval: "5m" }).handle(work, ({ input }) => input);
    await worker.start();
    const { id } = await test.mill.enqueue(work, 1, { queue });
    worker.wake();
    expect(await test.mill.result(id, { timeout: "30s" })).toBe(1);
  });

  it("on another queue is left asleep [#149]", async () => {
    const [queue, other] = [await test.queue(), await test.queue()];
    let claims = 0;
    const mill = test.open({
      metrics: {
        count: (name) => void (claims += Number(name === "millrace_polls_total")),
        move: () => {},
        observe: () => {},
      },
    });
    const worker = test.worker(queue, onlyWoken, mill).handle(work, ({ input }) => input);
    await worker.start();
    expect(await test.mill.result(await test.mill.enqueue(work, 1, { queue }))).toBe(1);
    let before: number;
    do {
      before = claims;
      await sleep(300);
    } while (claims !== before);
    const { allArrived } = await listen(other);
    for (let n = 0; n < 10; n += 1) await test.mill.enqueue(work, n, { queue: other });
    await allArrived();
    await sleep(100);
    expect(claims).toBe(before);
  });
});

describe("notifications", () => {
  it("come at once without a transaction, five in a row, and then one per ten milliseconds [#149]", async () => {
    const queue = await test.queue();
    const { heard, allArrived } = await listen(queue);
    await test.mill.enqueue(work, 0, { queue });
    await until("it is heard", () => heard.length > 0);
    const startedAt = performance.now();
    await Promise.all(Array.from({ length: 300 }, (_, n) => test.mill.enqueue(work, n, { queue })));
    await sleep(20);
    const most = (performance.now() - startedAt) / 9 + 2 + 5; // timers may be a millisecond early
    await allArrived();
    expect(new Set(heard)).toEqual(new Set([queue]));
    expect(heard.length).toBeLessThan(most);
  });

  it("are one per transaction that asks for it, after its commit and not before [#149]", async () => {
    const queue = await test.queue();
    const { heard, allArrived } = await listen(queue);
    const tx = await begin();
    for (let n = 0; n < 5; n += 1) await test.mill.enqueue(work, n, { queue, tx, notify: true });
    await test.mill.enqueueMany(work, [6, 7], { queue, tx, notify: true });
    await allArrived();
    expect(heard).toEqual([]);
    await tx.query("commit");
    await allArrived();
    expect(heard).toEqual([queue]);
  });

  it("are none for one that is rolled back, and none inside of one that does not ask [#117 #149]", async () => {
    const queue = await test.queue();
    const { heard, allArrived } = await listen(queue);
    const [rolledBack, silent] = [await begin(), await begin()];
    const { id } = await test.mill.enqueue(work, 1, { queue, tx: rolledBack, notify: true });
    // by the engine: the client would see that it has ended, and wake them from outside (commit-watch.test.ts)
    await test.mill.engine.enqueue({ type: work.type, input: 2, queue }, { tx: silent });
    await rolledBack.query("rollback");
    await silent.query("commit");
    await allArrived();
    expect(heard).toEqual([]);
    expect(await test.mill.jobs.get(id)).toBeNull();
  });
});
