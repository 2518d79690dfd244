import { describe, expect, it, onTestFinished } from "vitest";
import { clockNow, day, hour } from "../support/clock.js";
import { useDatabase } from "../support/database.js";
import { claimIds, claimOne, enqueue, idsOf, jobOf, newQueue, stateOf } from "../support/jobs.js";

const db = useDatabase();

interface Subject {
  readonly queue: string;
  readonly id: string;
  readonly token: string;
}

/** Every way to change a job: the state it must be in before, and the change. */
const changes: Record<string, [from: "ready" | "running" | "failed", change: (job: Subject) => Promise<unknown>]> = {
  claim: ["ready", ({ queue }) => claimOne(db, queue)],
  extend: ["running", ({ token }) => db.engine.claimExtend([token], hour)],
  "set visibility": ["running", (job) => db.engine.setVisibility(job, hour)],
  complete: ["running", (job) => db.engine.complete(job)],
  fail: ["running", (job) => db.engine.fail(job)],
  "retry at once": ["running", (job) => db.engine.retryLater(job, undefined, 0)],
  "retry later": ["running", (job) => db.engine.retryLater(job, undefined, hour)],
  "release at once": ["running", (job) => db.engine.release(job)],
  "release for later": ["running", (job) => db.engine.release(job, hour)],
  "cancel while ready": ["ready", ({ id }) => db.engine.cancel([id])],
  "cancel while running": ["running", ({ id }) => db.engine.cancel([id])],
  purge: ["ready", ({ queue }) => db.engine.queuePurge(queue)],
  "dead letter": ["running", (job) => db.engine.deadLetter(job, "default")],
  "add retries": ["failed", ({ id }) => db.engine.retry(1, { ids: [id] })],
};

async function subject(from: "ready" | "running" | "failed"): Promise<Subject> {
  const queue = await newQueue(db);
  const id = await enqueue(db, queue);
  if (from === "ready") return { queue, id, token: "" };
  const job = await claimOne(db, queue, { leaseSeconds: 10 * day });
  if (from === "failed") await db.engine.fail(job);
  return { queue, id, token: job.token };
}

describe("the updated time", () => {
  it.each(Object.keys(changes))("is the database's clock at the change: %s [#28] [#49]", async (name) => {
    const [from, change] = changes[name]!;
    const job = await subject(from);
    await db.moveClock(hour); // so that neither the last change nor this process's clock can pass for it
    const before = await clockNow(db);
    await change(job);
    const after = await clockNow(db);
    const { updatedAt } = await jobOf(db, job.id);
    expect(updatedAt.getTime()).toBeGreaterThanOrEqual(before.getTime());
    expect(updatedAt.getTime()).toBeLessThanOrEqual(after.getTime());
  });

  it("is the database's clock when a lost claim is taken back [#28]", async () => {
    const { queue, id } = await subject("running");
    await db.moveClock(11 * day);
    const before = await clockNow(db);
    await db.engine.maintain();
    const job = await jobOf(db, id);
    expect(job).toMatchObject({ queue, state: "ready", attempts: 1 });
    expect(job.updatedAt.getTime()).toBeGreaterThanOrEqual(before.getTime());
  });

  it.each(Object.keys(changes))(
    "is never before the created time, though the clock stepped back an hour: %s [#28] [#56]",
    async (name) => {
      const [from, change] = changes[name]!;
      await db.moveClock(hour);
      const job = await subject(from);
      await db.moveClock(-hour);
      onTestFinished(() => db.moveClock(hour));
      await change(job);
      await expectOrdered(job.id);
    },
  );

  it("is never before the created time, though the reporting transaction is older than the job [#28]", async () => {
    const queue = await newQueue(db);
    const tx = await db.connect();
    await tx.query("begin");
    await tx.query("select now()");
    const ids = [await enqueue(db, queue), await enqueue(db, queue), await enqueue(db, queue)];
    const jobs = await db.engine.claim({ queues: [queue], limit: 3 }, { tx });
    await db.engine.complete(jobs[0]!, undefined, { tx });
    await db.engine.retryLater(jobs[1]!, undefined, 0, { tx });
    await tx.query("commit");
    for (const id of ids) await expectOrdered(id);
  });

  it("does not change by reading, whatever the state, and neither does visibility [#49] [#50]", async () => {
    const ready = await subject("ready");
    const running = await subject("running");
    const failed = await subject("failed");
    await db.engine.progressPut(running, { done: 1 });
    const subjects = [ready, running, failed];
    const before = await Promise.all(subjects.map(({ id }) => jobOf(db, id)));
    await db.moveClock(hour);
    for (const { queue, id } of subjects) await readEverything(queue, id);
    expect(await Promise.all(subjects.map(({ id }) => jobOf(db, id)))).toEqual(before);
    expect(await claimIds(db, ready.queue)).toEqual([ready.id]);
    expect(await claimIds(db, running.queue)).toEqual([]);
  });

  it("of a job read again and again does not keep its lease from ending [#50]", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue);
    await claimOne(db, queue, { leaseSeconds: 30 });
    for (let i = 0; i < 4; i += 1) {
      await db.moveClock(8);
      await readEverything(queue, id);
    }
    expect(await claimIds(db, queue)).toEqual([id]);
  });

  async function readEverything(queue: string, id: string): Promise<void> {
    await db.engine.get(id);
    await db.engine.list({ queue });
    await db.engine.peek(queue);
    await db.engine.queueDepth(queue);
    await db.engine.progress(id);
    await db.engine.payloadRead(id);
    for (const view of ["jobs", "attempts", "claims", "queues", "lanes", "types", "schedule_runs", "decisions"])
      await db.sql(`select * from ${view}`);
  }

  async function expectOrdered(id: string): Promise<void> {
    const [row] = await db.sql("select created_at <= updated_at as ordered from jobs where id = $1", [id]);
    expect(row).toEqual({ ordered: true });
  }
});

describe("the created time", () => {
  it("is the clock of the insert, not of its transaction nor of this process [#47]", async () => {
    const queue = await newQueue(db);
    await db.moveClock(day);
    const tx = await db.connect();
    await tx.query("begin");
    await tx.query("select now()");
    await db.moveClock(hour);
    const before = await clockNow(db);
    const ids = [
      await enqueue(db, queue, {}, { tx }),
      ...idsOf(await db.engine.enqueueMany("work", [1, 2], { queue }, { tx })),
    ];
    const after = await clockNow(db);
    await tx.query("commit");
    for (const id of ids) {
      const { createdAt } = await jobOf(db, id);
      expect(createdAt.getTime()).toBeGreaterThanOrEqual(before.getTime());
      expect(createdAt.getTime()).toBeLessThanOrEqual(after.getTime());
    }
  });

  it.each(Object.keys(changes))("is not changed by anything later: %s [#47]", async (name) => {
    const [from, change] = changes[name]!;
    const job = await subject(from);
    const { createdAt } = await jobOf(db, job.id);
    await db.moveClock(hour);
    await change(job);
    expect((await jobOf(db, job.id)).createdAt).toEqual(createdAt);
  });

  it("is a range to list by: from the first, up to but not including the last [#60] [#47]", async () => {
    const queue = await newQueue(db);
    const other = await newQueue(db);
    const ids: string[] = [];
    const times: Date[] = [];
    for (let i = 0; i < 4; i += 1) {
      await db.moveClock(hour);
      times.push(await clockNow(db));
      ids.push(await enqueue(db, queue));
      await enqueue(db, other);
    }
    const between = async (since?: Date, until?: Date) =>
      idsOf(await db.engine.list({ queue, ...(since ? { since } : {}), ...(until ? { until } : {}) })).reverse();
    expect(await between(times[1], times[3])).toEqual(ids.slice(1, 3));
    expect(await between(times[1])).toEqual(ids.slice(1));
    expect(await between(undefined, times[2])).toEqual(ids.slice(0, 2));
    expect(await between(times[1], times[1])).toEqual([]);
    expect(await between()).toEqual(ids);
  });

  it("is a range to list by in each state [#60]", async () => {
    const queue = await newQueue(db);
    const enqueueAll = async () => {
      const delayed = await enqueue(db, queue, { delaySeconds: day });
      const ids = idsOf(await db.engine.enqueueMany("work", [1, 2, 3], { queue }));
      const [done] = await db.engine.claim({ queues: [queue], limit: 2, leaseSeconds: 10 * day });
      await db.engine.complete(done!);
      return { delayed, succeeded: ids[0]!, running: ids[1]!, ready: ids[2]! };
    };
    await enqueueAll();
    // the ready job of the first round is claimed by the second, so each round drains what the other left
    for (const job of await db.engine.claim({ queues: [queue], limit: 10 })) await db.engine.complete(job);
    await db.moveClock(hour);
    const from = await clockNow(db);
    const second = await enqueueAll();
    for (const [state, id] of Object.entries(second)) {
      expect(await stateOf(db, id)).toBe(state);
      expect(idsOf(await db.engine.list({ queue, state: state as keyof typeof second, since: from }))).toEqual([id]);
    }
  });
});
