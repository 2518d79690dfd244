import { describe, expect, it } from "vitest";
import { LeaseLostError } from "../../src/db/errors.js";
import type { ClaimedJob } from "../../src/db/types.js";
import { useDatabase } from "../support/database.js";
import { newQueue } from "../support/jobs.js";
import { claimAll, claimOnly, invalidArgument, randomFrom } from "../support/steps.js";

const db = useDatabase();
const times = (n: number): number[] => Array.from({ length: n }, (_, i) => i);
const seed = Number(process.env["MILLRACE_SEED"] ?? Date.now() % 1_000_000);

const inputs = (jobs: readonly ClaimedJob[]): string[] => jobs.map((job) => `${job.group}${Number(job.input)}`);

describe("groupMaxRunning", () => {
  it("bounds what runs of each group, and nothing else, across types and claims of any size [#77]", async () => {
    const queue = await newQueue(db, { groupMaxRunning: 2 });
    for (const type of ["x", "y"])
      for (const group of ["a", "b"]) await db.engine.enqueueMany(type, times(10), { queue, group });
    await db.engine.enqueueMany("x", times(5), { queue });
    const first = await claimAll(db, queue);
    const count = (group: string | null): number => first.filter((job) => (job.group ?? null) === group).length;
    expect([count("a"), count("b"), count(null)]).toEqual([2, 2, 5]);
    const a = first.find((job) => job.group === "a")!;
    await db.engine.complete(a);
    const next = await claimAll(db, queue);
    expect(next.map((job) => job.group)).toEqual(["a"]);
  });

  it("gives the room back however a job ends: failed, retried, released, cancelled, lost, expired [#77]", async () => {
    const queue = await newQueue(db, { groupMaxRunning: 1 });
    await db.engine.enqueueMany("t", times(8), { queue, group: "g" });
    const one = () => claimOnly(db, queue);
    await db.engine.fail(await one());
    await db.engine.retryLater(await one(), { message: "later" }, 3600);
    await db.engine.release(await one(), 3600);
    await db.engine.cancel([(await one()).id]);
    await one(); // lost
    await db.moveClock(60);
    const lost = await one();
    expect(lost).toMatchObject({ attempt: 2, alone: true });
    await db.engine.setVisibility(lost, 0);
    await db.engine.complete(await one());
    await db.engine.enqueue({
      type: "t",
      queue,
      group: "g",
      priority: 0,
      deadline: new Date(Date.now() + 2 * 60_000 + 3600_000),
    });
    await one();
    await db.moveClock(3 * 60 + 3600);
    await db.engine.complete(await one());
  });

  it("can be changed while jobs wait, both ways [#77]", async () => {
    const queue = await newQueue(db, { groupMaxRunning: 1 });
    await db.engine.enqueueMany("t", times(10), { queue, group: "g" });
    expect(await claimAll(db, queue)).toHaveLength(1);
    await db.engine.queuePut(queue, { groupMaxRunning: 3 });
    expect(await claimAll(db, queue)).toHaveLength(2);
    await db.engine.queuePut(queue, { groupMaxRunning: null });
    expect(await claimAll(db, queue)).toHaveLength(7);
  });

  it("of 0, of a type or of the cell is refused, and so is an order that is no boolean", async () => {
    const queue = await newQueue(db);
    for (const options of [
      { groupMaxRunning: 0 },
      { groupMaxRunning: 1.5 },
      { groupMaxRunning: Number.NaN },
      { ordered: "yes" },
    ]) {
      await expect(db.engine.queuePut(queue, options as object), JSON.stringify(options)).rejects.toMatchObject(
        invalidArgument,
      );
    }
    for (const options of [{ groupMaxRunning: 1 }, { ordered: true }]) {
      await expect(db.engine.typePut("t", options)).rejects.toMatchObject(invalidArgument);
      await expect(db.engine.cellPut(options)).rejects.toMatchObject(invalidArgument);
    }
  });
});

describe("an ordered queue", () => {
  it("hands out one job of a group at a time, in order, and other groups meanwhile [#158]", async () => {
    const queue = await newQueue(db, { ordered: true });
    for (const n of times(3))
      for (const group of ["a", "b"]) await db.engine.enqueue({ type: "t", queue, group, input: n });
    const first = await claimAll(db, queue);
    expect(inputs(first)).toEqual(["a0", "b0"]);
    await db.engine.complete(first[0]!);
    expect(inputs(await claimAll(db, queue))).toEqual(["a1"]);
    expect(await claimAll(db, queue)).toEqual([]);
    await db.engine.complete(first[1]!);
    expect(inputs(await claimAll(db, queue))).toEqual(["b1"]);
  });

  it("retries the head before its successors, however long that takes [#162]", async () => {
    const queue = await newQueue(db, { ordered: true });
    await db.engine.enqueueMany("t", times(3), { queue, group: "g" });
    const [head] = await claimAll(db, queue);
    await db.engine.retryLater(head!, { message: "later" }, 100);
    expect(await claimAll(db, queue)).toEqual([]);
    await db.moveClock(100);
    const [again] = await claimAll(db, queue);
    expect(again).toMatchObject({ id: head!.id, attempt: 2 });
    await db.engine.retryLater(again!, { message: "at once" }, 0);
    const [third] = await claimAll(db, queue);
    expect(third).toMatchObject({ id: head!.id, attempt: 3 });
    await db.engine.fail(third!);
    expect(inputs(await claimAll(db, queue))).toEqual(["g1"]);
  });

  it("goes on with the interrupted job when a worker was lost [#161] [#162]", async () => {
    const queue = await newQueue(db, { ordered: true });
    await db.engine.enqueueMany("t", times(3), { queue, group: "g" });
    const [head] = await claimAll(db, queue);
    await db.moveClock(60);
    const [again] = await claimAll(db, queue);
    expect(again).toMatchObject({ id: head!.id, attempt: 2, alone: true });
    await expect(db.engine.complete(head!)).rejects.toThrow(LeaseLostError);
    await db.engine.complete(again!);
    expect(inputs(await claimAll(db, queue))).toEqual(["g1"]);
  });

  it("goes on when the head is cancelled or expires while it waits for its retry", async () => {
    const queue = await newQueue(db, { ordered: true });
    await db.engine.enqueueMany("t", [0, 1], { queue, group: "cancelled" });
    await db.engine.enqueue({ type: "t", queue, group: "expired", input: 0, ttlSeconds: 200 });
    await db.engine.enqueue({ type: "t", queue, group: "expired", input: 1 });
    const heads = await claimAll(db, queue);
    for (const head of heads) await db.engine.retryLater(head, { message: "later" }, 100);
    expect(await claimAll(db, queue)).toEqual([]);
    await db.engine.cancel([heads.find((job) => job.group === "cancelled")!.id]);
    expect(inputs(await claimAll(db, queue))).toEqual(["cancelled1"]);
    await db.engine.queuePause(queue);
    await db.moveClock(300);
    await db.engine.maintain();
    await db.engine.queueResume(queue);
    expect(inputs((await claimAll(db, queue)).filter((job) => job.group === "expired"))).toEqual(["expired1"]);
  });

  it("is not blocked by a job that is due tomorrow [#159]", async () => {
    const queue = await newQueue(db, { ordered: true });
    await db.engine.enqueue({ type: "t", queue, group: "g", input: 0, delaySeconds: 86_400 });
    await db.engine.enqueue({ type: "t", queue, group: "g", input: 1 });
    expect(inputs(await claimAll(db, queue))).toEqual(["g1"]);
  });
});

describe(`under attack (seed ${seed})`, () => {
  const random = randomFrom(seed);

  /** Claimers that finish, retry, give back and vanish, all at once, until nothing is left. */
  async function work(queue: string, claimers: number): Promise<void> {
    let idle = 0;
    const claimer = async (): Promise<void> => {
      while (idle < claimers * 3) {
        const jobs = await db.engine.claim({ queues: [queue], limit: 1 + random(20), leaseSeconds: 0.2 });
        idle = jobs.length > 0 ? 0 : idle + 1;
        if (jobs.length === 0) await new Promise((wake) => setTimeout(wake, 120));
        for (const job of jobs) {
          const fate = random(10);
          const verb =
            fate < 6
              ? db.engine.complete(job)
              : fate === 6
                ? db.engine.retryLater(job, { message: "again" }, random(2) * 0.1)
                : fate === 7
                  ? db.engine.release(job)
                  : fate === 8
                    ? db.engine.fail(job)
                    : Promise.resolve(); // vanished
          await verb.catch((error: unknown) => {
            if (!(error instanceof LeaseLostError)) throw error;
          });
        }
      }
    };
    await Promise.all(times(claimers).map(claimer));
  }

  it("the limit of each group is never exceeded, is reached, and all of it can be used again afterwards [#77]", async () => {
    const queue = await newQueue(db, { groupMaxRunning: 3 });
    await db.engine.enqueueEach(
      times(400).map((n) => ({ type: `t${n % 2}`, queue, group: `g${n % 7}`, maxAttempts: 1000 })),
    );
    let over = false;
    let watched: number[] = [];
    const watch = (async () => {
      while (!over) {
        const rows = await db.sql<{ n: number }>(
          'select count(*)::int as n from claims c join jobs j on j.id = c.job_id where c.queue = $1 group by j."group"',
          [queue],
        );
        watched = [...watched, ...rows.map((row) => row.n)];
        await new Promise((wake) => setTimeout(wake, 20));
      }
    })();
    await work(queue, 10);
    over = true;
    await watch;
    expect(Math.max(...watched)).toBe(3);
    expect(
      await db.sql("select state from jobs where queue = $1 and state not in ('succeeded', 'failed')", [queue]),
    ).toEqual([]);
    await db.engine.enqueueMany("t0", times(5), { queue, group: "g0" });
    expect(await claimAll(db, queue)).toHaveLength(3);
  });

  it("ordered groups end their jobs in order, one at a time [#158] [#162] [#163]", async () => {
    const queue = await newQueue(db, { ordered: true });
    for (const n of times(8))
      await db.engine.enqueueEach(
        times(100).map((g) => ({ type: "t", queue, group: `g${g}`, input: n, maxAttempts: 1000 })),
      );
    await work(queue, 10);
    expect(
      await db.sql("select state from jobs where queue = $1 and state not in ('succeeded', 'failed')", [queue]),
    ).toEqual([]);
    const attempts = await db.sql<{ group: string; id: string; started: Date; finished: Date; final: string | null }>(
      `select j."group", j.id::text, a.started_at as started, a.finished_at as finished, a.final_state as final
         from attempts a join jobs j on j.id = a.job_id where j.queue = $1 order by j."group", a.started_at, a.finished_at`,
      [queue],
    );
    const ended = new Map<string, string[]>();
    let last: (typeof attempts)[number] | undefined;
    for (const attempt of attempts) {
      if (last?.group === attempt.group) {
        expect(attempt.started.getTime(), "one at a time").toBeGreaterThanOrEqual(last.finished.getTime());
        if (last.final === null) expect(attempt.id, "the head first").toBe(last.id);
      }
      if (attempt.final !== null) ended.set(attempt.group, [...(ended.get(attempt.group) ?? []), attempt.id]);
      last = attempt;
    }
    expect(ended.size).toBe(100);
    for (const ids of ended.values()) {
      expect(ids).toHaveLength(8);
      expect(ids).toEqual(ids.toSorted((a, b) => (BigInt(a) < BigInt(b) ? -1 : 1)));
    }
  });
});
