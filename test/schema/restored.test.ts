import pg from "pg";
import { describe, expect, it, onTestFinished } from "vitest";
import { Engine } from "../../src/db/engine.js";
import { SchemaRestoredError, translateError } from "../../src/db/errors.js";
import { useDatabase } from "../support/database.js";

const db = useDatabase();

/** What a dump brings into a younger server: the same rows, with transaction numbers this server has not reached. */
async function pretendRestored(): Promise<void> {
  const later = 1_000_000_000;
  await db.sql(`
    update millrace.job set xid = xid + ${later};
    update millrace.agenda set xid = xid + ${later};
    create temp table moved as select * from millrace.ticket;
    truncate millrace.ticket;
    insert into millrace.ticket (lane, xid, id, attempt, version, bytes, slot, alone, jobs)
      select lane, xid + ${later}, id, attempt, version, bytes, millrace.ticket_slot(xid + ${later}), alone, jobs from moved;
    update millrace.lane_cursor set head_xid = head_xid + ${later}, late = array(select (l.xid + ${later}, l.ticket, l.skip)::millrace.late_place from unnest(late) l);
    update millrace.lane_purge set snapshot = ((pg_snapshot_xmin(snapshot)::text::bigint + ${later}) || ':' || (pg_snapshot_xmax(snapshot)::text::bigint + ${later}) || ':')::pg_snapshot, own_xid = own_xid + ${later};
    update millrace.rule_change set xid = xid + ${later} where xid > 0;
    update millrace.cell set floor_xid = floor_xid + ${later};`);
}

describe("a schema restored into another server", () => {
  it("is refused with the command to run, and repaired without losing or repeating a job", async () => {
    const { engine } = db;
    await engine.enqueueMany("done", [1, 2, 3]);
    for (const job of await engine.claim({ limit: 3 })) await engine.complete(job);
    await engine.enqueueMany("purged", [1, 2]);
    await engine.queuePurge("default");
    const waiting = (await engine.enqueueMany("waits", [1, 2, 3, 4, 5])).map(({ id }) => id);
    const [running] = await engine.claim({ types: ["waits"] });
    const { id: delayed } = await engine.enqueue({ type: "waits", delaySeconds: 3600 });
    const { id: again } = await engine.enqueue({ type: "again", retry: 0 });
    const [failing] = await engine.claim({ types: ["again"] });
    await engine.retryLater(failing!);

    await pretendRestored();
    await expect(engine.check()).rejects.toThrow(SchemaRestoredError);
    await expect(engine.enqueue({ type: "waits" })).rejects.toThrow(/millrace repair/);
    await expect(engine.claim()).rejects.toThrow(SchemaRestoredError);

    expect(await engine.cellRepair()).toBe(5);
    // numbers of the other server, which may come again here, stand in the way of no change
    expect(
      await db.sql("select max(xid) < pg_snapshot_xmax(pg_current_snapshot())::text::bigint as ok from rule_change"),
    ).toEqual([{ ok: true }]);
    expect(await db.sql("select asked from express_lane")).toEqual([]);
    await engine.check();
    expect(await engine.queueDepth()).toMatchObject({ ready: 5, delayed: 1, running: 1 });
    const { id: fresh } = await engine.enqueue({ type: "waits" });
    const claimed = await engine.claim({ limit: 100 });
    expect(claimed.map((job) => job.id).toSorted()).toEqual(
      [...waiting.filter((id) => id !== running!.id), again, fresh].toSorted(),
    );
    expect(claimed.find((job) => job.id === again)?.attempt).toBe(2);
    for (const job of [...claimed, running!]) await engine.complete(job);
    await db.moveClock(3600);
    expect((await engine.claim({ limit: 100 })).map((job) => job.id)).toEqual([delayed]);
    expect((await engine.list({ type: "purged" })).map((job) => job.state)).toEqual(["cancelled", "cancelled"]);
  });

  it("gives numbers above all earlier ones after a repair, also where sequences were not copied, and rates start anew [#224]", async () => {
    const { engine } = db;
    await engine.queuePut("fenced", { maxRunning: 5, rate: { perSecond: 0.001, burst: 2 } });
    const before = (await engine.enqueueMany("fenced", [1, 2, 3, 4, 5, 6], { queue: "fenced" })).map(({ id }) => id);
    const fences = (await engine.claim({ queues: ["fenced"], limit: 10 })).map(({ fence }) => fence!);
    expect(fences).toHaveLength(2);
    await engine.queuePut("last-before");
    // numbers that left the cell after the dump, or that a logical replica never had
    await db.sql("select setval('ticket_id_seq', 1), setval('step_id_seq', 1), setval('queue_id_seq', 1)");
    await db.sql("update cell set server_id = server_id - 1");
    await engine.cellRepair();
    const after = await engine.claim({ queues: ["fenced"], limit: 10 });
    expect(after).toHaveLength(2);
    expect(Math.min(...after.map(({ fence }) => fence!))).toBeGreaterThan(Math.max(...fences) + 1_000_000_000);
    await expect(engine.queuePut("first-after")).resolves.toBeDefined();
    const { id } = await engine.enqueue({ type: "fenced", queue: "fenced" });
    expect(BigInt(id)).toBeGreaterThan(BigInt(before.at(-1)!));
    await db.moveClock(3600);
    await engine.enqueue({ type: "ahead" });
    await db.moveClock(-3600);
    await db.sql("update cell set server_id = server_id - 1");
    await expect(engine.cellRepair()).rejects.toThrow(/in the future of this server/);
    await db.moveClock(3600);
    await engine.cellRepair();
  });

  it("is found out by a claim, however near the future is in which a cursor stands", async () => {
    const { engine } = db;
    await engine.enqueue({ type: "near" });
    await engine.complete((await engine.claim({ types: ["near"] }))[0]!);
    expect(await engine.claim({ types: ["near"] })).toEqual([]);
    await db.sql(
      "update millrace.lane_cursor set head_xid = pg_snapshot_xmax(pg_current_snapshot())::text::bigint + 100",
    );
    await expect(engine.claim({ types: ["near"] })).rejects.toThrow(SchemaRestoredError);
  });

  it("is refused also when this server has caught up with the numbers, by sessions old and new, until it is repaired [#223]", async () => {
    const { engine } = db;
    await engine.maintain();
    const pool = newPool();
    const old = new Engine({ pool });
    const earlier = (await old.enqueueMany("caught up", [1, 2, 3])).map(({ id }) => id);
    await expressly(pool);
    await expressly(pool);
    expect(await db.sql("select from express_lane where lanes is not null")).not.toEqual([]);
    await db.sql("update millrace.cell set server_id = server_id - 1");
    const newcomer = new Engine({ pool: newPool() });
    await expect(newcomer.check()).rejects.toThrow(SchemaRestoredError);
    await expect(newcomer.enqueue({ type: "caught up" })).rejects.toThrow(SchemaRestoredError);
    await expect(newcomer.enqueueEach([{ type: "caught up", priority: 1 }])).rejects.toThrow(SchemaRestoredError);
    await expect(newcomer.claim({ types: ["caught up"] })).rejects.toThrow(SchemaRestoredError);
    // sessions that were at home before, and a request that has its express lane
    const settled = [
      () => old.enqueue({ type: "caught up" }),
      () => old.enqueueEach([{ type: "caught up", priority: 1 }]),
      () => old.claim({ types: ["caught up"], limit: 1 }),
      () => expressly(pool),
    ];
    for (const call of settled) await expect(call()).rejects.toThrow(SchemaRestoredError);
    await expect(engine.maintain()).rejects.toThrow(SchemaRestoredError);
    await newcomer.cellRepair();
    await newcomer.check();
    await newcomer.maintain();
    expect((await newcomer.claim({ types: ["caught up"], limit: 100 })).map(({ id }) => id)).toEqual(earlier.slice(2));
    await expect(old.enqueue({ type: "caught up" })).resolves.toBeDefined();
  });
});

/** A claim that may learn an express lane, and take it the next time. */
async function expressly(pool: pg.Pool): Promise<void> {
  await pool
    .query("select millrace.job_claim_json(p_types => '{caught up}', p_limit => 1, p_async => true)")
    .catch((error: unknown) => {
      throw translateError(error);
    });
}

function newPool(): pg.Pool {
  const pool = new pg.Pool({ connectionString: db.url, max: 1 });
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {})); // one that is ending may hear that its database is gone
  onTestFinished(() => pool.end());
  return pool;
}
