import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { EnqueueOptions } from "../../src/db/types.js";
import { useDatabase } from "../support/database.js";
import { claimOne, jobOf, newQueue } from "../support/jobs.js";
import { isBlocked } from "../support/sessions.js";
import { claimAll, crossed } from "../support/steps.js";

const db = useDatabase();
let crowd: pg.Pool;

beforeAll(async () => {
  crowd = new pg.Pool({ connectionString: db.url, max: 100 });
  crowd.on("error", () => {}); // its connections may still be closing when the database is dropped
  await db.sql("create table public.orders (n int primary key, job_id bigint)");
});
afterAll(() => crowd.end());

/** Enqueue a job with fingerprint "f". */
const enqueue = (queue: string, input: unknown, options: EnqueueOptions = {}) =>
  db.engine.enqueue({ type: "t", queue, fingerprint: "f", input, ...options });

describe("a fingerprint that is taken", () => {
  it("gives back the first job's id, and no second job [#72]", async () => {
    const queue = await newQueue(db);
    const first = await enqueue(queue, 1);
    expect(first.duplicate).toBe(false);
    expect(await enqueue(queue, 2)).toEqual({ id: first.id, duplicate: true });
    expect((await claimAll(db, queue)).map((job) => job.input)).toEqual([1]);
  });

  it.each(["delayed", "ready", "running", "retrying", "blocked"])(
    "is taken while the first is %s [#72]",
    async (state) => {
      const queue = await newQueue(db);
      const { id } = await enqueue(queue, 1, { delaySeconds: state === "delayed" ? 60 : 0 });
      if (state === "running") await claimOne(db, queue);
      if (state === "retrying") await db.engine.retryLater(await claimOne(db, queue), { message: "again" }, 60);
      if (state === "blocked") await db.engine.queuePause(queue);
      expect(await enqueue(queue, 2)).toEqual({ id, duplicate: true });
      expect(await db.engine.list({ queue })).toHaveLength(1);
    },
  );

  it("is told apart by queue [#72]", async () => {
    const first = await enqueue(await newQueue(db), 1);
    const second = await enqueue(await newQueue(db), 1);
    expect(second).toMatchObject({ duplicate: false });
    expect(second.id).not.toBe(first.id);
  });

  it("is seen within one batch, each answer in its place [#72]", async () => {
    const queue = await newQueue(db);
    const answers = await db.engine.enqueueEach([
      { type: "t", queue, input: "plain" },
      { type: "t", queue, input: "a", fingerprint: "a" },
      { type: "t", queue, input: "b", fingerprint: "b" },
      { type: "t", queue, input: "a again", fingerprint: "a" },
    ]);
    expect(answers.map((answer) => answer.duplicate)).toEqual([false, false, false, true]);
    expect(answers[3]!.id).toBe(answers[1]!.id);
    expect((await claimAll(db, queue)).map((job) => job.input)).toEqual(["plain", "a", "b"]);
  });

  it("is taken again by a job that add-retries brought back to life [#72]", async () => {
    const queue = await newQueue(db);
    const { id } = await enqueue(queue, 1);
    await db.engine.fail(await claimOne(db, queue), { message: "no" });
    await db.engine.retry(3, { ids: [id] });
    expect((await jobOf(db, id)).state).toBe("ready");
    expect(await enqueue(queue, 2)).toEqual({ id, duplicate: true });
  });

  it.each(["ready", "running", "delayed"])(
    "leaves a failed job as it is when it is to be retried, while it names another one that is %s [#72] [#133]",
    async (state) => {
      const queue = await newQueue(db);
      const { id } = await enqueue(queue, 1);
      await db.engine.fail(await claimOne(db, queue), { message: "no" });
      const second = await enqueue(queue, 2, state === "delayed" ? { delaySeconds: 60 } : {});
      const held = state === "running" ? await claimOne(db, queue) : undefined;
      expect(await db.engine.retry(1, { ids: [id] })).toBe(0);
      expect(await db.engine.retry(1, { type: "t", queue })).toBe(0);
      expect([(await jobOf(db, id)).state, (await jobOf(db, second.id)).state]).toEqual(["failed", state]);
      if (state === "delayed") await db.moveClock(60);
      const job = held ?? (await claimOne(db, queue));
      expect(job.id).toBe(second.id);
      expect(await claimAll(db, queue)).toEqual([]);
      await db.engine.complete(job);
      expect(await db.engine.retry(1, { ids: [id] })).toBe(1); // nobody has it any more
      expect((await claimOne(db, queue)).id).toBe(id);
    },
  );
});

describe("100 enqueues of one fingerprint at once", () => {
  it("make one job; every transaction commits with its own work [#73]", async () => {
    const queue = await newQueue(db);
    const answers = await Promise.all(
      Array.from({ length: 100 }, async (_, n) => {
        const tx = await crowd.connect();
        try {
          await tx.query("begin");
          await tx.query("insert into public.orders (n) values ($1)", [n]);
          const answer = await db.engine.enqueue({ type: "t", queue, fingerprint: "f", input: n }, { tx });
          await tx.query("update public.orders set job_id = $2 where n = $1", [n, answer.id]);
          await tx.query("commit");
          return answer;
        } finally {
          tx.release();
        }
      }),
    );
    expect(answers.filter((answer) => !answer.duplicate)).toHaveLength(1);
    expect(new Set(answers.map((answer) => answer.id)).size).toBe(1);
    expect(await db.engine.list({ queue })).toHaveLength(1);
    const [orders] = await db.sql("select count(*)::int as n, count(distinct job_id)::int as jobs from public.orders");
    expect(orders).toEqual({ n: 100, jobs: 1 });
  });

  it("leave one job when the first of them rolls back [#73]", async () => {
    const queue = await newQueue(db);
    const first = await db.connect();
    await first.query("begin");
    const undone = await db.engine.enqueue({ type: "t", queue, fingerprint: "f", input: "undone" }, { tx: first });
    const waiting = Array.from({ length: 10 }, (_, n) =>
      db.engine.enqueue({ type: "t", queue, fingerprint: "f", input: n }),
    );
    await first.query("rollback");
    const answers = await Promise.all(waiting);
    expect(answers.filter((answer) => !answer.duplicate)).toHaveLength(1);
    expect(answers.map((answer) => answer.id)).not.toContain(undone.id);
    expect(await db.engine.list({ queue })).toHaveLength(1);
  });

  it("make one job also in one lane that nobody has seen before, by batches [#73]", async () => {
    const queue = await newQueue(db);
    const batch = Array.from({ length: 5 }, (_, n) => ({ type: "t", queue, fingerprint: `f${n}` }));
    const answers = (await Promise.all(Array.from({ length: 20 }, () => db.engine.enqueueEach(batch)))).flat();
    expect(answers.filter((answer) => !answer.duplicate)).toHaveLength(5);
    expect(await db.engine.list({ queue })).toHaveLength(5);
  });
});

describe("batches that name the same fingerprints in opposite order", () => {
  it("both get through [#73]", async () => {
    const queue = await newQueue(db);
    const [f, g] = [
      { type: "t", queue, fingerprint: "f" },
      { type: "t", queue, fingerprint: "g" },
    ];
    const made = await db.engine.enqueueEach([f, g]);
    const duplicates = made.map((job) => ({ id: job.id, duplicate: true }));
    const hold = (job: { id: string }): string => `select from fingerprint where job_id = ${job.id} for update`;
    const ends = await crossed(
      db,
      [hold(made[0]!), hold(made[1]!)],
      () => db.engine.enqueueEach([f, g]),
      () => db.engine.enqueueEach([g, f]),
    );
    expect(ends).toEqual([
      { status: "fulfilled", value: duplicates },
      { status: "fulfilled", value: [...duplicates].reverse() },
    ]);
  });
});

describe("the mode of a duplicate", () => {
  it("keep: changes nothing [#74]", async () => {
    const queue = await newQueue(db);
    const { id } = await enqueue(queue, "old", { headers: { h: 1 }, delaySeconds: 10 });
    const before = await jobOf(db, id);
    await enqueue(queue, "new", { fingerprintMode: "keep", headers: { h: 2 }, delaySeconds: 60 });
    expect(await jobOf(db, id)).toEqual(before);
  });

  it.each([0, 10])(
    "replace: gives the waiting job the new input and headers, at its old time (delay %d) [#74]",
    async (delaySeconds) => {
      const queue = await newQueue(db);
      const { id } = await enqueue(queue, "old", { headers: { h: 1 }, delaySeconds });
      const { runAt } = await jobOf(db, id);
      expect(await enqueue(queue, "new", { fingerprintMode: "replace", headers: { h: 2 }, delaySeconds: 60 })).toEqual({
        id,
        duplicate: true,
      });
      expect(await jobOf(db, id)).toMatchObject({ input: "new", headers: { h: 2 }, runAt });
      await db.moveClock(delaySeconds);
      expect(await claimOne(db, queue)).toMatchObject({ id, input: "new", headers: { h: 2 } });
    },
  );

  it.each([0, 10])("debounce: also pushes the run time (first delay %d) [#74]", async (delaySeconds) => {
    const queue = await newQueue(db);
    const { id } = await enqueue(queue, "old", { delaySeconds });
    await enqueue(queue, "new", { fingerprintMode: "debounce", delaySeconds: 60 });
    expect((await jobOf(db, id)).state).toBe("delayed");
    await db.moveClock(59);
    expect(await claimAll(db, queue)).toEqual([]);
    await db.moveClock(1);
    expect((await claimAll(db, queue)).map((job) => [job.id, job.input])).toEqual([[id, "new"]]);
  });

  it("debounce: each push counts from its own enqueue, and the job runs once [#74]", async () => {
    const queue = await newQueue(db);
    for (let push = 0; push < 5; push += 1) {
      await enqueue(queue, push, { fingerprintMode: "debounce", delaySeconds: 10 });
      await db.moveClock(9);
      expect(await claimAll(db, queue)).toEqual([]);
    }
    await db.moveClock(1);
    expect((await claimAll(db, queue)).map((job) => job.input)).toEqual([4]);
  });

  it.each([1, 2, 10])(
    "debounce: a job pushed while it was ready is handed out once, to a claim of %d [#74]",
    async (limit) => {
      const queue = await newQueue(db);
      await enqueue(queue, "old");
      await enqueue(queue, "new", { fingerprintMode: "debounce", delaySeconds: 0 });
      const others = (await db.engine.enqueueMany("t", [1, 2, 3], { queue })).map((job) => job.id);
      const seen: string[] = [];
      for (;;) {
        const jobs = await db.engine.claim({ queues: [queue], limit });
        if (jobs.length === 0) break;
        seen.push(...jobs.map((job) => job.id));
        for (const job of jobs) await db.engine.complete(job);
      }
      expect(seen.slice(1)).toEqual(others);
      expect((await db.engine.list({ queue })).map((job) => [job.input, job.state])).toEqual(
        [3, 2, 1, "new"].map((input) => [input, "succeeded"]),
      );
    },
  );

  it("debounce: moves the time to start by as well [#74] [#139]", async () => {
    const queue = await newQueue(db);
    const { id } = await enqueue(queue, "old", { delaySeconds: 10, ttlSeconds: 10 });
    await enqueue(queue, "new", { fingerprintMode: "debounce", delaySeconds: 60, ttlSeconds: 10 });
    await db.moveClock(30);
    await db.engine.maintain();
    expect((await jobOf(db, id)).state).toBe("delayed");
    await db.moveClock(31);
    expect((await claimOne(db, queue)).id).toBe(id);
  });

  it.each(["keep", "replace", "debounce"] as const)("%s: leaves a running job alone [#74]", async (fingerprintMode) => {
    const queue = await newQueue(db);
    const { id } = await enqueue(queue, "old");
    const held = await claimOne(db, queue);
    expect(await enqueue(queue, "new", { fingerprintMode })).toEqual({ id, duplicate: true });
    await db.engine.complete(held);
    expect(await jobOf(db, id)).toMatchObject({ state: "succeeded", input: "old" });
    expect(await claimAll(db, queue)).toEqual([]);
  });
});

describe.each(["replace", "debounce"] as const)(
  "%s of a job that somebody decides on in an open transaction",
  (fingerprintMode) => {
    /**
     * Enqueue the fingerprint again while a transaction is open, which must be waited for; what the call said when that
     * has ended.
     */
    async function replaced(
      queue: string,
      decide: (call: { tx: pg.Client }) => Promise<unknown>,
      end: string,
    ): Promise<{ id: string; duplicate: boolean }> {
      const tx = await db.connect();
      await tx.query("begin");
      await decide({ tx });
      const enqueueing = enqueue(queue, "new", { fingerprintMode });
      expect(await isBlocked(db, enqueueing, tx)).toBe(true);
      await tx.query(end);
      return enqueueing;
    }

    const endings: readonly [string, (queue: string, id: string, call: { tx: pg.Client }) => Promise<unknown>][] = [
      ["cancelled", (_, id, call) => db.engine.cancel([id], undefined, call)],
      ["purged", (queue, _, call) => db.engine.queuePurge(queue, call)],
      ["shed", (queue, _, call) => db.engine.queueShed(queue, new Date(Date.now() + 10 * 365 * 86_400_000), {}, call)],
    ];

    it.each(endings)("makes a new job when that one was %s [#72] [#74]", async (_, decide) => {
      const queue = await newQueue(db);
      const { id } = await enqueue(queue, "old");
      const answer = await replaced(queue, (call) => decide(queue, id, call), "commit");
      expect(answer).toMatchObject({ duplicate: false });
      expect(answer.id).not.toBe(id);
      expect((await jobOf(db, id)).state).toBe("cancelled");
      expect((await claimAll(db, queue)).map((job) => [job.id, job.input])).toEqual([[answer.id, "new"]]);
    });

    it.each(endings)("gives that one the new input when it was not %s after all [#74]", async (_, decide) => {
      const queue = await newQueue(db);
      const { id } = await enqueue(queue, "old");
      expect(await replaced(queue, (call) => decide(queue, id, call), "rollback")).toEqual({ id, duplicate: true });
      expect(await jobOf(db, id)).toMatchObject({ state: "ready", input: "new" });
      expect((await claimAll(db, queue)).map((job) => [job.id, job.input])).toEqual([[id, "new"]]);
    });

    it.each([
      ["commit", "old"],
      ["rollback", "new"],
    ])(
      "leaves one alone that was claimed, and not one whose claim did not happen: after a %s it has the %s input [#74]",
      async (end, input) => {
        const queue = await newQueue(db);
        const { id } = await enqueue(queue, "old");
        expect(await replaced(queue, (call) => claimOne(db, queue, {}, call), end)).toEqual({ id, duplicate: true });
        expect(await jobOf(db, id)).toMatchObject({ state: end === "commit" ? "running" : "ready", input });
        expect(await claimAll(db, queue)).toHaveLength(end === "commit" ? 0 : 1);
      },
    );
  },
);

describe("followUp", () => {
  it("queues one job behind a running one, started when that ends [#74]", async () => {
    const queue = await newQueue(db);
    await enqueue(queue, "first");
    const first = await claimOne(db, queue);
    const followUp = await enqueue(queue, "second", { fingerprintMode: "followUp" });
    expect(followUp.duplicate).toBe(false);
    expect(await enqueue(queue, "third", { fingerprintMode: "followUp" })).toEqual({
      id: followUp.id,
      duplicate: true,
    });
    await db.engine.maintain();
    expect(await claimAll(db, queue)).toEqual([]);
    await db.engine.complete(first);
    expect((await claimAll(db, queue)).map((job) => job.input)).toEqual(["second"]);
  });

  it.each(["fail", "cancel", "lose"] as const)("is started also when the first one ends by %s [#74]", async (end) => {
    const queue = await newQueue(db);
    const { id } = await enqueue(queue, "first", { maxAttempts: 1 });
    const first = await claimOne(db, queue, { leaseSeconds: 5 });
    await enqueue(queue, "second", { fingerprintMode: "followUp" });
    if (end === "fail") await db.engine.fail(first);
    if (end === "cancel") await db.engine.cancel([id]);
    if (end === "lose") {
      await db.moveClock(5);
      await db.engine.maintain();
    }
    expect((await claimAll(db, queue)).map((job) => job.input)).toEqual(["second"]);
  });

  it("makes no second job behind one that only waits [#74]", async () => {
    const queue = await newQueue(db);
    const { id } = await enqueue(queue, "first");
    expect(await enqueue(queue, "second", { fingerprintMode: "followUp" })).toEqual({ id, duplicate: true });
  });

  it.each(["replace", "debounce"] as const)(
    "takes a later %s, and still waits for the first one to end [#74]",
    async (fingerprintMode) => {
      const queue = await newQueue(db);
      await enqueue(queue, "first");
      const first = await claimOne(db, queue);
      const { id } = await enqueue(queue, "second", { fingerprintMode: "followUp" });
      expect(await enqueue(queue, "third", { fingerprintMode })).toEqual({ id, duplicate: true });
      expect(await claimAll(db, queue)).toEqual([]);
      await db.engine.complete(first);
      expect((await claimAll(db, queue)).map((job) => job.input)).toEqual(["third"]);
    },
  );

  it("makes a new one after the follow-up was cancelled [#74]", async () => {
    const queue = await newQueue(db);
    await enqueue(queue, "first");
    const first = await claimOne(db, queue);
    const cancelled = await enqueue(queue, "cancelled", { fingerprintMode: "followUp" });
    expect(await db.engine.cancel([cancelled.id])).toBe(1);
    expect(await enqueue(queue, "again", { fingerprintMode: "followUp" })).toMatchObject({ duplicate: false });
    await db.engine.complete(first);
    expect((await claimAll(db, queue)).map((job) => job.input)).toEqual(["again"]);
  });

  it("does not expire while it waits for the first one to end [#74] [#139]", async () => {
    const queue = await newQueue(db);
    await enqueue(queue, "first");
    const first = await claimOne(db, queue, { leaseSeconds: 600 });
    const { id } = await enqueue(queue, "second", { fingerprintMode: "followUp", ttlSeconds: 10 });
    await db.moveClock(60);
    await db.engine.maintain();
    await db.engine.complete(first);
    expect((await claimAll(db, queue)).map((job) => job.id)).toEqual([id]);
  });
});

describe("after the first has ended", () => {
  it.each(["complete", "fail", "cancel", "expire", "purge"] as const)(
    "by %s, the fingerprint makes a new job [#74]",
    async (end) => {
      const queue = await newQueue(db);
      const { id } = await enqueue(queue, 1, end === "expire" ? { ttlSeconds: 5 } : {});
      if (end === "complete") await db.engine.complete(await claimOne(db, queue));
      if (end === "fail") await db.engine.fail(await claimOne(db, queue));
      if (end === "cancel") await db.engine.cancel([id]);
      if (end === "expire") await db.moveClock(5);
      if (end === "purge") await db.engine.queuePurge(queue);
      const second = await enqueue(queue, 2);
      expect(second.duplicate).toBe(false);
      expect((await claimAll(db, queue)).map((job) => job.id)).toEqual([second.id]);
    },
  );

  it("is still refused within the period asked for, and not after it [#74]", async () => {
    const queue = await newQueue(db);
    const { id } = await enqueue(queue, 1, { fingerprintSeconds: 60 });
    await db.engine.complete(await claimOne(db, queue));
    await db.moveClock(59);
    await db.engine.maintain();
    expect(await enqueue(queue, 2)).toEqual({ id, duplicate: true });
    await db.moveClock(1);
    expect(await enqueue(queue, 3)).toMatchObject({ duplicate: false });
  });
});
