import { describe, expect, it } from "vitest";
import { Engine } from "../../src/db/engine.js";
import type { JobRecord } from "../../src/db/types.js";
import { useDatabase } from "../support/database.js";
import { claimIds, claimOne, enqueue, idsOf, jobOf, newQueue, stateOf } from "../support/jobs.js";
import { isBlocked, pidOf } from "../support/sessions.js";

const db = useDatabase();

describe("what a claim returns", () => {
  it("is all it takes to work on the job [#24]", async () => {
    const queue = await newQueue(db);
    const payload = Buffer.from([0, 1, 254, 255]);
    const id = await enqueue(db, queue, {
      type: "resize",
      input: { key: "a.png" },
      payload,
      contentType: "image/png",
      tenant: "acme",
      group: "g",
      headers: { trace: "t1" },
      maxAttempts: 3,
      attemptTimeoutSeconds: 2,
    });
    const { createdAt } = await jobOf(db, id);
    const job = await claimOne(db, queue, { worker: "w1", leaseSeconds: 10 });
    expect(job).toMatchObject({
      id,
      queue,
      type: "resize",
      input: { key: "a.png" },
      contentType: "image/png",
      tenant: "acme",
      group: "g",
      headers: { trace: "t1" },
      attempt: 1,
      maxAttempts: 3,
      attemptTimeoutSeconds: 2,
      createdAt,
    });
    expect(Buffer.from(job.payload!)).toEqual(payload);
    expect(job.token).toMatch(/^[0-9a-f-]{36}$/);
    expect(job.leaseEndsAt).toEqual((await jobOf(db, id)).leaseEndsAt);
  });

  it("is the same in plain SQL [#24]", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue, {
      type: "resize",
      input: { key: "a.png" },
      payload: Buffer.from("bytes"),
      maxAttempts: 3,
    });
    const [row] = await db.sql("select * from job_claim(array[$1])", [queue]);
    const { createdAt, leaseEndsAt } = await jobOf(db, id);
    expect(row).toMatchObject({
      job_id: id,
      queue,
      type: "resize",
      input: { key: "a.png" },
      attempt: 1,
      max_attempts: 3,
      created_at: createdAt,
      lease_ends_at: leaseEndsAt,
      token: expect.stringMatching(/^[0-9a-f-]{36}$/),
      extras: { payload: Buffer.from("bytes").toString("base64"), payloadSize: 5 },
    });
  });

  it("tells each job of a batch its own attempts and limits [#24]", async () => {
    const queue = await newQueue(db);
    const retried = await enqueue(db, queue, { maxAttempts: 7, input: "first" });
    await db.engine.retryLater(await claimOne(db, queue), undefined, 0);
    const fresh = await enqueue(db, queue, { maxAttempts: 2, input: "second" });
    expect(await db.engine.claim({ queues: [queue], limit: 10 })).toMatchObject([
      { id: retried, attempt: 2, maxAttempts: 7, input: "first" },
      { id: fresh, attempt: 1, maxAttempts: 2, input: "second" },
    ]);
  });

  it("is empty, after one round trip and without an error, when nothing is eligible [#25]", async () => {
    const queue = await newQueue(db);
    await db.engine.complete(await enqueueAndClaim(queue));
    let roundTrips = 0;
    const counted = new Engine({
      pool: {
        query(query) {
          roundTrips += 1;
          return db.pool.query(query);
        },
        connect: () => db.pool.connect(),
      },
    });
    expect(await counted.claim({ queues: [queue], limit: 10 })).toEqual([]);
    expect(roundTrips).toBe(1);
  });
});

describe("what a claim changes", () => {
  const changedBy = async (queue: string, id: string): Promise<string[]> => {
    const before = await jobOf(db, id);
    await claimOne(db, queue);
    const after = await jobOf(db, id);
    expect(after.attempts).toBe(before.attempts + 1);
    return (Object.keys(after) as (keyof JobRecord)[]).filter((key) => !isEqual(before[key], after[key])).sort();
  };
  const isEqual = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);
  // state, and the start of the attempt as last attempt, are how the lease shows
  const fields = ["attempts", "lastAttemptAt", "leaseEndsAt", "state", "updatedAt"];

  it("is the attempt, the lease and the updated time, together, and nothing else [#57]", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue, {
      input: { a: 1 },
      tenant: "acme",
      headers: { h: 1 },
      ttlSeconds: 60,
      retry: [1, 2],
    });
    expect(await changedBy(queue, id)).toEqual(fields);
  });

  it("is no more on a later attempt [#57]", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue);
    await db.engine.retryLater(await claimOne(db, queue), { message: "no luck" }, 60);
    await db.moveClock(61);
    expect(await changedBy(queue, id)).toEqual(fields);
  });

  it("is undone by a rollback, and the job is claimable at once [#23]", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue);
    const before = await jobOf(db, id);
    const tx = await db.connect();
    await tx.query("begin");
    expect(await claimIds(db, queue, {}, { tx })).toEqual([id]);
    await tx.query("rollback");
    expect(await jobOf(db, id)).toEqual(before);
    expect(await claimOne(db, queue)).toMatchObject({ id, attempt: 1 });
  });

  it("is undone by a rollback on a later attempt too, and depth with it [#23]", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue);
    await db.engine.retryLater(await claimOne(db, queue), undefined, 0);
    const before = await jobOf(db, id);
    const tx = await db.connect();
    await tx.query("begin");
    await claimOne(db, queue, {}, { tx });
    await tx.query("rollback");
    expect(await jobOf(db, id)).toEqual(before);
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 1, running: 0 });
    expect(await claimOne(db, queue)).toMatchObject({ id, attempt: 2 });
  });
});

describe("a claim's limit", () => {
  it.each([1, 2, 9])("is exact, whatever the planner believes: %i of 10 [#21]", async (limit) => {
    const queue = await newQueue(db);
    const ids = [await enqueue(db, queue)];
    await db.sql("analyze ticket, job, lane, lane_cursor, claim");
    for (let i = 1; i < 10; i += 1) ids.push(await enqueue(db, queue));
    expect(await claimIds(db, queue, { limit })).toEqual(ids.slice(0, limit));
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 10 - limit, running: limit });
    expect((await db.engine.list({ queue, state: "running" })).length).toBe(limit);
  });

  it("holds across tickets, lanes and both tracks [#21]", async () => {
    const queue = await newQueue(db);
    await db.engine.enqueueMany("a", Array.from({ length: 150 }), { queue });
    await db.engine.enqueueMany("b", Array.from({ length: 50 }), { queue });
    for (const job of await db.engine.claim({ queues: [queue], limit: 30 }))
      await db.engine.retryLater(job, undefined, 0);
    expect((await claimIds(db, queue, { limit: 120 })).length).toBe(120);
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 80, running: 120 });
    expect((await claimIds(db, queue)).length).toBe(80);
  });

  it("holds when the lease grows, though jobs of different attempts do not share a claim [#21]", async () => {
    const queue = await newQueue(db);
    await db.engine.enqueueMany("work", [1, 2, 3], { queue });
    await db.engine.retryLater(await claimOne(db, queue), undefined, 0);
    expect((await claimIds(db, queue, { limit: 2, leaseFactor: 2 })).length).toBe(2);
  });
});

describe("who may be claimed", () => {
  it("is only what is ready: nothing finished, paused, held back or running [#22]", async () => {
    const queue = await newQueue(db);
    const paused = await newQueue(db);
    const runAt = new Date(Date.now() - 3_600_000);
    const states: string[] = [];
    const note = async (id: string) => void states.push(await stateOf(db, id));

    const outcomes = { succeeded: "complete", failed: "fail" } as const;
    for (const verb of Object.values(outcomes)) {
      const id = await enqueue(db, queue, { runAt });
      await db.engine[verb](await claimOne(db, queue));
      await note(id);
    }
    const cancelled = await enqueue(db, queue, { runAt });
    await db.engine.cancel([cancelled]);
    await note(cancelled);
    const expired = await enqueue(db, queue, { runAt, ttlSeconds: 1 });
    await db.moveClock(2);
    await note(expired);
    await enqueue(db, queue, { runAt, fingerprint: "f" });
    const running = await claimOne(db, queue, { leaseSeconds: 3600 });
    await note(running.id);
    const followUp = await enqueue(db, queue, { runAt, fingerprint: "f", fingerprintMode: "followUp" });
    expect(followUp).not.toBe(running.id);
    await note(followUp);
    const blocked = await enqueue(db, paused, { runAt });
    await db.engine.queuePause(paused);
    await note(blocked);

    expect(states).toEqual(["succeeded", "failed", "cancelled", "expired", "running", "delayed", "blocked"]);
    expect(await db.engine.claim({ queues: [queue, paused], limit: 100 })).toEqual([]);
    await db.engine.queueResume(paused);
    expect(idsOf(await db.engine.claim({ queues: [queue, paused], limit: 100 }))).toEqual([blocked]);
  });

  it("includes a job of one's own open transaction [#10]", async () => {
    const queue = await newQueue(db);
    const tx = await db.connect();
    await tx.query("begin");
    const first = await enqueue(db, queue, {}, { tx });
    expect(await claimIds(db, queue, {}, { tx })).toEqual([first]);
    const second = await enqueue(db, queue, {}, { tx });
    expect(await claimIds(db, queue, {}, { tx })).toEqual([second]);
    const third = await enqueue(db, queue, {}, { tx });
    expect(await claimIds(db, queue)).toEqual([]);
    await tx.query("commit");
    expect(await claimIds(db, queue)).toEqual([third]);
  });
});

describe("two claimers at once", () => {
  it("get different jobs without waiting, when there is more than one lane [#20]", async () => {
    const queue = await newQueue(db);
    await db.engine.enqueueMany("a", [1, 2, 3], { queue });
    const others = idsOf(await db.engine.enqueueMany("b", [1, 2, 3], { queue }));
    await discoverLanes();
    const tx = await db.connect();
    await tx.query("begin");
    expect(await claimOne(db, queue, {}, { tx })).toMatchObject({ type: "a" });
    expect(await claimIds(db, queue, { limit: 3 })).toEqual(others);
    await tx.query("commit");
  });

  it("wait for no more than the other's claim, when there is only one [#20]", async () => {
    const queue = await newQueue(db);
    const ids = idsOf(await db.engine.enqueueMany("a", [1, 2, 3], { queue }));
    await discoverLanes();
    const first = await db.connect();
    const second = await db.connect();
    await first.query("begin");
    expect(await claimIds(db, queue, { limit: 1 }, { tx: first })).toEqual(ids.slice(0, 1));
    const waiting = claimIds(db, queue, { limit: 1 }, { tx: second });
    expect(await isBlocked(db, waiting, first)).toBe(true);
    await first.query("commit");
    expect(await waiting).toEqual(ids.slice(1, 2));
  });

  it.each([
    ["there", true],
    ["there, nor in another queue", false],
  ])("both get jobs, after a short wait at most, when nobody has claimed %s before [#20]", async (_, sameQueue) => {
    const [one, other] = [await newQueue(db), await newQueue(db)];
    await enqueue(db, one);
    const next = await enqueue(db, sameQueue ? one : other);
    const first = await db.connect();
    await first.query("begin");
    await claimOne(db, one, {}, { tx: first });
    const claimed = claimIds(db, sameQueue ? one : other);
    await isBlocked(db, claimed, first);
    await first.query("commit");
    expect(await claimed).toEqual([next]);
  });

  it("a claim leaves no transaction open behind it [#20]", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue);
    const worker = await db.connect();
    await claimOne(db, queue, {}, { tx: worker });
    const [session] = await db.sql("select state, xact_start from pg_stat_activity where pid = $1", [
      await pidOf(worker),
    ]);
    expect(session).toEqual({ state: "idle", xact_start: null });
    expect(await stateOf(db, id)).toBe("running");
  });

  /** Lanes become known by the first claim that commits; tests that are not about that begin after it. */
  async function discoverLanes(): Promise<void> {
    await db.engine.maintain();
  }
});

async function enqueueAndClaim(queue: string) {
  await enqueue(db, queue);
  return claimOne(db, queue);
}
