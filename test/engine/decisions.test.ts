import { beforeAll, describe, expect, it } from "vitest";
import { day, hour, moveClockToNoon } from "../support/clock.js";
import { useDatabase } from "../support/database.js";
import { claimOne, enqueue, idsOf, jobOf, newQueue } from "../support/jobs.js";
import { claimAll, jobNotFound, waitersOf } from "../support/steps.js";

const db = useDatabase();
beforeAll(() => moveClockToNoon(db));

const endings: Record<string, (queue: string) => Promise<string>> = {
  async "used up its attempts"(queue) {
    const id = await enqueue(db, queue, { maxAttempts: 1 });
    await db.engine.retryLater(await claimOne(db, queue), { message: "no" });
    return id;
  },
  async "failed for good"(queue) {
    const id = await enqueue(db, queue);
    await db.engine.fail(await claimOne(db, queue), { message: "no" });
    return id;
  },
  async "expired while it waited"(queue) {
    const id = await enqueue(db, queue, { ttlSeconds: 5 });
    await db.moveClock(5);
    await db.engine.maintain();
    return id;
  },
  async "has expired, and nobody has swept it"(queue) {
    const id = await enqueue(db, queue, { ttlSeconds: 5 });
    await db.moveClock(5);
    return id;
  },
};
const failed = (queue: string) => endings["used up its attempts"]!(queue);
const undecided = async (queue: string) => idsOf(await db.engine.list({ queue, undecided: true }));

describe.each(Object.keys(endings))("a job that %s", (ending) => {
  it("stays listed for a decision, and a retry decides it, once, on record [#176]", async () => {
    const queue = await newQueue(db);
    const id = await endings[ending]!(queue);
    await db.moveClock(day);
    await db.engine.maintain();
    expect(await undecided(queue)).toEqual([id]);
    expect(await db.engine.decisions(id)).toEqual([]);
    expect(await db.engine.retry(2, { ids: [id], by: "ann", because: "the disk is back" })).toBe(1);
    expect(await db.engine.retry(2, { ids: [id], by: "bob" })).toBe(0);
    expect(await db.engine.discard([id], { by: "bob" })).toBe(0);
    expect(await undecided(queue)).toEqual([]);
    expect(await jobOf(db, id)).toMatchObject({ state: "ready", discardedAt: null });
    expect(await db.engine.decisions(id)).toEqual([
      { jobId: id, action: "retry", attempts: 2, decidedAt: expect.any(Date), by: "ann", because: "the disk is back" },
    ]);
    expect(await claimOne(db, queue)).toMatchObject({ id });
  });

  it("can be discarded instead, once, on record, and then no longer be retried [#176]", async () => {
    const queue = await newQueue(db);
    const id = await endings[ending]!(queue);
    const before = await jobOf(db, id);
    expect(await undecided(queue)).toEqual([id]);
    expect(await db.engine.discard([id], { by: "ann", because: "the customer has left" })).toBe(1);
    expect(await db.engine.discard([id], { by: "bob" })).toBe(0);
    expect(await db.engine.retry(2, { ids: [id], by: "bob" })).toBe(0);
    expect(await db.engine.retry(2, { type: "work", queue })).toBe(0);
    expect(await undecided(queue)).toEqual([]);
    await db.engine.maintain();
    const after = await jobOf(db, id);
    expect(after).toMatchObject({
      state: before.state,
      reason: before.reason,
      lastError: before.lastError,
      discardedAt: expect.any(Date),
    });
    expect(idsOf(await db.engine.list({ queue, state: before.state }))).toEqual([id]);
    expect(await db.engine.decisions(id)).toEqual([
      {
        jobId: id,
        action: "discard",
        attempts: null,
        decidedAt: after.discardedAt,
        by: "ann",
        because: "the customer has left",
      },
    ]);
    expect(await claimAll(db, queue)).toEqual([]);
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 0, delayed: 0, running: 0 });
  });
});

describe("deciding", () => {
  it("on one job from many sides at once is done by exactly one [#176]", async () => {
    const queue = await newQueue(db);
    const ids = await Promise.all(
      Array.from({ length: 6 }, async () => (await db.engine.enqueue({ type: "work", queue, maxAttempts: 1 })).id),
    );
    for (const job of await claimAll(db, queue)) await db.engine.retryLater(job, { message: "no" });
    for (const id of ids) {
      const counts = await Promise.all(
        [1, 2, 3].flatMap((n) => [
          db.engine.discard([id], { by: `discards ${n}` }),
          db.engine.retry(1, { ids: [id], by: `retries ${n}` }),
        ]),
      );
      expect(counts.filter((count) => count === 1)).toHaveLength(1);
      const [decision, ...others] = await db.engine.decisions(id);
      expect(others).toEqual([]);
      expect((await jobOf(db, id)).state).toBe(decision!.action === "retry" ? "ready" : "failed");
    }
  });

  it("waits for whoever is deciding, and undone it never was [#176]", async () => {
    const queue = await newQueue(db);
    const id = await failed(queue);
    const tx = await db.connect();
    await tx.query("begin");
    expect(await db.engine.discard([id], {}, { tx })).toBe(1);
    const retry = db.engine.retry(1, { ids: [id] });
    await waitersOf(db, tx, 1);
    await tx.query("rollback");
    expect(await retry).toBe(1);
    expect((await db.engine.decisions(id)).map((one) => one.action)).toEqual(["retry"]);
  });

  it("is recorded each time the job comes back to it [#176]", async () => {
    const queue = await newQueue(db);
    const id = await failed(queue);
    for (const by of ["ann", "bob"]) {
      await db.engine.retry(1, { ids: [id], by });
      await db.engine.retryLater(await claimOne(db, queue), { message: "still no" });
      expect(await undecided(queue)).toEqual([id]);
    }
    await db.engine.discard([id], { by: "eve" });
    expect((await db.engine.decisions(id)).map(({ action, by }) => [action, by])).toEqual([
      ["retry", "ann"],
      ["retry", "bob"],
      ["discard", "eve"],
    ]);
  });

  it("for all of a type leaves a record with each [#176]", async () => {
    const queue = await newQueue(db);
    const ids = [await failed(queue), await failed(queue)];
    const discarded = await failed(queue);
    await db.engine.discard([discarded]);
    expect(await db.engine.retry(1, { type: "work", queue, because: "fixed" })).toBe(2);
    for (const id of ids)
      expect(await db.engine.decisions(id)).toMatchObject([{ action: "retry", by: null, because: "fixed" }]);
    expect(await db.engine.decisions(discarded)).toMatchObject([{ action: "discard" }]);
  });

  it("leaves live, succeeded and cancelled jobs alone, and counts the others [#176]", async () => {
    const queue = await newQueue(db);
    const done = await enqueue(db, queue);
    await db.engine.complete(await claimOne(db, queue));
    const cancelled = await enqueue(db, queue);
    await db.engine.cancel([cancelled]);
    const running = await enqueue(db, queue);
    await claimOne(db, queue);
    const delayed = await enqueue(db, queue, { delaySeconds: 60 });
    const both = [await failed(queue), await endings["expired while it waited"]!(queue)];
    const ready = await enqueue(db, queue, { type: "other" });
    expect(await undecided(queue)).toEqual([...both].reverse());
    expect(await db.engine.discard([done, cancelled, running, delayed, ready, ...both, ...both])).toBe(2);
    for (const id of [done, cancelled, running, delayed, ready]) {
      expect(await db.engine.decisions(id)).toEqual([]);
      expect((await jobOf(db, id)).discardedAt).toBeNull();
    }
  });

  it("takes more than a hundred at once [#176]", async () => {
    const queue = await newQueue(db);
    const ids = idsOf(
      await db.engine.enqueueMany(
        "work",
        Array.from({ length: 150 }, (_, i) => i),
        { queue },
      ),
    );
    const [job] = await db.engine.claim({ queues: [queue], limit: 150 });
    await db.sql("select job_fail($1)", [job!.token]);
    expect(await db.engine.discard(ids)).toBe(150);
    expect(await undecided(queue)).toEqual([]);
  });

  it("can be listed by state, type and page like others, and combines with states that never wait for one [#176]", async () => {
    const queue = await newQueue(db);
    const ids = [await failed(queue), await failed(queue), await failed(queue)];
    expect(idsOf(await db.engine.list({ queue, undecided: true, state: "failed", limit: 2 }))).toEqual([
      ids[2],
      ids[1],
    ]);
    expect(idsOf(await db.engine.list({ queue, undecided: true, before: ids[1]! }))).toEqual([ids[0]]);
    expect(await db.engine.list({ queue, undecided: true, type: "other" })).toEqual([]);
    await enqueue(db, queue, { delaySeconds: 60 });
    expect(await db.engine.list({ queue, undecided: true, state: "delayed" })).toEqual([]);
  });

  it("refuses an id that names no job [#176]", async () => {
    await expect(db.engine.discard(["1"])).rejects.toMatchObject(jobNotFound);
  });
});

describe("a cancel", () => {
  const retrying = async (queue: string): Promise<string> => {
    const id = await enqueue(db, queue, { maxAttempts: 3 });
    await db.engine.retryLater(await claimOne(db, queue), { message: "the first try broke" }, 60);
    return id;
  };

  it("tells who and why, also of a job that was tried before", async () => {
    const queue = await newQueue(db);
    const [one, other] = [await retrying(queue), await retrying(queue)];
    expect(await db.engine.cancel([one], "sent twice", { by: "ann" })).toBe(1);
    expect(await db.engine.decisions(one)).toMatchObject([
      { jobId: one, action: "cancel", by: "ann", because: "sent twice", attempts: null },
    ]);
    expect((await jobOf(db, one)).lastError).toEqual({ message: "sent twice" });
    expect(await db.engine.cancelWhere({ queue, type: "work", by: "bob", because: "stopped" })).toBe(1);
    expect(await db.engine.decisions(other)).toMatchObject([{ action: "cancel", by: "bob", because: "stopped" }]);
    expect(await db.sql("select job_id::text, error from job_outcomes($1::bigint[])", [[one, other]])).toEqual([
      { job_id: one, error: { message: "sent twice" } },
      { job_id: other, error: { message: "stopped" } },
    ]);
  });

  it("of a running job is told too; one that says nothing leaves no record", async () => {
    const queue = await newQueue(db);
    const running = await enqueue(db, queue);
    await claimOne(db, queue);
    const silent = await retrying(queue);
    expect(await db.engine.cancel([running], undefined, { by: "ann" })).toBe(1);
    expect(await db.engine.cancel([silent])).toBe(1);
    expect(await db.engine.decisions(running)).toMatchObject([{ action: "cancel", by: "ann", because: null }]);
    expect(await db.engine.decisions(silent)).toEqual([]);
    expect((await jobOf(db, silent)).lastError).toEqual({ message: "the first try broke" });
  });
});

describe("the record of a decision", () => {
  it.each([
    ["few jobs", 0],
    ["many jobs", 10_001],
  ])("goes with its job, and not before, from a day with %s that stay [#176] [#15]", async (_, live) => {
    const queue = await newQueue(db);
    const discarded = await failed(queue);
    await db.engine.discard([discarded]);
    const revived = await failed(queue);
    await db.engine.retry(1, { ids: [revived] });
    if (live > 0) await db.engine.enqueueMany("work", Array.from({ length: live }), { queue });
    const records = async () =>
      [await db.engine.decisions(discarded), await db.engine.decisions(revived)].map((found) => found.length);
    const pass = async (seconds: number) => {
      await db.moveClock(seconds);
      await db.engine.maintain();
      await db.engine.maintainSpace();
    };
    await pass(30 * day - hour);
    expect(await records()).toEqual([1, 1]);
    await pass(hour + day + 1);
    expect(await db.engine.get(discarded)).toBeNull();
    expect(await records()).toEqual([0, 1]);
    expect((await jobOf(db, revived)).state).toBe("ready");
  });
});
