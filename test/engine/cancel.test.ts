import { describe, expect, it } from "vitest";
import { useDatabase } from "../support/database.js";
import { claimOne, jobOf, newQueue } from "../support/jobs.js";
import { claimAll, leaseLost, waitersOf } from "../support/steps.js";

const db = useDatabase();
let tenants = 0;
const newTenants = (): [string, string] => [`k${(tenants += 1)}`, `k${(tenants += 1)}`];

describe("cancelling by key", () => {
  it("cancels the waiting jobs of one tenant, which never run; the other's do [#142]", async () => {
    const queue = await newQueue(db);
    const [k1, k2] = newTenants();
    await db.engine.enqueueMany("t", ["k1 a", "k1 b"], { queue, tenant: k1 });
    await db.engine.enqueue({ type: "t", queue, tenant: k2, input: "k2" });
    const delayed = await db.engine.enqueue({ type: "t", queue, tenant: k1, delaySeconds: 10, input: "k1 delayed" });

    expect(await db.engine.cancelWhere({ tenant: k1, because: "left us" })).toBe(3);
    expect((await db.engine.list({ tenant: k1 })).map((job) => job.state)).toEqual([
      "cancelled",
      "cancelled",
      "cancelled",
    ]);
    expect(await jobOf(db, delayed.id)).toMatchObject({ attempts: 0, lastError: { message: "left us" } });
    await db.moveClock(20);
    expect((await claimAll(db, queue)).map((job) => job.input)).toEqual(["k2"]);
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 0, delayed: 0, running: 1 });
  });

  it("ends running ones as cancelled: their holder is told at its next beat and its report is refused [#142]", async () => {
    const queue = await newQueue(db);
    const [k1, k2] = newTenants();
    await db.engine.enqueueEach([
      { type: "t", queue, tenant: k1 },
      { type: "t", queue, tenant: k2 },
    ]);
    const [doomed, neighbour] = await db.engine.claim({ queues: [queue], limit: 2 });
    expect(await db.engine.cancelWhere({ tenant: k1 })).toBe(1);

    expect((await db.engine.claimExtend([doomed!.token])).get(doomed!.token)?.jobIds).toEqual([neighbour!.id]);
    await expect(db.engine.complete(doomed!)).rejects.toMatchObject(leaseLost);
    expect(await jobOf(db, doomed!.id)).toMatchObject({ state: "cancelled", attempts: 1 });
    await db.engine.complete(neighbour!);
    expect((await jobOf(db, neighbour!.id)).state).toBe("succeeded");
  });

  it.each(["retrying", "blocked"])("cancels one that is %s [#142]", async (state) => {
    const queue = await newQueue(db);
    const [k1] = newTenants();
    const { id } = await db.engine.enqueue({ type: "t", queue, tenant: k1 });
    if (state === "retrying") await db.engine.retryLater(await claimOne(db, queue), { message: "again" }, 5);
    else await db.engine.queuePause(queue);
    expect(await db.engine.cancelWhere({ tenant: k1 })).toBe(1);
    if (state === "blocked") await db.engine.queueResume(queue);
    await db.moveClock(5);
    expect(await claimAll(db, queue)).toEqual([]);
    expect((await jobOf(db, id)).state).toBe("cancelled");
  });

  it("leaves finished ones as they are, and does not count them [#142]", async () => {
    const queue = await newQueue(db);
    const [k1] = newTenants();
    const { id } = await db.engine.enqueue({ type: "t", queue, tenant: k1 });
    await db.engine.complete(await claimOne(db, queue), "kept");
    expect(await db.engine.cancelWhere({ tenant: k1 })).toBe(0);
    expect(await db.engine.cancel([id])).toBe(0);
    expect(await jobOf(db, id)).toMatchObject({ state: "succeeded", result: "kept" });
  });

  it("counts a job once, however often it is cancelled [#142]", async () => {
    const queue = await newQueue(db);
    const [k1] = newTenants();
    const { id } = await db.engine.enqueue({ type: "t", queue, tenant: k1 });
    const counts = await Promise.all([
      ...Array.from({ length: 5 }, () => db.engine.cancel([id, id])),
      db.engine.cancelWhere({ tenant: k1 }),
    ]);
    expect(counts.reduce((a, b) => a + b)).toBe(1);
    expect((await db.engine.queueDepth(queue)).ready).toBe(0);
  });

  it("takes a fingerprint as the key, with its follow-up [#142]", async () => {
    const queue = await newQueue(db);
    await db.engine.enqueue({ type: "t", queue, fingerprint: "k1" });
    const running = await claimOne(db, queue);
    await db.engine.enqueue({ type: "t", queue, fingerprint: "k1", fingerprintMode: "followUp" });
    await db.engine.enqueue({ type: "t", queue, fingerprint: "k2", input: "other" });
    expect(await db.engine.cancelWhere({ queue, fingerprint: "k1" })).toBe(2);
    await expect(db.engine.complete(running)).rejects.toMatchObject(leaseLost);
    expect((await claimAll(db, queue)).map((job) => job.input)).toEqual(["other"]);
  });

  it("combines filters: type and queue narrow the tenant [#142]", async () => {
    const [here, there] = [await newQueue(db), await newQueue(db)];
    const [k1] = newTenants();
    for (const queue of [here, there])
      for (const type of ["a", "b"]) await db.engine.enqueue({ type, queue, tenant: k1 });
    expect(await db.engine.cancelWhere({ tenant: k1, type: "a", queue: here })).toBe(1);
    expect((await claimAll(db, here)).map((job) => job.type)).toEqual(["b"]);
    expect(await claimAll(db, there)).toHaveLength(2);
  });
});

describe("a cancelled job", () => {
  it("does not stand in the way of less urgent ones [#142]", async () => {
    const queue = await newQueue(db);
    const urgent = await db.engine.enqueue({ type: "t", queue, priority: 0 });
    const calm = await db.engine.enqueue({ type: "t", queue, priority: 9 });
    await db.engine.cancel([urgent.id]);
    expect((await claimAll(db, queue)).map((job) => job.id)).toEqual([calm.id]);
  });

  it("leaves its neighbours' attempts counted as before [#142]", async () => {
    const queue = await newQueue(db);
    const ids = (await db.engine.enqueueMany("t", [1, 2, 3], { queue })).map((job) => job.id);
    await db.engine.cancel([ids[1]!]);
    const claimed = await db.engine.claim({ queues: [queue], limit: 10 });
    expect(claimed.map((job) => [job.id, job.attempt])).toEqual([
      [ids[0], 1],
      [ids[2], 1],
    ]);
    for (const job of claimed) await db.engine.complete(job);
    expect((await db.engine.list({ queue })).map((job) => [job.state, job.attempts])).toEqual([
      ["succeeded", 1],
      ["cancelled", 0],
      ["succeeded", 1],
    ]);
  });

  it.each(["commit", "rollback"])(
    "in a transaction still open is passed over by claims, which take its neighbours at once, until the %s [#29] [#142]",
    async (end) => {
      const queue = await newQueue(db);
      const { id } = await db.engine.enqueue({ type: "t", queue, input: "held" });
      await db.engine.enqueueMany("t", ["next", "last"], { queue });
      const tx = await db.connect();
      await tx.query("begin");
      expect(await db.engine.cancel([id], undefined, { tx })).toBe(1);
      const claimed = [await claimOne(db, queue), await claimOne(db, queue)];
      expect(claimed.map((job) => job.input)).toEqual(["next", "last"]);
      expect(await claimAll(db, queue)).toEqual([]);
      expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 1, running: 2 });
      await tx.query(end);
      expect((await jobOf(db, id)).state).toBe(end === "commit" ? "cancelled" : "ready");
      expect((await claimAll(db, queue)).map((job) => job.input)).toEqual(end === "commit" ? [] : ["held"]);
      expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 0, running: end === "commit" ? 2 : 3 });
    },
  );

  it("that was claimed in a transaction still open is cancelled as running, once that is known [#29] [#142]", async () => {
    const queue = await newQueue(db);
    const { id } = await db.engine.enqueue({ type: "t", queue });
    const tx = await db.connect();
    await tx.query("begin");
    const [job] = await db.engine.claim({ queues: [queue] }, { tx });
    const cancelled = db.engine.cancel([id]);
    await waitersOf(db, tx, 1);
    await tx.query("commit");
    expect(await cancelled).toBe(1);
    await expect(db.engine.complete(job!)).rejects.toMatchObject(leaseLost);
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 0, running: 0 });
  });

  it("that expires before the cancellation commits holds up no claim, has one end and is counted once [#142] [#101]", async () => {
    const queue = await newQueue(db);
    const { id } = await db.engine.enqueue({ type: "t", queue, ttlSeconds: 5 });
    await db.engine.enqueue({ type: "other", queue });
    const tx = await db.connect();
    await tx.query("begin");
    await db.engine.cancel([id], undefined, { tx });
    await db.moveClock(5);
    // A claim must not wait for the caller's transaction, however long that stays open.
    const claimer = await db.connect();
    await claimer.query("set lock_timeout = '3s'");
    expect(await db.engine.claim({ queues: [queue], types: ["t"] }, { tx: claimer })).toEqual([]);
    await tx.query("commit");
    await db.engine.maintain();
    const { state } = await jobOf(db, id);
    expect(["cancelled", "expired"]).toContain(state);
    expect((await db.engine.queueDepth(queue)).ready).toBe(1);
    expect(await db.engine.retry(1, { ids: [id] })).toBe(state === "expired" ? 1 : 0);
  });
});
