import { describe, expect, it } from "vitest";
import type { PurgeStep } from "../../src/db/types.js";
import { useDatabase } from "../support/database.js";
import { newQueue, stateOf } from "../support/jobs.js";
import { claimAll, invalidArgument, miscounts } from "../support/steps.js";

const db = useDatabase({ ownServer: true });
const priorities = Array.from({ length: 11 }, (_, priority) => priority);
const nothing = { ready: 0, blocked: 0, delayed: 0, running: 0 };

/** A job in each of so many lanes: types, each with all priorities. */
const jobsOf = (queue: string, types: number, more: object = {}) =>
  Array.from({ length: types }, (_, type) =>
    priorities.map((priority) => ({ type: `t${type}`, queue, priority, ...more })),
  ).flat();

/** Step by step, from where one has ended. */
async function goOn(queue: string, from: PurgeStep | null): Promise<number> {
  if (!from) return 0;
  const { jobs, next } = await db.engine.queuePurgeStep(queue, from);
  return jobs + (await goOn(queue, next));
}

describe("the purge of a queue with more lanes than the server has locks for", () => {
  it("drops all there is, found by claims or not [#81]", { timeout: 60_000 }, async () => {
    const queue = await newQueue(db);
    const [{ locks }] = (await db.sql(
      "select current_setting('max_locks_per_transaction')::int * current_setting('max_connections')::int as locks",
    )) as [{ locks: number }];
    const types = Math.ceil(Math.max(locks / 2, 5500) / priorities.length);
    const ids = await db.engine.enqueueEach(jobsOf(queue, types));
    expect(await db.engine.queuePurge(queue)).toBe(ids.length); // lanes that nobody had found yet

    await db.engine.enqueueEach(jobsOf(queue, types));
    const tx = await db.connect();
    await tx.query("begin");
    await expect(db.engine.queuePurge(queue, { tx })).rejects.toMatchObject(invalidArgument);
    await tx.query("rollback");
    await tx.end();
    expect(await db.engine.queuePurge(queue)).toBe(ids.length);
    expect(await stateOf(db, ids[0]!.id)).toBe("cancelled");
    expect(await db.engine.claim({ queues: [queue], limit: 100 })).toEqual([]);
  });

  it("leaves what is enqueued after the first step, in whichever lane, and the counts are right [#81]", async () => {
    const queue = await newQueue(db);
    const before = await db.engine.enqueueEach([
      ...jobsOf(queue, 60),
      ...jobsOf(queue, 10, { group: "a" }),
      ...jobsOf(queue, 10, { delaySeconds: 60 }),
      ...jobsOf(queue, 10, { type: "other", group: "b" }),
    ]);
    const held = await db.engine.claim({ queues: [queue], types: ["t59"], limit: 1 });
    const first = await db.engine.queuePurgeStep(queue);
    expect(first).toMatchObject({ jobs: expect.any(Number), next: { after: expect.any(String) } });
    const later = [...jobsOf(queue, 2), ...jobsOf(queue, 2, { group: "a" }), ...jobsOf(queue, 2, { delaySeconds: 60 })];
    const after = await db.engine.enqueueEach(later);
    const open = await db.connect();
    await open.query("begin");
    const arriving = await db.engine.enqueue({ type: "t5", queue }, { tx: open });
    await goOn(queue, first.next);
    await open.query("commit");
    await open.end();

    const states = await db.sql<{ id: string; state: string }>("select id::text, state from jobs where queue = $1", [
      queue,
    ]);
    const stateBy = new Map(states.map(({ id, state }) => [id, state]));
    for (const { id } of before) expect(stateBy.get(id)).toBe(id === held[0]!.id ? "running" : "cancelled");
    for (const job of held) await db.engine.complete(job);
    await db.moveClock(61);
    await db.engine.maintain();
    const left = await claimAll(db, queue);
    expect(left.map(({ id }) => id).toSorted()).toEqual([...after.map(({ id }) => id), arriving.id].toSorted());
    for (const job of left) await db.engine.complete(job);
    for (let round = 0; round < 3; round += 1) await db.engine.maintain();
    expect(await db.engine.queueDepth(queue)).toMatchObject(nothing);
    expect(await miscounts(db, queue)).toEqual([]);
  });

  it("is one step for others, and refuses half of what a step has said [#81]", async () => {
    const queue = await newQueue(db);
    await db.engine.enqueueEach(jobsOf(queue, 2));
    expect(await db.engine.queuePurgeStep(queue)).toEqual({ jobs: 22, next: null });
    for (const from of [{ after: "1" }, { since: "1" }, { before: new Date().toISOString() }])
      await expect(db.engine.queuePurgeStep(queue, from)).rejects.toMatchObject(invalidArgument);
    await expect(db.sql("select * from queue_purge_step($1, p_most => 0)", [queue])).rejects.toThrow("1 to 10000");
  });
});
