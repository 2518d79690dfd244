import { describe, expect, it } from "vitest";
import { useDatabase } from "../support/database.js";
import { claimIds, claimOne, enqueue, newQueue } from "../support/jobs.js";
import { invalidArgument } from "../support/steps.js";

const db = useDatabase();

/**
 * Twenty sessions claim and complete as fast as they can until nothing is left. Returns the most that ran at once, as
 * seen by each of them.
 */
async function rush(queue: string, running: () => Promise<number>): Promise<number> {
  let most = 0;
  let finished = 0;
  const total = (await db.engine.queueDepth(queue)).ready;
  await Promise.all(
    Array.from({ length: 20 }, async () => {
      while (finished < total) {
        for (const job of await db.engine.claim({ queues: [queue], limit: 2 })) {
          most = Math.max(most, await running());
          await db.engine.complete(job);
          finished += 1;
        }
      }
    }),
  );
  return most;
}

describe("maxRunning", () => {
  it("of a type is exceeded at no instant, in whatever queues it runs [#77 #147]", async () => {
    const queue = await newQueue(db);
    await db.engine.typePut("limited", { maxRunning: 3 });
    await db.engine.enqueueMany(
      "limited",
      Array.from({ length: 120 }, (_, i) => i),
      { queue },
    );
    const most = await rush(queue, async () =>
      Number((await db.sql("select count(*) as n from millrace.claims where type = 'limited'"))[0]!["n"]),
    );
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThanOrEqual(3);
    const elsewhere = await newQueue(db);
    for (const each of [queue, elsewhere]) for (let n = 0; n < 3; n += 1) await enqueue(db, each, { type: "limited" });
    expect((await db.engine.claim({ queues: [queue, elsewhere], limit: 10 })).length).toBe(3);
    expect(await claimIds(db, elsewhere)).toEqual([]);
  });

  it("of a queue is exceeded at no instant, and other queues go on [#77 #165]", async () => {
    const [full, open] = [await newQueue(db), await newQueue(db)];
    await db.engine.queuePut(full, { maxRunning: 2 });
    for (let n = 0; n < 60; n += 1) await enqueue(db, full, { type: `t${n % 3}`, priority: n % 2 });
    const most = await rush(full, async () =>
      Number((await db.sql("select count(*) as n from millrace.claims where queue = $1", [full]))[0]!["n"]),
    );
    expect(most).toBeLessThanOrEqual(2);
    for (const queue of [full, full, full, open]) await enqueue(db, queue);
    const claimed = await db.engine.claim({ queues: [full, open], limit: 10 });
    expect(claimed.map((job) => job.queue).sort()).toEqual([full, full, open].sort());
  });

  it("counts lost claims only until they are found [#11 #77]", async () => {
    const queue = await newQueue(db);
    await db.engine.queuePut(queue, { maxRunning: 1 });
    for (let n = 0; n < 2; n += 1) await enqueue(db, queue);
    const first = await claimOne(db, queue, { leaseSeconds: 10 });
    expect(await claimIds(db, queue)).toEqual([]);
    await db.moveClock(11);
    expect((await claimOne(db, queue)).id).toBe(first.id);
    expect(await claimIds(db, queue)).toEqual([]);
  });

  it("is lifted with null, and refused where it makes no sense [#77]", async () => {
    const queue = await newQueue(db);
    await db.engine.queuePut(queue, { maxRunning: 1 });
    for (let n = 0; n < 3; n += 1) await enqueue(db, queue);
    await claimOne(db, queue);
    await db.engine.queuePut(queue, { maxRunning: null });
    expect((await claimIds(db, queue)).length).toBe(2);
    for (const maxRunning of [0, -1, 1.5, Number.NaN])
      await expect(db.engine.queuePut(queue, { maxRunning })).rejects.toMatchObject(invalidArgument);
    await expect(db.engine.cellPut({ maxRunning: 5 })).rejects.toMatchObject(invalidArgument);
    await expect(db.sql(`select millrace.queue_put($1, '{"maxRunning": 1.5}')`, [queue])).rejects.toMatchObject({
      code: "MR001",
    });
  });
});
