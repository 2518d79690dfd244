import { describe, expect, it } from "vitest";
import type { Defaults } from "../../src/db/types.js";
import { clockNow } from "../support/clock.js";
import { useDatabase } from "../support/database.js";
import { claimIds, claimOne, enqueue, newQueue, stateOf } from "../support/jobs.js";
import { miscounts } from "../support/steps.js";

const db = useDatabase();

/** Where a job waits for the one before it. */
const orders: readonly [string, Defaults, string | undefined][] = [
  ["an ordered group", { ordered: true }, "g"],
  ["ordered batches", { ordered: "batches" }, "g"],
  ["an ordered queue that runs one at a time", { ordered: true, maxRunning: 1 }, undefined],
];

/** A queue whose first job waits an hour for its next attempt. */
async function withRetry(
  defaults: Defaults,
  group?: string,
): Promise<{ queue: string; first: string; readonly add: () => Promise<string> }> {
  const queue = await newQueue(db, defaults);
  const add = (): Promise<string> => enqueue(db, queue, group === undefined ? {} : { group });
  const first = await add();
  await db.engine.retryLater(await claimOne(db, queue), { message: "later" }, 3600);
  return { queue, first, add };
}

describe.each(orders)("in %s", (_, defaults, group) => {
  it("a job goes on when the one before it was purged while it waited for its retry [#158] [#162]", async () => {
    const { queue, first, add } = await withRetry(defaults, group);
    expect(await db.engine.queuePurge(queue)).toBe(1);
    expect(await stateOf(db, first)).toBe("cancelled");
    const next = await add();
    expect(await claimIds(db, queue)).toEqual([next]);
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 0, delayed: 0, running: 1 });
    expect(await miscounts(db, queue)).toEqual([]);
  });

  it("so does one whose transaction was open during the purge [#158]", async () => {
    const { queue, add } = await withRetry(defaults, group);
    const tx = await db.connect();
    await tx.query("begin");
    const next = await enqueue(db, queue, group === undefined ? {} : { group }, { tx });
    expect(await db.engine.queuePurge(queue)).toBe(1);
    await tx.query("commit");
    expect(await claimIds(db, queue, { limit: 1 })).toEqual([next]);
    await add();
    expect(await claimIds(db, queue)).toEqual([]); // it runs, and is waited for
    expect(await miscounts(db, queue)).toEqual([]);
  });

  it("a job goes on when the one before it was shed, though it was found waiting already [#108] [#158]", async () => {
    const { queue, first, add } = await withRetry(defaults, group);
    await db.moveClock(1);
    const before = await clockNow(db);
    await db.moveClock(1);
    const next = await add();
    expect(await claimIds(db, queue)).toEqual([]); // it has to wait, and its group leaves the line
    expect(await db.engine.queueShed(queue, before)).toBe(1);
    expect(await stateOf(db, first)).toBe("cancelled");
    expect(await claimIds(db, queue)).toEqual([next]);
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 0, delayed: 0, running: 1 });
    expect(await miscounts(db, queue)).toEqual([]);
  });
});
