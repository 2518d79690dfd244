import { expect, it } from "vitest";
import { day, stopClock } from "../support/clock.js";
import { useDatabase } from "../support/database.js";
import { claimOne, enqueue, newQueue, stateOf } from "../support/jobs.js";
import { miscounts } from "../support/steps.js";

const db = useDatabase();

it("jobs of transactions that straddle midnight are all handed out, in the order of their transactions [#18] [#48]", async () => {
  const clock = await stopClock(db);
  const queue = await newQueue(db);
  await enqueue(db, queue);
  await db.engine.complete(await claimOne(db, queue));
  await clock.advance(day - (((await clock.now()).getTime() / 1000) % day) - 1); // a second before midnight, UTC

  const sessions = await Promise.all(Array.from({ length: 5 }, () => db.connect()));
  for (const tx of sessions) {
    await tx.query("begin");
    await tx.query("select pg_current_xact_id()"); // they have written something of their own
  }
  const ids = new Map<number, string>();
  for (const n of [0, 2, 4]) ids.set(n, await enqueue(db, queue, { input: n }, { tx: sessions[n]! }));
  await clock.advance(1);
  for (const n of [1, 3]) ids.set(n, await enqueue(db, queue, { input: n }, { tx: sessions[n]! }));
  for (const tx of sessions) await tx.query("commit");

  const claimed = [];
  for (;;) {
    const jobs = await db.engine.claim({ queues: [queue], limit: 10 });
    if (jobs.length === 0) break;
    claimed.push(...jobs);
  }
  expect(claimed.map(({ input }) => input)).toEqual([0, 1, 2, 3, 4]);
  for (const job of claimed) await db.engine.complete(job);
  for (const id of ids.values()) expect(await stateOf(db, id)).toBe("succeeded");
  expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 0, delayed: 0, running: 0 });
  expect(await miscounts(db, queue)).toEqual([]);
});
