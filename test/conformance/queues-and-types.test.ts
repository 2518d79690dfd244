import { describe, expect, it } from "vitest";
import { QueueNotFoundError } from "../../src/db/errors.js";
import { useDatabase } from "../support/database.js";
import { claimIds, claimOne, enqueue, idsOf, jobOf, newQueue, stateOf } from "../support/jobs.js";

const db = useDatabase();

describe("two queues", () => {
  it("never give each other's jobs to their consumers, though types and priorities are the same [#42]", async () => {
    const [a, b] = [await newQueue(db), await newQueue(db)];
    const inA: string[] = [];
    const inB: string[] = [];
    for (let i = 0; i < 20; i += 1) {
      inA.push(await enqueue(db, a, { type: `t${i % 2}` }));
      inB.push(await enqueue(db, b, { type: `t${i % 2}` }));
    }
    expect((await claimIds(db, a)).sort()).toEqual(inA.sort());
    expect((await claimIds(db, b)).sort()).toEqual(inB.sort());
  });

  it("keep apart what comes back: delayed, retried, lost [#42]", async () => {
    const [a, b] = [await newQueue(db), await newQueue(db)];
    const delayed = await enqueue(db, a, { delaySeconds: 60 });
    const retried = await enqueue(db, a, { type: "retried" });
    await db.engine.retryLater(await claimOne(db, a), undefined, 30);
    const lost = await enqueue(db, a, { type: "lost" });
    await claimOne(db, a, { leaseSeconds: 30 });
    await db.moveClock(61);
    expect(await claimIds(db, b)).toEqual([]);
    const claimed = [...(await claimIds(db, a)), ...(await claimIds(db, a))];
    expect(claimed.sort()).toEqual([delayed, retried, lost].sort());
  });

  it("need no deploy for a third, which must be made before it is used [#42]", async () => {
    await expect(db.engine.enqueue({ type: "work", queue: "third" })).rejects.toThrow(QueueNotFoundError);
    await expect(db.engine.claim({ queues: ["third"] })).rejects.toThrow(QueueNotFoundError);
    await db.engine.queuePut("third");
    const { id } = await db.engine.enqueue({ type: "work", queue: "third" });
    expect(await claimIds(db, "third")).toEqual([id]);
  });

  it("can be served by one claim [#42]", async () => {
    const [a, b, c] = [await newQueue(db), await newQueue(db), await newQueue(db)];
    const ids = [await enqueue(db, a), await enqueue(db, b)];
    await enqueue(db, c);
    expect(idsOf(await db.engine.claim({ queues: [a, b], limit: 10 }))).toEqual(ids);
  });
});

describe("a job addressed to a handler, by its type", () => {
  it("goes only to workers that registered it, and waits untouched while there is none [#45]", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue, { type: "handler-h" });
    const before = await jobOf(db, id);
    for (let i = 0; i < 5; i += 1) expect(await claimIds(db, queue, { types: ["handler-a", "handler-b"] })).toEqual([]);
    await db.moveClock(100 * 86_400);
    await db.engine.maintain();
    expect(await claimIds(db, queue, { types: ["handler-a", "handler-b"] })).toEqual([]);
    expect(await jobOf(db, id)).toEqual(before);
    expect(before).toMatchObject({ state: "ready", attempts: 0 });
    expect(await claimIds(db, queue, { types: ["handler-a", "handler-h"] })).toEqual([id]);
  });

  it("comes back only to them [#45]", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue, { type: "handler-h" });
    await claimOne(db, queue, { types: ["handler-h"], leaseSeconds: 10 });
    await db.moveClock(11);
    expect(await claimIds(db, queue, { types: ["handler-a"] })).toEqual([]);
    expect(await claimIds(db, queue, { types: ["handler-h"] })).toEqual([id]);
  });

  it("is not claimed by a worker that registered nothing [#45]", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue);
    expect(await claimIds(db, queue, { types: [] })).toEqual([]);
    expect(await jobOf(db, id)).toMatchObject({ state: "ready", attempts: 0 });
  });
});

describe("a job's tenant", () => {
  it("is stored, and returned on every claim [#44]", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue, { tenant: "acme" });
    await enqueue(db, queue);
    expect((await jobOf(db, id)).tenant).toBe("acme");
    const [first, second] = await db.engine.claim({ queues: [queue], limit: 2 });
    expect(first).toMatchObject({ id, tenant: "acme" });
    expect(second!.tenant).toBeUndefined();
    await db.engine.retryLater(first!, undefined, 0);
    expect(await claimOne(db, queue)).toMatchObject({ id, attempt: 2, tenant: "acme" });
  });

  it("is a filter for listing, with and without other filters [#44]", async () => {
    const queue = await newQueue(db);
    const { acme, globex } = await twoTenants(queue);
    expect(idsOf(await db.engine.list({ queue, tenant: "acme" })).reverse()).toEqual(acme);
    expect(idsOf(await db.engine.list({ queue, tenant: "globex" })).reverse()).toEqual(globex);
    expect(idsOf(await db.engine.list({ queue, tenant: "acme", state: "delayed" }))).toEqual([acme[2]]);
    expect(await db.engine.list({ queue, tenant: "nobody" })).toEqual([]);
  });

  it("is a filter for counting [#44]", async () => {
    const queue = await newQueue(db);
    await twoTenants(queue);
    const counts = await db.sql(
      "select tenant, state, count(*)::int as jobs from jobs where queue = $1 and tenant = 'acme' group by 1, 2 order by 2",
      [queue],
    );
    expect(counts).toEqual([
      { tenant: "acme", state: "delayed", jobs: 1 },
      { tenant: "acme", state: "ready", jobs: 2 },
    ]);
  });

  it("is a filter for cancelling, and spares the others [#44]", async () => {
    const [queue, other] = [await newQueue(db), await newQueue(db)];
    const { acme, globex } = await twoTenants(queue);
    const elsewhere = await enqueue(db, other, { tenant: "acme" });
    expect(await db.engine.cancelWhere({ queue, tenant: "acme" })).toBe(3);
    expect(await Promise.all(acme.map((id) => stateOf(db, id)))).toEqual(["cancelled", "cancelled", "cancelled"]);
    expect(await claimIds(db, queue)).toEqual(globex);
    expect(await stateOf(db, elsewhere)).toBe("ready");
    expect(await db.engine.cancelWhere({ tenant: "acme" })).toBeGreaterThanOrEqual(1);
    expect(await stateOf(db, elsewhere)).toBe("cancelled");
  });

  async function twoTenants(queue: string): Promise<{ acme: string[]; globex: string[] }> {
    const acme = [
      await enqueue(db, queue, { tenant: "acme" }),
      await enqueue(db, queue, { tenant: "acme", type: "other" }),
      await enqueue(db, queue, { tenant: "acme", delaySeconds: 3600 }),
    ];
    const globex = [await enqueue(db, queue, { tenant: "globex" }), await enqueue(db, queue, { tenant: "globex" })];
    return { acme, globex };
  }
});
