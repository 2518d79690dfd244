import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { JobId } from "../../src/db/types.js";
import { defineJob } from "../../src/job/define-job.js";
import type { Step } from "../../src/steps/step.js";
import type { Handler } from "../../src/worker/handler.js";
import { claimOne, enqueue, stateOf } from "../support/jobs.js";
import { useMill } from "../support/mill.js";
import { isBlocked } from "../support/sessions.js";
import { jobNotFound, miscounts, randomFrom } from "../support/steps.js";
import { until } from "../support/wait.js";

const test = useMill();
const patience = { timeout: "40s" } as const;
const work = defineJob("work");
const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

/** Random moments that come again with their seed. */
function newRandom(): (n: number) => number {
  const seed = Date.now() % 1_000_000;
  console.log(`seed ${seed}`);
  return randomFrom(seed);
}

/** A signal in a transaction that stays open for a while. */
async function tellIn(ms: number, end: "commit" | "rollback", id: JobId, name: string, value: unknown): Promise<void> {
  const client = await test.db.pool.connect();
  try {
    await client.query("begin");
    await test.db.engine.tell(id, name, value, { tx: client });
    await sleep(ms);
    await client.query(end);
  } finally {
    client.release();
  }
}

describe("a signal", () => {
  it("sent before, while and after the wait registers, also by who commits late, comes once: 1000 races [#196]", async () => {
    const queue = await test.queue();
    const random = newRandom();
    const worker = test.worker(queue, { concurrency: 100 }).handle(work, async (_job, { step }) => {
      const first = await step.waitFor("go");
      return [first, await step.waitFor("go", { timeout: "100ms" })];
    });
    const made = await test.mill.enqueueMany(work, numbers(1000), { queue });
    const waiting = [...made.entries()];
    await worker.start();
    const tell = async (): Promise<void> => {
      for (;;) {
        const next = waiting.shift();
        if (!next) return;
        const [i, { id }] = next;
        if (random(3) === 0) await test.mill.tell(id, "go", { i });
        else {
          const rolledBack = random(4) === 0 ? tellIn(random(20), "rollback", id, "go", "never") : undefined;
          await tellIn(random(20), "commit", id, "go", { i });
          await rolledBack;
        }
      }
    };
    await Promise.all(numbers(12).map(tell));
    const results = await Promise.all(made.map((job) => test.mill.result(job, patience)));
    expect(results).toEqual(numbers(1000).map((i) => [{ i }, null]));
    expect(await miscounts(test.db, queue)).toEqual([]);
  });

  it("in a transaction: a rollback sends nothing, a commit wakes, and nobody waits for it meanwhile [#197]", async () => {
    const queue = await test.queue();
    const worker = test.worker(queue).handle(work, (_job, { step }) => step.waitFor("go"));
    await worker.start();
    const { id } = await test.mill.enqueue(work, null, { queue });
    await until("it waits", async () => (await stateOf(test.db, id)) === "suspended");
    const [rolledBack, late] = [await test.db.connect(), await test.db.connect()];
    await rolledBack.query("begin");
    await late.query("begin");
    await test.mill.tell(id, "go", "never", { tx: rolledBack });
    await test.mill.tell(id, "go", "late", { tx: late });
    for (const call of [test.db.engine.noticesDeliver(), test.db.engine.maintain(), test.db.engine.tell(id, "other")])
      expect([await isBlocked(test.db, call, late), await isBlocked(test.db, call, rolledBack)]).toEqual([
        false,
        false,
      ]);
    expect(await stateOf(test.db, id)).toBe("suspended");
    await rolledBack.query("rollback");
    await late.query("commit");
    const committedAt = performance.now();
    expect(await test.mill.result(id, patience)).toBe("late");
    expect(performance.now() - committedAt).toBeLessThan(3000);
  });

  it("with the same id counts once, also when both are sent at the same time [#198]", async () => {
    const queue = await test.queue();
    const worker = test
      .worker(queue)
      .handle(work, async (_job, { step }) => [
        await step.waitFor("go"),
        await step.waitFor("go", { timeout: "300ms" }),
      ]);
    const { id } = await test.mill.enqueue(work, null, { queue });
    const [a, b] = [await test.db.connect(), await test.db.connect()];
    for (const client of [a, b]) await client.query("begin");
    expect(await test.mill.tell(id, "go", 1, { id: "hook", tx: a })).toBe(true);
    expect(await test.mill.tell(id, "go", 2, { id: "hook", tx: b })).toBe(true); // it cannot know
    for (const client of [b, a]) await client.query("commit");
    expect(await test.mill.tell(id, "go", 3, { id: "hook" })).toBe(false);
    await worker.start();
    expect(await test.mill.result(id, patience)).toEqual([1, null]);
    await expect(test.mill.tell(id, "go", 4, { id: "hook" })).rejects.toMatchObject({ name: "JobEndedError" });
  });

  it("of a name comes in the order of sending, and beside other names [#198]", async () => {
    const queue = await test.queue();
    const worker = test.worker(queue).handle(work, async (_job, { step }) => {
      const got: unknown[] = [];
      for (let i = 0; i < 20; i += 1) got.push(await step.waitFor("a"));
      return [got, await step.waitFor("b")];
    });
    const { id } = await test.mill.enqueue(work, null, { queue });
    for (const i of numbers(10)) await test.mill.tell(id, "a", i);
    await test.mill.tell(id, "b", "b");
    await worker.start();
    for (const i of numbers(10)) await test.mill.tell(id, "a", 10 + i);
    expect(await test.mill.result(id, patience)).toEqual([numbers(20), "b"]);
  });

  it("against a timeout: one wins, on record, and the signal that lost is there for the next wait [#199]", async () => {
    const queue = await test.queue();
    const random = newRandom();
    const worker = test.worker(queue, { concurrency: 50 }).handle(work, async (_job, { step }) => {
      const first = await step.waitFor("x", { timeout: "50ms" });
      return first ?? { second: await step.waitFor("x", { timeout: "30s" }) };
    });
    await worker.start();
    const made = await test.mill.enqueueMany(work, numbers(100), { queue });
    await Promise.all(
      made.map(async ({ id }) => {
        await sleep(random(150));
        await test.mill.tell(id, "x", { told: true });
      }),
    );
    const results = await Promise.all(made.map((job) => test.mill.result(job, patience)));
    for (const [i, result] of results.entries()) {
      const { id } = made[i]!;
      const isSecond = "second" in (result as object);
      expect(result).toEqual(isSecond ? { second: { told: true } } : { told: true });
      const steps = (await test.db.engine.stepsGet([id])).get(id)!;
      expect(steps.filter(({ kind }) => kind === "got")).toMatchObject([{ about: isSecond ? "x#2" : "x" }]);
      expect(steps.some(({ about, kind }) => kind === "done" && about === "timeout")).toBe(isSecond);
    }
  });

  it("against cancel and timeout: each job ends once, and the books balance [#199] [#207]", async () => {
    const queue = await test.queue();
    const random = newRandom();
    const worker = test
      .worker(queue, { concurrency: 50 })
      .handle(work, async (_job, { step }) => (await step.waitFor("x", { timeout: "60ms" })) ?? "too late");
    await worker.start();
    const made = await test.mill.enqueueMany(work, numbers(150), { queue });
    const cancelled = await Promise.all(
      made.map(async ({ id }) => {
        const told = sleep(random(150)).then(() => test.mill.tell(id, "x", "told").catch((error: Error) => error.name));
        await sleep(random(150));
        const isCancelled = await test.mill.cancel(id);
        expect([true, "JobEndedError"]).toContain(await told);
        return isCancelled;
      }),
    );
    for (const [i, { id }] of made.entries()) {
      await until("it has ended", async () => ["succeeded", "cancelled"].includes(await stateOf(test.db, id)));
      expect([i, await stateOf(test.db, id)]).toEqual([i, cancelled[i] ? "cancelled" : "succeeded"]);
    }
    await test.db.engine.noticesDeliver();
    expect(await test.db.sql("select from agenda where job_id = any ($1)", [made.map(({ id }) => id)])).toEqual([]);
    expect(await miscounts(test.db, queue)).toEqual([]);
  });

  it("the first of several ends the wait, and the others leave nothing behind [#200]", async () => {
    const queue = await test.queue();
    const worker = test
      .worker(queue)
      .handle(work, async (_job, { step }) => [
        await step.waitFor(["a", "b"]),
        await step.waitFor(["a", "b"], { timeout: "100ms" }),
        await step.waitFor("a", { timeout: "100ms" }),
      ]);
    await worker.start();
    const { id } = await test.mill.enqueue(work, null, { queue });
    await until("it waits", async () => (await stateOf(test.db, id)) === "suspended");
    await test.mill.tell(id, "b", 1);
    expect(await test.mill.result(id, patience)).toEqual([{ name: "b", value: 1 }, null, null]);
    expect(await test.db.sql("select from agenda where job_id = $1", [id])).toEqual([]);
  });

  it("to a job that has ended, or that nobody knows, is a typed error with its state [#201]", async () => {
    const queue = await test.queue();
    const ended = await enqueue(test.db, queue);
    await test.db.engine.complete(await claimOne(test.db, queue), 1);
    await expect(test.mill.tell(ended, "go")).rejects.toMatchObject({ name: "JobEndedError", state: "succeeded" });
    const dropped = await enqueue(test.db, queue);
    await test.mill.queues.purge(queue);
    await expect(test.mill.tell(dropped, "go")).rejects.toMatchObject({ name: "JobEndedError", state: "cancelled" });
    await expect(test.mill.tell("1", "go")).rejects.toMatchObject(jobNotFound);
    await expect(test.mill.tell({ queue, fingerprint: "nobody" }, "go")).rejects.toMatchObject(jobNotFound);
    await expect(test.mill.tell(ended, "")).rejects.toMatchObject({ code: "MR001" });
  });

  it("that cannot be delivered keeps no other one waiting [#196]", async () => {
    const queue = await test.queue();
    const worker = test.worker(queue).handle(work, (_job, { step }) => step.waitFor("go"));
    await worker.start();
    const made = await test.mill.enqueueMany(work, numbers(5), { queue });
    const ids = made.map(({ id }) => id);
    await until("all wait", async () => (await test.mill.jobs.list({ queue, state: "suspended" })).length === 5);
    await test.db.sql(`
      create function public.refuse() returns trigger language plpgsql as $$
        begin if new.kind = 'got' then raise 'broken'; end if; return new; end $$`);
    await test.db.sql(
      `create trigger refuse before insert on step for each row when (new.job_id = ${ids[1]}) execute function public.refuse()`,
    );
    await test.db.sql("select job_tell(id, 'go', '1') from unnest($1::bigint[]) id", [ids]);
    const told = ids.filter((id) => id !== ids[1]);
    expect(await Promise.all(told.map((id) => test.mill.result(id, patience)))).toEqual([1, 1, 1, 1]);
    expect(await stateOf(test.db, ids[1]!)).toBe("suspended");
    await test.db.sql("drop trigger refuse on step");
    await test.mill.tell(ids[1]!, "other"); // with the next notice of it, it is looked at again
    expect(await test.mill.result(ids[1]!, patience)).toBe(1);
  });

  it("is kept up to a thousand times for a name, and heard ten thousand times [#201]", async () => {
    const queue = await test.queue();
    const id = await enqueue(test.db, queue);
    const tell = (times: number) => test.db.sql("select job_tell($1, 'go') from generate_series(1, $2)", [id, times]);
    const past = (kinds: string[], from: number, to: number) =>
      // as if that had happened before
      test.db.sql(
        `insert into step (job_id, slot, key, kind, n, at)
         select s.job_id, s.slot, s.key, k::step_kind, -i, s.at
           from (select * from step where job_id = $1 and kind = 'signal' and key = 'go' limit 1) s,
                unnest($2::text[]) k, generate_series($3::int, $4::int) i`,
        [id, kinds, from, to],
      );
    await tell(1000);
    await expect(test.mill.tell(id, "go")).rejects.toMatchObject({ name: "RunLimitError", code: "MR019" });
    expect(await test.mill.tell(id, "other")).toBe(true);
    await past(["signal", "got"], 1, 8999);
    await expect(test.mill.tell(id, "go")).rejects.toMatchObject({ message: expect.stringContaining("1000 signals") });
    await past(["got"], 9000, 9999);
    await tell(1);
    await expect(test.mill.tell(id, "go")).rejects.toMatchObject({ message: expect.stringContaining("10000 signals") });
  });
});

describe("a signal against a timeout that passes while nobody looks", () => {
  const next = (step: Step): Promise<unknown> => step.waitFor("go", { timeout: "1s" });
  const waits: readonly (readonly [string, Handler<null>])[] = [
    ["no worker lives", async (_job, { step }) => [await step.waitFor("go", { timeout: "1h" }), await next(step)]],
    [
      "the handler sleeps",
      async (_job, { step }) => {
        const waiting = step.waitFor(["stop", "go"], { timeout: "1h" });
        await step.sleep("long", "2h");
        const first = await waiting;
        await step.sleep("then", "1ms"); // it is the same in a later call
        return [first?.value ?? null, await next(step)];
      },
    ],
  ];

  it.each(waits)("counts when it was sent in time, once: %s [#196] [#199]", async (_what, handler) => {
    for (const [at, expected] of [
      [60, ["first", "second"]],
      [5400, [null, "first"]],
    ] as const) {
      const queue = await test.queue();
      const patient = defineJob<null>("patient");
      const first = test.worker(queue).handle(patient, handler);
      await first.start();
      const { id } = await test.mill.enqueue(patient, null, { queue });
      await until("it waits", async () => (await stateOf(test.db, id)) === "suspended");
      await first.stop();
      await test.db.moveClock(at);
      await test.db.engine.tell(id, "go", "first", { id: "1" });
      if (at === 60) await test.db.engine.tell(id, "go", "second");
      await test.db.moveClock(7201 - at);
      await test.worker(queue).handle(patient, handler).start();
      expect(await test.mill.result(id, { timeout: "20s" })).toEqual(expected);
      const got = (await test.mill.jobs.steps(id)).filter(({ kind }) => kind === "got");
      expect(got).toHaveLength(expected.filter((one) => one !== null).length);
    }
  });
});
