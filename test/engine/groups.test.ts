import { describe, expect, it } from "vitest";
import type { GroupDepth } from "../../src/db/types.js";
import { useDatabase } from "../support/database.js";
import { claimOne, enqueue, newQueue } from "../support/jobs.js";
import { invalidArgument, nextTicketChild, queueNotFound } from "../support/steps.js";

const db = useDatabase();
const row = (group: string | null, waiting: number, delayed = 0, running = 0): GroupDepth => ({
  group,
  waiting,
  ready: waiting,
  blocked: 0,
  delayed,
  running,
  oldestAgeSeconds: waiting > 0 ? expect.any(Number) : null,
  share: expect.any(Number),
  estimated: false,
});
const add = (queue: string, group: string | undefined, count: number, more = {}) =>
  db.engine.enqueueMany(
    "work",
    Array.from({ length: count }, (_, i) => i),
    { queue, ...(group === undefined ? {} : { group }), ...more },
  );

/** Together the groups are the queue. */
async function expectSum(queue: string): Promise<void> {
  const groups = await db.engine.queueGroups(queue);
  const sum = (count: (group: GroupDepth) => number): number => groups.map(count).reduce((a, b) => a + b, 0);
  const { ready, blocked, delayed, running } = await db.engine.queueDepth(queue);
  expect([sum((one) => one.waiting), sum((one) => one.delayed), sum((one) => one.running)]).toEqual([
    ready + blocked,
    delayed,
    running,
  ]);
}

describe("depth by group", () => {
  it("counts what each of several tenants has waiting, the dominant one first [#37]", async () => {
    const queue = await newQueue(db);
    await add(queue, "small", 3);
    await add(queue, "dominant", 250);
    await add(queue, "middle", 40, { priority: 2 });
    await add(queue, undefined, 7);
    await add(await newQueue(db), "elsewhere", 1000);
    expect(await db.engine.queueGroups(queue)).toEqual([
      row("dominant", 250),
      row("middle", 40),
      row(null, 7),
      row("small", 3),
    ]);
    expect(await db.engine.queueGroups(queue, 1)).toEqual([row("dominant", 250)]);
    await expectSum(queue);
  });

  it("of a queue with nothing in it is an empty list [#37]", async () => {
    expect(await db.engine.queueGroups(await newQueue(db))).toEqual([]);
  });

  it("tells waiting, delayed and running apart, before and after maintenance [#37]", async () => {
    const queue = await newQueue(db);
    await add(queue, "a", 5);
    await add(queue, "b", 2, { delaySeconds: 3600 });
    await db.engine.claim({ queues: [queue], limit: 3, leaseSeconds: 86_400 });
    const [again, later, released] = await db.engine
      .claim({ queues: [queue], limit: 2, leaseSeconds: 86_400 })
      .then(async (jobs) => [
        ...jobs,
        await enqueue(db, queue, { group: "c" }).then(() => claimOne(db, queue, { leaseSeconds: 86_400 })),
      ]);
    await db.engine.retryLater(again!, undefined, 0);
    await db.engine.retryLater(later!, undefined, 3600);
    await db.engine.release(released!);
    const expected = [row("a", 1, 1, 3), row("c", 1), row("b", 0, 2)];
    expect(await db.engine.queueGroups(queue)).toEqual(expected);
    await expectSum(queue);
    await db.engine.maintain();
    expect(await db.engine.queueGroups(queue)).toEqual(expected);
    await db.engine.queuePause(queue);
    expect(await db.engine.queueGroups(queue)).toEqual(
      expected.map((one) => ({ ...one, ready: 0, blocked: one.waiting })),
    );
    await expectSum(queue);
    await db.engine.queueResume(queue);
    await db.moveClock(3600);
    expect(await db.engine.queueGroups(queue), "due, not promoted yet").toEqual([
      row("a", 2, 0, 3),
      row("b", 2),
      row("c", 1),
    ]);
    await db.engine.maintain();
    await expectSum(queue);
  });

  it("does not count what has finished, was cancelled, purged, or has expired [#37]", async () => {
    const queue = await newQueue(db);
    await add(queue, "purged", 3);
    await add(queue, "purged", 3, { delaySeconds: 3600 });
    await db.engine.queuePurge(queue);
    expect(await db.engine.queueGroups(queue)).toEqual([]);
    await add(queue, "finished", 4);
    const [one, two, three, four] = await db.engine.claim({ queues: [queue], limit: 4 });
    await db.engine.complete(one!);
    await db.engine.fail(two!);
    await db.engine.cancel([three!.id, four!.id]);
    await add(queue, "expired", 2, { ttlSeconds: 5 });
    const [kept] = await add(queue, "mixed", 3);
    const rest = (await db.engine.list({ queue }))
      .filter((job) => job.group === "mixed" && job.id !== kept!.id)
      .map((job) => job.id);
    await db.engine.cancel(rest);
    await db.moveClock(5);
    expect(await db.engine.queueGroups(queue), "not swept yet").toEqual([row("mixed", 1)]);
    await db.engine.maintain();
    expect(await db.engine.queueGroups(queue)).toEqual([row("mixed", 1)]);
    await expectSum(queue);
  });

  it("counts revived, debounced and held jobs once, and those that a late transaction brings [#37]", async () => {
    const queue = await newQueue(db);
    const late = await db.connect();
    await late.query("begin");
    await db.engine.enqueueMany("work", [1, 2], { queue, group: "late" }, { tx: late });
    await enqueue(db, queue, { group: "revived", maxAttempts: 1 });
    await db.engine.fail(await claimOne(db, queue));
    await db.engine.retry(1, { type: "work", queue });
    await enqueue(db, queue, { group: "moved", fingerprint: "f" });
    await enqueue(db, queue, { group: "moved", fingerprint: "f", fingerprintMode: "debounce", delaySeconds: 3600 });
    expect(await db.engine.queueGroups(queue)).toEqual([row("revived", 1), row("moved", 0, 1)]);
    await nextTicketChild(db);
    await add(queue, "fresh", 3);
    await claimOne(db, queue);
    await late.query("commit");
    expect(await db.engine.queueGroups(queue)).toEqual([
      row("fresh", 3),
      row("late", 2),
      row("moved", 0, 1),
      row("revived", 0, 0, 1),
    ]);
    const holder = await db.connect();
    await holder.query("begin");
    const waiting = (await db.engine.list({ queue, state: "ready" })).find((job) => job.group === "fresh")!;
    await db.engine.cancel([waiting.id], undefined, { tx: holder });
    await db.engine.claim({ queues: [queue], limit: 10 }); // goes round the held one
    await holder.query("rollback");
    expect(await db.engine.queueGroups(queue)).toEqual([
      row("fresh", 1, 0, 2),
      row("moved", 0, 1),
      row("late", 0, 0, 2),
      row("revived", 0, 0, 1),
    ]);
    await expectSum(queue);
  });

  it("refuses a queue nobody knows, and limits beyond 1 to 10,000 [#37]", async () => {
    await expect(db.engine.queueGroups("nobody-made-this")).rejects.toMatchObject(queueNotFound);
    for (const limit of [0, 10_001])
      await expect(db.engine.queueGroups("default", limit)).rejects.toMatchObject(invalidArgument);
  });
});
