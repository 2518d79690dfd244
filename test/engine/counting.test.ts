import { describe, expect, it } from "vitest";
import { clockNow } from "../support/clock.js";
import { useDatabase } from "../support/database.js";
import { claimOne, enqueue, newQueue } from "../support/jobs.js";
import { invalidArgument, queueNotFound } from "../support/steps.js";

const db = useDatabase();
const none = {
  ready: 0,
  delayed: 0,
  running: 0,
  blocked: 0,
  succeeded: 0,
  failed: 0,
  expired: 0,
  cancelled: 0,
  suspended: 0,
};
let tenants = 0;
const newTenant = (): string => `tenant-${(tenants += 1)}`;

/** One job in each state a queue in use can show, two ready ones; one of them cancelled by a purge. */
async function oneOfEach(queue: string, tenant: string): Promise<void> {
  const add = (type: string, more = {}) => enqueue(db, queue, { type, tenant, group: `group of ${tenant}`, ...more });
  await add("purged");
  await db.engine.queuePurge(queue);
  await add("expired", { ttlSeconds: 1 });
  await db.moveClock(1);
  for (const type of ["running", "succeeded", "failed"]) await add(type);
  await claimOne(db, queue, { types: ["running"], leaseSeconds: 86_400 });
  await db.engine.complete(await claimOne(db, queue, { types: ["succeeded"] }));
  await db.engine.fail(await claimOne(db, queue, { types: ["failed"] }));
  await db.engine.cancel([await add("cancelled")]);
  await add("delayed", { delaySeconds: 3600 });
  await add("ready");
  await add("ready");
}

describe("counting", () => {
  it("tells how many jobs of a tenant are in each state, as the list shows them [#44]", async () => {
    const queue = await newQueue(db);
    const [tenant, other] = [newTenant(), newTenant()];
    await oneOfEach(queue, tenant);
    await enqueue(db, queue, { tenant: other });
    await enqueue(db, queue);
    const expected = { ...none, ready: 2, delayed: 1, running: 1, succeeded: 1, failed: 1, expired: 1, cancelled: 2 };
    expect(await db.engine.count({ tenant })).toEqual(expected);
    await db.engine.maintain();
    expect(await db.engine.count({ tenant })).toEqual(expected);
    const listed = { ...none };
    for (const job of await db.engine.list({ tenant })) listed[job.state] += 1;
    expect(listed).toEqual(expected);
    expect(await db.engine.count({ tenant: other })).toEqual({ ...none, ready: 1 });
    await db.engine.queuePause(queue);
    expect(await db.engine.count({ tenant })).toEqual({ ...expected, ready: 0, blocked: 2 });
  });

  it("follows a tenant through all queues, and its cancelling [#44]", async () => {
    const queues = [await newQueue(db), await newQueue(db)];
    const tenant = newTenant();
    for (const queue of queues) await db.engine.enqueueMany("work", [1, 2, 3], { queue, tenant });
    expect((await claimOne(db, queues[0]!)).tenant).toBe(tenant);
    expect(await db.engine.count({ tenant })).toEqual({ ...none, ready: 5, running: 1 });
    expect(await db.engine.count({ tenant, queue: queues[0]! })).toEqual({ ...none, ready: 2, running: 1 });
    expect(await db.engine.cancelWhere({ tenant })).toBe(6);
    expect(await db.engine.count({ tenant })).toEqual({ ...none, cancelled: 6 });
  });

  it("combines all filters: queue, type, tenant, group and time [#44]", async () => {
    const queue = await newQueue(db);
    const tenant = newTenant();
    await oneOfEach(queue, tenant);
    await db.moveClock(60);
    const between = await clockNow(db);
    await db.moveClock(60);
    await enqueue(db, queue, { tenant, type: "ready", group: "late" });
    expect(await db.engine.count({ tenant, type: "ready" })).toEqual({ ...none, ready: 3 });
    expect(await db.engine.count({ queue, type: "failed" })).toEqual({ ...none, failed: 1 });
    expect(await db.engine.count({ queue, group: "late" })).toEqual({ ...none, ready: 1 });
    expect(await db.engine.count({ tenant, since: between })).toEqual({ ...none, ready: 1 });
    expect(await db.engine.count({ tenant, type: "ready", until: between })).toEqual({ ...none, ready: 2 });
    expect(await db.engine.count({ tenant: "nobody" })).toEqual(none);
  });

  it("of a tenant reads that tenant's jobs, not the log [#44]", async () => {
    const queue = await newQueue(db);
    const tenant = newTenant();
    await db.engine.enqueueMany("work", Array.from({ length: 5000 }), { queue, tenant: "crowd" });
    await db.engine.enqueueMany("work", [1, 2, 3], { queue, tenant });
    await db.sql("analyze job, attempt, amendment");
    const session = await db.connect();
    const read = async (): Promise<number> => {
      await session.query("select pg_stat_force_next_flush()");
      const { rows } = await session.query(
        "select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::int as n from pg_stat_user_tables where relname ~ '^job_[0-9]{2}$'",
      );
      return rows[0].n;
    };
    const readBy = async (filter: string, value: string): Promise<[number, number]> => {
      const before = await read();
      const { rows } = await session.query(`select ready::int from job_count(${filter} => $1)`, [value]);
      return [rows[0].ready, (await read()) - before];
    };
    expect(await readBy("p_tenant", tenant)).toEqual([3, expect.toSatisfy((jobs: number) => jobs < 100)]);
    // so the measure is one
    expect(await readBy("p_queue", queue)).toEqual([5003, expect.toSatisfy((jobs: number) => jobs >= 5003)]);
  });

  it("refuses to count without a filter, or in a queue nobody knows [#44]", async () => {
    await expect(db.engine.count({})).rejects.toMatchObject(invalidArgument);
    await expect(db.engine.count({ tenants: "t" } as never)).rejects.toMatchObject(invalidArgument);
    await expect(db.engine.count({ queue: "nobody-made-this" })).rejects.toMatchObject(queueNotFound);
  });
});
