import { describe, expect, it } from "vitest";
import type { ClaimedJob, JobId, Replay } from "../../src/db/types.js";
import { clockNow } from "../support/clock.js";
import { useDatabase } from "../support/database.js";
import { claimOne, enqueue, idsOf, jobOf, newQueue, stateOf } from "../support/jobs.js";
import { claimAll, invalidArgument, queueNotFound } from "../support/steps.js";

const db = useDatabase();
const times = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

async function finish(queue: string, inputs: readonly unknown[], type = "work"): Promise<JobId[]> {
  const jobs = await db.engine.enqueueMany(type, inputs, { queue });
  const claimed = await db.engine.claim({ queues: [queue], types: [type], limit: inputs.length });
  await db.engine.completeMany(claimed[0]!.token, idsOf(claimed));
  return idsOf(jobs);
}

/** All batches; how many copies there are, and in how many calls. */
async function replayAll(which: Replay): Promise<{ jobs: number; calls: number }> {
  let [jobs, calls] = [0, 0];
  for (let next: Replay | null = which; next; calls += 1) {
    const batch: Awaited<ReturnType<typeof db.engine.replay>> = await db.engine.replay(next);
    jobs += batch.jobs;
    next = batch.next;
  }
  return { jobs, calls };
}

const sources = (jobs: readonly ClaimedJob[]): JobId[] => jobs.map(({ source }) => (source as { id: JobId }).id);

describe("replay", () => {
  it("copies jobs that ended within the range, succeeded and failed ones, each with its source, in their order", async () => {
    const queue = await newQueue(db);
    await finish(queue, ["before"]);
    await db.moveClock(10);
    const from = await clockNow(db);
    const streak = await finish(queue, times(5));
    const single = await enqueue(db, queue, {
      input: { a: 1 },
      group: "g",
      tenant: "t",
      headers: { h: 1 },
      priority: 2,
      payload: new Uint8Array([1, 2, 3]),
      contentType: "x/y",
      ttlSeconds: 9,
    });
    await db.engine.complete(await claimOne(db, queue), { ok: true });
    const failed = await enqueue(db, queue);
    await db.engine.fail(await claimOne(db, queue), { message: "no" });
    await db.moveClock(10);
    const to = await clockNow(db);
    await finish(queue, ["after"]);

    expect(await db.engine.replay({ since: from, until: to, queue, dryRun: true })).toEqual({ jobs: 7, next: null });
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 0, delayed: 0 });
    expect(await db.engine.replay({ since: from, until: to, queue })).toEqual({ jobs: 7, next: null });
    const copies = await claimAll(db, queue);
    expect(sources(copies).toSorted()).toEqual([...streak, single, failed].toSorted());
    expect(sources(copies.filter(({ priority }) => priority === 5))).toEqual([...streak, failed]);
    const copy = copies.find(({ priority }) => priority === 2)!;
    expect(copy).toMatchObject({
      input: { a: 1 },
      group: "g",
      tenant: "t",
      headers: { h: 1 },
      contentType: "x/y",
      attempt: 1,
      source: { id: single, queue, replayed: true },
    });
    expect(copy.payload).toEqual(new Uint8Array([1, 2, 3]));
    expect((await jobOf(db, copy.id)).expiresAt).toBeNull();
    expect(await stateOf(db, single)).toBe("succeeded");
    expect(await stateOf(db, failed)).toBe("failed");
  });

  it("goes by queue, type and states, and into another queue if asked", async () => {
    const [queue, other, target] = [await newQueue(db), await newQueue(db), await newQueue(db)];
    const from = await clockNow(db);
    const [a] = await finish(queue, [1], "a");
    await finish(queue, [1], "b");
    await finish(other, [1], "a");
    const expired = await enqueue(db, queue, { type: "a", ttlSeconds: 1 });
    const running = await enqueue(db, queue, { type: "c" });
    await claimOne(db, queue, { types: ["c"], leaseSeconds: 1000 });
    const waits = await enqueue(db, queue, { type: "a", delaySeconds: 1000 });
    await db.moveClock(2);
    await db.engine.maintain();
    await enqueue(db, queue, { type: "a", priority: 9 });
    await db.engine.cancel([(await claimOne(db, queue)).id]);
    expect(await db.engine.replay({ since: from, queue, type: "a", target, dryRun: true })).toMatchObject({ jobs: 1 });
    expect(await db.engine.replay({ since: from, type: "a", target, dryRun: true })).toMatchObject({ jobs: 2 });
    expect(await db.engine.replay({ since: from, queue, states: ["expired"], dryRun: true })).toMatchObject({
      jobs: 1,
    });
    await db.engine.replay({ since: from, queue, type: "a", states: ["succeeded", "expired"], target });
    expect(sources(await claimAll(db, target))).toEqual([a, expired]);
    expect(await stateOf(db, running)).toBe("running");
    expect(await stateOf(db, waits)).toBe("delayed");
  });

  it("goes on where a batch has stopped, makes each copy once, and never copies a copy", async () => {
    const queue = await newQueue(db);
    const from = await clockNow(db);
    const ids = await finish(queue, times(2500));
    const dry = await replayAll({ since: from, queue, dryRun: true });
    expect(dry).toEqual({ jobs: 2500, calls: 3 });
    let jobs = 0;
    for (let next: Replay | null = { since: from, queue, limit: 700 }; next;) {
      const batch: Awaited<ReturnType<typeof db.engine.replay>> = await db.engine.replay(next);
      jobs += batch.jobs;
      next = batch.next;
      for (let found = 1; found > 0;) {
        // they end while others are still being made
        const copies = await db.engine.claim({ queues: [queue], limit: 1000 });
        found = copies.length;
        for (const token of new Set(copies.map((job) => job.token)))
          await db.engine.completeMany(token, idsOf(copies.filter((job) => job.token === token)));
      }
    }
    expect(jobs).toBe(2500);
    const copied = await db.sql<{ id: string }>(
      "select source ->> 'id' as id from jobs where queue = $1 and source is not null order by id",
      [queue],
    );
    expect(copied.map(({ id }) => id)).toEqual(ids);
  });

  it("passes over what does not match in bounded steps", async () => {
    const [queue, busy] = [await newQueue(db), await newQueue(db)];
    const from = await clockNow(db);
    const [first] = await finish(queue, [1]);
    await db.engine.enqueueMany("noise", times(21_000), { queue: busy });
    const [last] = await finish(queue, [2]);
    const step = await db.engine.replay({ since: from, queue });
    expect(step).toMatchObject({ jobs: 1, next: { queue } });
    expect(step.next?.after).not.toBe(last);
    expect(await replayAll(step.next!)).toEqual({ jobs: 1, calls: 2 });
    expect(sources(await claimAll(db, queue))).toEqual([first, last]);
  });

  it("spreads copies by a rate, across batches", async () => {
    const queue = await newQueue(db);
    const from = await clockNow(db);
    await finish(queue, times(6));
    const begun = (await clockNow(db)).getTime();
    await replayAll({ since: from, queue, perSecond: 0.1, limit: 4 });
    const copies = (await db.engine.list({ queue, limit: 6 })).toReversed();
    for (const [i, { runAt }] of copies.entries()) expect((runAt.getTime() - begun) / 1000 - 10 * i).toBeLessThan(5);
    expect(copies.map(({ state }) => state)).toEqual(["ready", "delayed", "delayed", "delayed", "delayed", "delayed"]);
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 1, delayed: 5 });
    await db.moveClock(60);
    expect(await claimAll(db, queue)).toHaveLength(6);
  });

  it("takes the last end of a job that was retried, also of one that is tried again right now", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue);
    await db.engine.fail(await claimOne(db, queue), { message: "first" });
    await db.moveClock(10);
    const from = await clockNow(db);
    await db.engine.retry(1, { ids: [id] });
    expect(await db.engine.replay({ since: new Date(from.getTime() - 60_000), queue })).toMatchObject({ jobs: 0 });
    await db.engine.complete(await claimOne(db, queue));
    expect(await db.engine.replay({ since: from, queue, dryRun: true })).toMatchObject({ jobs: 1 });
  });

  it("copies large payloads whole, and ends a batch when they are too much for one", async () => {
    const queue = await newQueue(db);
    const from = await clockNow(db);
    const piece = new Uint8Array(1_000_000).fill(7);
    for (let i = 0; i < 3; i += 1)
      await db.engine.enqueueStream(
        { type: "large", queue },
        33_000_000,
        Array.from({ length: 33 }, () => piece),
      );
    for (let i = 0; i < 3; i += 1) await db.engine.complete(await claimOne(db, queue));
    const first = await db.engine.replay({ since: from, queue });
    expect(first.jobs).toBe(2);
    expect(await db.engine.replay(first.next!)).toEqual({ jobs: 1, next: null });
    const copies = await claimAll(db, queue);
    expect(copies.map(({ payloadSize }) => payloadSize)).toEqual([33_000_000, 33_000_000, 33_000_000]);
    expect([...(await db.engine.payloadRead(copies[2]!.id, 32_999_998, 10))!]).toEqual([7, 7]);
  });

  it("leaves out the jobs of finished queues, and goes on after them", async () => {
    const [over, queue] = [await newQueue(db), await newQueue(db)];
    const from = await clockNow(db);
    for (let i = 0; i < 3; i += 1) for (const name of [over, queue]) await finish(name, [i], "mixed");
    await db.sql("update queue set closed_at = clock_now(), finished_at = clock_now() where name = $1", [over]);
    expect(await replayAll({ since: from, type: "mixed", limit: 2 })).toMatchObject({ jobs: 3 });
    expect(await claimAll(db, queue)).toHaveLength(3);
    await expect(db.engine.replay({ since: from, type: "mixed", target: over })).rejects.toMatchObject({
      code: "MR014",
    });
  });

  it("rolls back with the caller's transaction", async () => {
    const queue = await newQueue(db);
    const from = await clockNow(db);
    await finish(queue, times(3));
    const tx = await db.connect();
    await tx.query("begin");
    expect(await db.engine.replay({ since: from, queue }, { tx })).toMatchObject({ jobs: 3 });
    await tx.query("rollback");
    expect(await claimAll(db, queue)).toEqual([]);
  });

  it("refuses ranges, states, rates and queues that make no sense", async () => {
    const queue = await newQueue(db);
    const from = await clockNow(db);
    const soon = new Date(Date.now() + 3600_000 * 24);
    for (const which of [
      { until: soon },
      { since: soon },
      { until: from },
      { states: [] },
      { states: ["cancelled"] },
      { perSecond: 0 },
      { limit: 0 },
      { limit: 10_001 },
      { after: "x" },
      { from },
    ])
      await expect(
        db.engine.replay({ since: from, queue, ...which } as Replay),
        JSON.stringify(which),
      ).rejects.toMatchObject(invalidArgument);
    await expect(db.engine.replay({ since: "some day" })).rejects.toMatchObject(invalidArgument);
    await expect(db.engine.replay({ since: from, queue: "nowhere" })).rejects.toMatchObject(queueNotFound);
    await expect(db.engine.replay({ since: from, target: "nowhere" })).rejects.toMatchObject(queueNotFound);
  });
});
