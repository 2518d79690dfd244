import { describe, expect, it } from "vitest";
import { defineJob } from "../../src/job/define-job.js";
import { release, retryLater } from "../../src/worker/outcome.js";
import type { Worker } from "../../src/worker/worker.js";
import { clockNow, day, moveClockToNoon } from "../support/clock.js";
import { patienceMs, sized } from "../support/large.js";
import { claimIds, claimOne, enqueue, jobOf, stateOf } from "../support/jobs.js";
import { useMill } from "../support/mill.js";
import { miscounts, percentile } from "../support/steps.js";
import { until } from "../support/wait.js";

const parkedJobs = sized(20_000, 100_000);
const test = useMill();
const patience = { timeout: "20s" } as const;
const work = defineJob("work", { retryDelay: 0 });

/** A job that has done a step and waits for "go". */
async function suspended(queue: string, job: Parameters<typeof enqueue>[2] = {}): Promise<string> {
  const id = await enqueue(test.db, queue, job);
  const held = await claimOne(test.db, queue);
  expect(held.id).toBe(id);
  await test.db.engine.stepsPut([{ token: held.token, job: id, steps: [{ key: "first", kind: "done", json: "1" }] }]);
  await suspend(held, [{ key: "go", signals: ["go"] }]);
  return id;
}

async function suspend({ id, token }: { id: string; token: string }, waits: readonly object[]): Promise<void> {
  const [row] = await test.db.sql("select job_suspend($1, $2, $3) as refused", [token, id, JSON.stringify(waits)]);
  expect(row).toEqual({ refused: [] });
}

async function tell(id: string): Promise<void> {
  await test.db.engine.tell(id, "go", { now: true });
  await test.db.engine.noticesDeliver();
}

describe("a sleep", () => {
  it("that ends while no worker lives goes on with the first one back, by the database's clock [#193]", async () => {
    const queue = await test.queue();
    const sleeper = (): Worker =>
      test.worker(queue).handle(work, async (_job, { step }) => {
        await step.sleep("long", "3d");
        return "awake";
      });
    const first = sleeper();
    await first.start();
    const { id } = await test.mill.enqueue(work, null, { queue });
    await until("it sleeps", async () => (await stateOf(test.db, id)) === "suspended");
    const beganAt = performance.now();
    await first.stop();
    expect(performance.now() - beganAt).toBeLessThan(1000); // nothing of it is left in the process
    await test.db.moveClock(3 * day - 60);
    expect(await claimIds(test.db, queue)).toEqual([]);
    await test.db.moveClock(61);
    await sleeper().start();
    expect(await test.mill.result(id, patience)).toBe("awake");
    expect(await jobOf(test.db, id)).toMatchObject({ attempts: 1 });
  });

  it("until a time ends at the first time that was given, though each call of the handler gives a later one [#193]", async () => {
    const queue = await test.queue();
    const given: Date[] = [];
    const sleeper = (): Worker =>
      test.worker(queue).handle(work, async (_job, { step }) => {
        given.push(new Date((await clockNow(test.db)).getTime() + 3 * day * 1000));
        await step.sleepUntil("long", given.at(-1)!);
        await step.sleep("short", "1ms");
        await step.sleepUntil("before", new Date(-1e15));
        await step.sleep("shorter", "1ms");
        return "awake";
      });
    const first = sleeper();
    await first.start();
    const { id } = await test.mill.enqueue(work, null, { queue });
    await until("it sleeps", async () => (await stateOf(test.db, id)) === "suspended");
    await first.stop();
    await test.db.moveClock(3 * day - 60);
    expect(await claimIds(test.db, queue)).toEqual([]);
    await test.db.moveClock(61);
    await sleeper().start();
    expect(await test.mill.result(id, patience)).toBe("awake");
    const noted = (await test.db.engine.stepsGet([id])).get(id)!.filter(({ kind }) => kind === "due");
    expect(noted.map(({ key }) => key)).toEqual(["long", "short", "before", "shorter"]);
    expect(noted[0]!.until).toEqual(given[0]);
    expect(await jobOf(test.db, id)).toMatchObject({ attempts: 1 });
  });

  it.each([new Date(Number.NaN), new Date(8e15), "2026-01-01T00:00:00Z" as unknown as Date])(
    "until %s is refused before anything is stored",
    async (time) => {
      const queue = await test.queue();
      const worker = test
        .worker(queue)
        .handle(work, (_job, { step }) => step.sleepUntil("x", time).catch((error: Error) => error.name));
      await worker.start();
      const job = await test.mill.enqueue(work, null, { queue });
      expect(await test.mill.result(job, patience)).toBe("InvalidArgumentError");
    },
  );
});

describe("a suspended job", () => {
  it("is no attempt when it comes back, and its attempt timeout counts running time only [#195]", async () => {
    const queue = await test.queue();
    const worker = test.worker(queue).handle(work, async (job, { step }) => {
      for (let i = 0; i < 5; i += 1) await step.sleep("nap", "300ms");
      return job.attempt;
    });
    await worker.start();
    const { id } = await test.mill.enqueue(work, null, { queue, attemptTimeout: "1200ms", maxAttempts: 1 });
    expect(await test.mill.result(id, patience)).toBe(1);
    expect(await test.mill.jobs.get(id)).toMatchObject({ job: { attempts: 1 }, attempts: [{ outcome: "succeeded" }] });
  });

  it.each([
    ["without an end", [{ key: "go", signals: ["go"] }]],
    ["with a later one", [{ key: "go", seconds: 100_000 }]],
  ])("ends at its deadline: a wait %s [#195]", async (_how, waits) => {
    const queue = await test.queue();
    const now = await clockNow(test.db);
    const id = await enqueue(test.db, queue, { deadline: new Date(now.getTime() + 1500) });
    await suspend(await claimOne(test.db, queue), waits);
    await test.db.engine.maintain();
    expect(await stateOf(test.db, id)).toBe("suspended");
    await until("it has expired", async () => {
      await test.db.engine.maintain();
      return (await stateOf(test.db, id)) === "expired";
    });
    expect(await test.db.sql("select from agenda where job_id = $1", [id])).toEqual([]);
    expect(await miscounts(test.db, queue)).toEqual([]);
  });

  it("outlives its time to start by, also as one that waits for its slot again [#195]", async () => {
    const queue = await test.queue();
    const id = await enqueue(test.db, queue, { ttlSeconds: 60 });
    await suspend(await claimOne(test.db, queue), [{ key: "go", signals: ["go"] }]);
    await test.db.moveClock(100);
    await test.db.engine.maintain();
    await tell(id);
    await test.db.engine.maintain();
    expect(await claimIds(test.db, queue)).toEqual([id]);
  });

  it(
    `${parkedJobs.toLocaleString("en")} of them hold nothing: no claim, no room under a limit, no part of a poll; none is lost [#194]`,
    async () => {
      const queue = await test.queue({ maxRunning: 100 });
      const polls = async (): Promise<number> => {
        const times: number[] = [];
        for (let i = 0; i < 60; i += 1) {
          const beganAt = performance.now();
          await test.db.engine.claim({ queues: [queue], limit: 10 });
          times.push(performance.now() - beganAt);
        }
        return percentile(times, 0.5);
      };
      await test.db.engine.enqueueMany("work", [1], { queue });
      await test.db.engine.complete(await claimOne(test.db, queue));
      const before = await polls();
      await test.db.engine.enqueueMany(
        "work",
        Array.from({ length: parkedJobs }, () => null),
        // not due: what is updated leaves nothing among the due ones, as no real suspension does
        { queue, delaySeconds: 86_400 },
      );
      await test.db.sql(`
      update agenda g set due_at = 'infinity', waits = '{"keys": ["go"], "signals": {"go": "go"}}'
        from job j join queue q on q.id = j.queue_id where q.name = '${queue}' and j.id = g.job_id`);
      await test.db.sql("select notice_append(array(select job_id from agenda where waits is not null), 2)");
      expect(await test.db.engine.queueDepth(queue)).toMatchObject({ ready: 0, running: 0, delayed: parkedJobs });
      expect(await test.db.sql("select from claims where queue = $1", [queue])).toEqual([]);
      while ((await test.db.engine.noticesDeliver()).resumed > 0);
      expect((await polls()) / before).toBeLessThan(3);
      const fresh = await enqueue(test.db, queue);
      expect(await claimIds(test.db, queue)).toEqual([fresh]);
      const some = await test.db.sql<{ id: string }>(
        "select job_id::text as id from agenda where waits is not null order by random() limit 50",
      );
      for (const { id } of some) await test.db.engine.tell(id, "go");
      await test.db.engine.noticesDeliver();
      expect(new Set(await claimIds(test.db, queue))).toEqual(new Set(some.map(({ id }) => id)));
      expect(await miscounts(test.db, queue)).toEqual([]);
    },
    patienceMs,
  );

  it("goes on when its queue was paused meanwhile, and keeps a closed queue from finishing [#194]", async () => {
    const queue = await test.queue();
    const id = await suspended(queue);
    await test.db.engine.queuePause(queue, {});
    await tell(id);
    expect(await stateOf(test.db, id)).toBe("blocked");
    expect(await claimIds(test.db, queue)).toEqual([]);
    await test.db.engine.queueResume(queue, {});
    const held = await claimOne(test.db, queue);
    await suspend(held, [{ key: "go#2", signals: ["go"] }]);
    await test.db.engine.queueClose(queue);
    await test.db.engine.maintain();
    expect((await test.db.engine.queues()).find(({ name }) => name === queue)?.state).toBe("closed");
    await tell(id);
    await test.db.engine.complete(await claimOne(test.db, queue));
  });

  it("holds its place in an ordered group, and none under groupMaxRunning [#194]", async () => {
    const ordered = await test.queue({ ordered: true });
    const head = await suspended(ordered, { group: "a" });
    const behind = await enqueue(test.db, ordered, { group: "a" });
    const other = await enqueue(test.db, ordered, { group: "b" });
    expect(await claimIds(test.db, ordered)).toEqual([other]);
    await tell(head);
    const held = await claimOne(test.db, ordered);
    expect(held.id).toBe(head);
    await test.db.engine.complete(held);
    expect(await claimIds(test.db, ordered)).toEqual([behind]);

    const limited = await test.queue({ groupMaxRunning: 1 });
    await suspended(limited, { group: "a" });
    const next = await enqueue(test.db, limited, { group: "a" });
    expect(await claimIds(test.db, limited)).toEqual([next]);
    expect(await miscounts(test.db)).toEqual([]);
  });

  it.each([
    ["suspended", async () => {}],
    ["resumed, and waits for its slot", tell],
  ])("keeps its input from a fingerprint of the same name: %s [#195]", async (_how, then) => {
    for (const fingerprintMode of ["replace", "debounce"] as const) {
      const queue = await test.queue();
      const id = await suspended(queue, { fingerprint: "one", input: "first" });
      await then(id);
      const again = { fingerprint: "one", fingerprintMode, input: "second", type: "work", queue };
      expect(await test.db.engine.enqueue({ ...again, delaySeconds: 1 })).toEqual({ id, duplicate: true });
      expect(await jobOf(test.db, id)).toMatchObject({ input: "first" });
    }
    const queue = await test.queue();
    const id = await suspended(queue, { fingerprint: "one" });
    await then(id);
    const next = await test.db.engine.enqueue({ queue, type: "work", fingerprint: "one", fingerprintMode: "followUp" });
    expect(next.duplicate).toBe(false);
    await tell(id);
    const held = await claimOne(test.db, queue);
    expect(held.id).toBe(id);
    expect(await claimIds(test.db, queue)).toEqual([]);
    await test.db.engine.complete(held);
    await test.db.engine.maintain();
    expect(await claimIds(test.db, queue)).toEqual([next.id]);
  });

  it("that is released, or tried again later, has its steps [#183]", async () => {
    const queue = await test.queue();
    const calls: string[] = [];
    const worker = test.worker(queue).handle(work, async (job, { step }) => {
      await step.run("once", () => void calls.push("once"));
      await step.sleep("nap", "1ms");
      if (calls.length === 1) return (calls.push("released"), release("1ms"));
      if (calls.length === 2) return (calls.push("later"), retryLater("1ms"));
      return job.attempt;
    });
    await worker.start();
    const { id } = await test.mill.enqueue(work, null, { queue, maxAttempts: 3 });
    expect(await test.mill.result(id, patience)).toBe(2);
    expect(calls).toEqual(["once", "released", "later"]);
  });

  it("stays with its steps when its day is given back, and its control tables are rewritten [#194] [#183]", async () => {
    await moveClockToNoon(test.db);
    const queue = await test.queue();
    const id = await suspended(queue);
    await enqueue(test.db, queue, { type: "gone" });
    await test.db.engine.complete(await claimOne(test.db, queue, { types: ["gone"] }));
    await test.db.moveClock(60 * day);
    for (let i = 0; i < 40; i += 1) await test.db.sql("select job_rotate()");
    for (let i = 0; i < 10; i += 1) await test.db.sql("select control_compact(0)");
    const [left] = await test.db.sql(
      "select count(*)::int as n from job j join queue q on q.id = j.queue_id where q.name = $1",
      [queue],
    );
    expect(left).toEqual({ n: 1 });
    await tell(id);
    const held = await claimOne(test.db, queue);
    expect((await test.db.engine.stepsGet([id])).get(id)).toMatchObject([
      { key: "first", kind: "done", value: 1 },
      { key: "go", kind: "signal" },
      { key: "go", kind: "got", value: { now: true } },
    ]);
    await test.db.engine.complete(held);
  });

  it("is found after a repair, whatever was told and not delivered [#196]", async () => {
    const queue = await test.queue();
    const [told, waits, parent] = [await suspended(queue), await suspended(queue), await enqueue(test.db, queue)];
    const held = await claimOne(test.db, queue);
    const [child] = await test.db.engine.stepStart(held, "one", [{ type: "child", queue }]);
    await suspend(held, [{ key: "one", children: 1 }]);
    await test.db.engine.noticesDeliver();
    await test.db.engine.complete(await claimOne(test.db, queue, { types: ["child"] }), "by the child");
    await test.db.engine.tell(told, "go");
    await test.db.sql("truncate ticket");
    await test.db.sql("select cell_repair(true)").catch(() => test.db.sql("select cell_repair()"));
    await test.db.engine.noticesDeliver();
    expect(new Set(await claimIds(test.db, queue))).toEqual(new Set([told, parent]));
    expect(await stateOf(test.db, waits)).toBe("suspended");
    expect((await test.db.engine.stepsGet([parent])).get(parent)!.at(-1)).toMatchObject({
      kind: "ended",
      other: child,
      value: "by the child",
    });
  });
});
