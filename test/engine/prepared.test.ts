import type pg from "pg";
import { beforeEach, describe, expect, it } from "vitest";
import { useDatabase } from "../support/database.js";
import { claimIds, claimOne, enqueue, jobOf, newQueue, stateOf } from "../support/jobs.js";
import { miscounts } from "../support/steps.js";

const db = useDatabase();
let prepared = 0;

beforeEach(async ({ skip }) => {
  const [row] = await db.sql("show max_prepared_transactions");
  skip(row!["max_prepared_transactions"] === "0", "this server has max_prepared_transactions = 0");
});

/**
 * Do something in a transaction and prepare it; look at the world; then end it. It is gone in any case, because the
 * database could not be dropped otherwise.
 */
async function whilePrepared(
  end: string,
  work: (tx: pg.Client) => Promise<void>,
  look: () => Promise<void>,
): Promise<void> {
  const [tx, name] = [await db.connect(), `'millrace_${process.pid}_${(prepared += 1)}'`];
  await tx.query("begin");
  await work(tx);
  await tx.query(`prepare transaction ${name}`);
  await tx.end(); // the transaction has no process any more
  let ended = false;
  try {
    await look();
    await db.sql(`${end} prepared ${name}`);
    ended = true;
  } finally {
    if (!ended) await db.sql(`rollback prepared ${name}`);
  }
}

describe("while a transaction is prepared", () => {
  it.each([
    ["commit", "cancelled"],
    ["rollback", "ready"],
  ])("a job that it cancels is passed over by claims, and after its %s is %s [#29] [#142]", async (end, state) => {
    const queue = await newQueue(db);
    const [id, next] = [await enqueue(db, queue), await enqueue(db, queue)];
    await whilePrepared(
      end,
      async (tx) => expect(await db.engine.cancel([id], undefined, { tx })).toBe(1),
      async () => {
        expect(await claimIds(db, queue)).toEqual([next]);
        await db.engine.maintain();
        expect(await claimIds(db, queue)).toEqual([]);
      },
    );
    expect(await stateOf(db, id)).toBe(state);
    await db.engine.maintain();
    expect(await claimIds(db, queue)).toEqual(state === "ready" ? [id] : []);
    expect(await db.engine.queueDepth(queue)).toMatchObject({
      ready: 0,
      delayed: 0,
      running: state === "ready" ? 2 : 1,
    });
    expect(await miscounts(db, queue)).toEqual([]);
  });

  it.each([
    ["commit", "new"],
    ["rollback", "old"],
  ])("a job whose input it replaces is claimed only after its %s, with the %s input [#74]", async (end, input) => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue, { fingerprint: "f", input: "old" });
    await whilePrepared(
      end,
      async (tx) =>
        expect(await enqueue(db, queue, { fingerprint: "f", fingerprintMode: "replace", input: "new" }, { tx })).toBe(
          id,
        ),
      async () => expect(await claimIds(db, queue)).toEqual([]),
    );
    await db.engine.maintain();
    expect(await claimOne(db, queue)).toMatchObject({ id, input });
    expect((await jobOf(db, id)).input).toBe(input);
    expect(await miscounts(db, queue)).toEqual([]);
  });

  it("a job that it enqueued arrives with its commit, also when others were claimed before [#106]", async () => {
    const queue = await newQueue(db);
    let id = "";
    await whilePrepared(
      "commit",
      async (tx) => void (id = await enqueue(db, queue, {}, { tx })),
      async () => {
        const other = await enqueue(db, queue);
        expect(await claimIds(db, queue)).toEqual([other]);
      },
    );
    expect(await claimIds(db, queue)).toEqual([id]);
  });
});
