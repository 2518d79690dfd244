import type pg from "pg";
import { describe, expect, it } from "vitest";
import type { Defaults } from "../../src/db/types.js";
import { useDatabase } from "../support/database.js";
import { enqueue, newQueue } from "../support/jobs.js";
import { miscounts } from "../support/steps.js";

const db = useDatabase();

/** Where a job waits for the one before it. */
const orders: readonly [string, Defaults, string | undefined][] = [
  ["an ordered group", { ordered: true }, "g"],
  ["ordered batches", { ordered: "batches" }, "g"],
  ["an ordered queue that runs one at a time", { ordered: true, maxRunning: 1 }, undefined],
];

/** Claim and complete until nothing is left; the inputs, in order. */
async function work(queue: string): Promise<unknown[]> {
  const inputs = [];
  for (;;) {
    const jobs = await db.engine.claim({ queues: [queue], limit: 10 });
    if (jobs.length === 0) return inputs;
    for (const job of jobs) await db.engine.complete(job);
    inputs.push(...jobs.map(({ input }) => input));
  }
}

describe.each(orders)("in %s, while a transaction is open that", (_, defaults, group) => {
  const add = (queue: string, input: unknown, call = {}): Promise<string> =>
    enqueue(db, queue, { input, fingerprint: `f${Number(input)}`, ...(group === undefined ? {} : { group }) }, call);
  const change = (queue: string, fingerprintMode: "replace" | "debounce", tx: pg.Client): Promise<string> =>
    enqueue(
      db,
      queue,
      { input: "new", fingerprint: "f1", fingerprintMode, ...(group === undefined ? {} : { group }) },
      { tx },
    );

  it.each([
    ["cancels the first job", "commit", [], [2, 3]],
    ["cancels the first job", "rollback", [], [1, 2, 3]],
    ["cancels the second job", "commit", [1], [3]],
    ["cancels the second job", "rollback", [1], [2, 3]],
    ["replaces the first job", "commit", [], ["new", 2, 3]],
    ["replaces the first job", "rollback", [], [1, 2, 3]],
    ["debounces the first job", "commit", [], ["new", 2, 3]],
    ["debounces the first job", "rollback", [], [1, 2, 3]],
  ])(
    "%s, nothing goes before that job, and after its %s all go, in order [#158] [#162]",
    async (does, end, before, after) => {
      const queue = await newQueue(db, defaults);
      const ids = [await add(queue, 1), await add(queue, 2), await add(queue, 3)];
      const tx = await db.connect();
      await tx.query("begin");
      if (does.startsWith("cancels")) await db.engine.cancel([ids[does.includes("first") ? 0 : 1]!], undefined, { tx });
      else await change(queue, does.startsWith("replaces") ? "replace" : "debounce", tx);
      const first = await work(queue);
      await db.engine.maintain();
      expect([...first, ...(await work(queue))]).toEqual(before);
      await tx.query(end);
      const rest = await work(queue);
      await db.engine.maintain();
      expect([...rest, ...(await work(queue))]).toEqual(after);
      expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 0, delayed: 0, running: 0 });
      expect(await miscounts(db, queue)).toEqual([]);
    },
  );

  it("cancels the first job, and rolls back before a purge, what is enqueued then goes on [#81] [#158]", async () => {
    const queue = await newQueue(db, defaults);
    const [first] = [await add(queue, 1), await add(queue, 2)];
    const tx = await db.connect();
    await tx.query("begin");
    await db.engine.cancel([first], undefined, { tx });
    expect(await work(queue)).toEqual([]);
    await tx.query("rollback");
    expect(await db.engine.queuePurge(queue)).toBe(2);
    await add(queue, 3);
    const rest = await work(queue);
    await db.engine.maintain();
    expect([...rest, ...(await work(queue))]).toEqual([3]);
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 0, delayed: 0, running: 0 });
    expect(await miscounts(db, queue)).toEqual([]);
  });
});
