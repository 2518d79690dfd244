import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { Retention } from "../../src/db/types.js";
import { day, hour, moveClockToNoon } from "../support/clock.js";
import { useDatabase } from "../support/database.js";
import { claimIds, claimOne, enqueue, idsOf, jobOf, newQueue, stateOf } from "../support/jobs.js";

const db = useDatabase();
/** What a partition holds: the jobs created in one day. */
const partition = day;

beforeAll(() => moveClockToNoon(db));

/**
 * Ways a job ends. Each leaves it in the state it is named after; cancelled comes in three, for they are stored
 * differently.
 */
const endings: Record<string, (queue: string) => Promise<string>> = {
  async succeeded(queue) {
    const id = await enqueue(db, queue);
    await db.engine.complete(await claimOne(db, queue), { kept: true });
    return id;
  },
  async failed(queue) {
    const id = await enqueue(db, queue);
    await db.engine.fail(await claimOne(db, queue), { message: "no" });
    return id;
  },
  async expired(queue) {
    const id = await enqueue(db, queue, { ttlSeconds: 1 });
    await db.moveClock(2);
    await db.engine.maintain();
    return id;
  },
  async "cancelled while ready"(queue) {
    const id = await enqueue(db, queue);
    await db.engine.cancel([id]);
    return id;
  },
  async "cancelled while delayed"(queue) {
    const id = await enqueue(db, queue, { delaySeconds: 60 });
    await db.engine.cancel([id]);
    return id;
  },
  async "cancelled while running"(queue) {
    const id = await enqueue(db, queue);
    await claimOne(db, queue);
    await db.engine.cancel([id]);
    return id;
  },
  async "cancelled by a purge"(queue) {
    const id = await enqueue(db, queue);
    await db.engine.queuePurge(queue);
    return id;
  },
};

/** Set a retention until the test has ended. */
async function keepFor(retention: Retention): Promise<void> {
  await db.engine.cellPut(retention);
  onTestFinished(
    async () => void (await db.engine.cellPut(Object.fromEntries(Object.keys(retention).map((key) => [key, null])))),
  );
}

const isGone = async (id: string) => {
  await db.engine.maintain();
  await db.engine.maintainSpace();
  return (await db.engine.get(id)) === null;
};

describe("a finished job", () => {
  const defaultDays = { succeeded: 7, failed: 30, expired: 30, cancelled: 7 };

  it.each(Object.keys(endings))(
    "%s is kept for its state's retention, and is gone one partition later [#15]",
    async (ending) => {
      const queue = await newQueue(db);
      const id = await endings[ending]!(queue);
      const state = (await stateOf(db, id)) as keyof typeof defaultDays;
      expect(ending).toMatch(new RegExp(`^${state}`));
      const retention = defaultDays[state] * day;
      await db.moveClock(retention - hour);
      expect(await isGone(id), "before its retention").toBe(false);
      await db.moveClock(hour + partition + 1);
      expect(await isGone(id), "after its retention").toBe(true);
    },
  );

  it.each([1, 5, 31, 33, 35, 60, 100])("is kept for %i days when that is what the cell says [#15]", async (days) => {
    const queue = await newQueue(db);
    await keepFor({ retentionFailedSeconds: days * day });
    const id = await endings["failed"]!(queue);
    await db.moveClock(days * day - hour);
    expect(await isGone(id), "before its retention").toBe(false);
    await db.moveClock(hour + partition + 1);
    expect(await isGone(id), "after its retention").toBe(true);
  });

  it("is kept from its finish on, however long it took to get there [#15]", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue, { delaySeconds: 3 * day });
    await db.moveClock(3 * day);
    await db.engine.fail(await claimOne(db, queue));
    await db.moveClock(30 * day - hour);
    expect(await isGone(id), "before its retention").toBe(false);
    await db.moveClock(hour + partition + 1);
    expect(await isGone(id), "after its retention").toBe(true);
  });

  it("keeps its result until the result's own retention ends [#26] [#15]", async () => {
    const queue = await newQueue(db);
    await keepFor({ retentionResultsSeconds: 2 * day });
    const id = await endings["succeeded"]!(queue);
    await db.moveClock(2 * day - hour);
    expect(await isGone(id)).toBe(false);
    expect((await jobOf(db, id)).result).toEqual({ kept: true });
    await db.moveClock(hour + partition + 1);
    expect(await isGone(id)).toBe(false);
    expect(await jobOf(db, id)).toMatchObject({ state: "succeeded", result: null });
  });

  it("keeps its result as long as itself, when nothing else is said [#26]", async () => {
    const queue = await newQueue(db);
    const id = await endings["succeeded"]!(queue);
    await db.moveClock(7 * day - hour);
    expect(await isGone(id)).toBe(false);
    expect((await jobOf(db, id)).result).toEqual({ kept: true });
  });
});

describe("a job that is not finished", () => {
  it("is never removed, however old [#15]", async () => {
    const queue = await newQueue(db);
    const paused = await newQueue(db);
    const running = await enqueue(db, queue);
    const held = await claimOne(db, queue, { leaseSeconds: 1000 * day });
    const ready = await enqueue(db, queue, {
      type: "nobody-handles-this",
      input: { kept: true },
      payload: Buffer.alloc(100_000, 7),
    });
    const delayed = await enqueue(db, queue, { delaySeconds: 500 * day });
    const retried = await enqueue(db, queue, { type: "retried" });
    await db.engine.retryLater(await claimOne(db, queue, { types: ["retried"] }), { message: "no" }, 500 * day);
    const blocked = await enqueue(db, paused);
    await db.engine.queuePause(paused);
    const all = [running, ready, delayed, retried, blocked];

    for (const days of [8, 31, 32, 33, 70, 260]) {
      await db.moveClock(days * day);
      await db.engine.maintain();
      await db.engine.maintainSpace();
      expect(await Promise.all(all.map((id) => stateOf(db, id)))).toEqual([
        "running",
        "ready",
        "delayed",
        "delayed",
        "blocked",
      ]);
    }
    await db.engine.complete(held);
    expect(await claimOne(db, queue)).toMatchObject({ id: ready, input: { kept: true } });
    expect(Buffer.from((await db.engine.payloadRead(ready))!)).toEqual(Buffer.alloc(100_000, 7));
    await db.moveClock(100 * day);
    expect(await claimIds(db, queue, { types: ["work"] })).toEqual([delayed]);
    expect(await claimOne(db, queue, { types: ["retried"] })).toMatchObject({ id: retried, attempt: 2 });
  });
});

describe("the records of a job's attempts", () => {
  it("may go before the job, but not the count of its deliveries, nor its last error [#16] [#2]", async () => {
    const queue = await newQueue(db);
    await keepFor({ retentionAttemptsSeconds: day });
    const id = await enqueue(db, queue);
    await db.engine.retryLater(await claimOne(db, queue), { message: "first" }, 0);
    await db.engine.retryLater(await claimOne(db, queue), { message: "second" }, 10 * day);
    await db.moveClock(5 * day);
    expect(await isGone(id)).toBe(false);
    expect(await jobOf(db, id)).toMatchObject({
      state: "delayed",
      attempts: 2,
      lastError: { message: "second" },
      lastAttemptAt: expect.any(Date),
    });
  });
});

describe("without maintenance", () => {
  it("for 60 days, jobs are still accepted, and all of them are handed out [#51]", async () => {
    const queue = await newQueue(db);
    const ids = [await enqueue(db, queue)];
    for (const days of [31, 1, 28]) {
      await db.moveClock(days * day);
      ids.push(await enqueue(db, queue), ...idsOf(await db.engine.enqueueMany("work", [1, 2], { queue })));
    }
    ids.push(await enqueue(db, queue, { delaySeconds: 10 }));
    await db.moveClock(11);
    const claimed: string[] = [];
    for (let batch = await claimIds(db, queue); batch.length > 0; batch = await claimIds(db, queue))
      claimed.push(...batch);
    expect(claimed).toEqual(ids);
  });
});

describe("a partition in which most jobs live", () => {
  it("gives up its finished jobs and keeps the others [#15]", async () => {
    const queue = await newQueue(db);
    const id = await endings["succeeded"]!(queue);
    // more than a partition's survivors may be to be copied, so that the finished are deleted one by one
    const live = idsOf(await db.engine.enqueueMany("work", Array.from({ length: 10_001 }), { queue }));
    await db.moveClock(7 * day + partition + 1);
    expect(await isGone(id)).toBe(true);
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: live.length });
    const [kept] = await db.sql("select count(*)::int as jobs from jobs where queue = $1 and state = 'ready'", [queue]);
    expect(kept).toEqual({ jobs: live.length });
  });
});
