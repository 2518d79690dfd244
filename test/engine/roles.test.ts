import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Engine } from "../../src/db/engine.js";
import { migrationScript } from "../../src/db/migrate.js";
import { useDatabase } from "../support/database.js";
import { schemaVersion } from "../support/steps.js";

const db = useDatabase({ migrate: false });
const kinds = ["producer", "worker", "reader", "admin"] as const;
const prefix = `millrace_test_${process.pid}_${Date.now().toString(36)}`;
const roleOf = (kind: string): string => `${prefix}_${kind}`;
const roles = ["owner", ...kinds].map(roleOf);
const pools = new Map<string, pg.Pool>();

/** A pool whose sessions act as one role from the first statement on, with nothing helpful on the search path. */
function poolOf(kind: string): pg.Pool {
  const known = pools.get(kind);
  if (known) return known;
  const pool = new pg.Pool({ connectionString: db.url, max: 3, options: `-c role=${roleOf(kind)}` });
  pool.on("error", () => {}); // its connections may still be closing when the database is dropped
  pools.set(kind, pool);
  return pool;
}
const engineOf = (kind: (typeof kinds)[number] | "owner"): Engine => new Engine({ pool: poolOf(kind) });
const denied = { code: "MR021" };

beforeAll(async () => {
  for (const role of roles) await db.sql(`create role ${role}`);
  const [{ name }] = (await db.sql("select current_database() as name")) as [{ name: string }];
  await db.sql(`grant create on database ${name} to ${roleOf("owner")}`);
  await poolOf("owner").query(migrationScript());
  for (const kind of kinds) await engineOf("owner").roleGrant(roleOf(kind), kind);
});

afterAll(async () => {
  await Promise.all([...pools.values()].map((pool) => pool.end()));
  for (const role of [...roles].reverse())
    await db.sql(`drop owned by ${role} cascade`).then(() => db.sql(`drop role ${role}`));
});

describe("a schema that a DBA installed beforehand", () => {
  it("belongs to an owner who is no superuser [#113]", async () => {
    const [row] = await db.sql(
      "select r.rolsuper, r.rolname from pg_namespace n join pg_roles r on r.oid = n.nspowner where n.nspname = 'millrace'",
    );
    expect(row).toEqual({ rolsuper: false, rolname: roleOf("owner") });
  });

  it("lets a producer without DDL rights enqueue, look and cancel [#113]", async () => {
    const producer = engineOf("producer");
    await engineOf("owner").queuePut("produced");
    const { id } = await producer.enqueue({ type: "t", queue: "produced", fingerprint: "f" });
    await producer.enqueueMany("t", [1, 2], { queue: "produced" });
    await producer.enqueueEach([{ type: "t", queue: "produced", delaySeconds: 60 }]);
    await producer.enqueueStream({ type: "t", queue: "produced" }, 3, [new Uint8Array(3)]);
    expect((await producer.get(id))?.job.state).toBe("ready");
    expect(await producer.queueDepth("produced")).toMatchObject({ ready: 4, delayed: 1 });
    expect(await producer.cancel([id])).toBe(1);
    await expect(producer.claim({ queues: ["produced"] })).rejects.toMatchObject(denied);
    await expect(producer.queuePurge("produced")).rejects.toMatchObject(denied);
  });

  it("lets a worker without DDL rights do all its work and all maintenance [#113]", async () => {
    const worker = engineOf("worker");
    await engineOf("owner").queuePut("worked");
    await worker.enqueueMany("t", ["complete", "fail", "retry", "release", "cancel", "lose"], {
      queue: "worked",
      maxAttempts: 2,
    });
    const jobs = await worker.claim({ queues: ["worked"], limit: 6, worker: "w", trackStart: true });
    const [completed, failed, retried, released, cancelled, rest] = jobs as [
      (typeof jobs)[0],
      (typeof jobs)[0],
      (typeof jobs)[0],
      (typeof jobs)[0],
      (typeof jobs)[0],
      (typeof jobs)[0],
    ];
    await worker.start(completed);
    await worker.claimExtend([completed.token], 60);
    await worker.progressPut(completed, { half: true });
    await worker.complete(completed, { ok: true });
    await worker.fail(failed, { message: "no" });
    await worker.retryLater(retried, { message: "again" }, 60);
    await worker.release(released, 60);
    expect(await worker.cancel([cancelled.id])).toBe(1);
    await worker.setVisibility(rest, 30);
    expect(
      (await worker.settle([{ token: rest.token, outcome: "succeeded", jobs: [rest.id] }], { queues: ["worked"] }))
        .refused,
    ).toEqual([]);
    expect(await worker.maintain()).toMatchObject({ folded: expect.any(Number) });
    expect((await worker.maintainSpace({ compactBound: 0 })).compacted).not.toEqual([]);
    expect((await worker.list({ queue: "worked" })).map((job) => job.state)).toEqual([
      "succeeded",
      "cancelled",
      "delayed",
      "delayed",
      "failed",
      "succeeded",
    ]);
    await expect(worker.queuePut("more")).rejects.toMatchObject(denied);
  });

  it("lets an admin set up, pause, purge and redrive [#113]", async () => {
    const admin = engineOf("admin");
    await admin.queuePut("administered", { priority: 3 });
    await admin.typePut("t", { maxAttempts: 9 });
    await admin.queuePause("administered", { by: "me" });
    await admin.queueResume("administered");
    await admin.enqueue({ type: "t", queue: "administered" });
    expect(await admin.queuePurge("administered")).toBe(1);
    await admin.queuePut("dependent", { waitsFor: ["administered"] });
    await admin.queueClose("administered");
    await admin.queueOpen("administered");
    await admin.enqueue({ type: "t", queue: "dependent", stage: "s" });
    expect([await admin.stageRelease("dependent", "s"), await admin.stageCancel("dependent", "s")]).toEqual([1, 0]);
    for (const call of [
      () => engineOf("worker").queueClose("dependent"),
      () => engineOf("producer").stageRelease("dependent", "s"),
    ])
      await expect(call()).rejects.toMatchObject(denied);
    expect((await engineOf("reader").queues()).find(({ name }) => name === "dependent")).toMatchObject({
      state: "waiting",
      waitsFor: ["administered"],
    });
    expect(await engineOf("reader").list({ queue: "dependent" })).toMatchObject([{ state: "blocked" }]);
    expect((await engineOf("reader").queueEvents()).events.map(({ event }) => event)).toContain("opened");
    expect(await admin.queueRedrive("administered")).toBe(0);
    expect(await admin.retry(1, { type: "t", queue: "administered" })).toBe(0);
    const { id } = await admin.enqueue({ type: "t", queue: "administered" });
    await admin.fail((await admin.claim({ queues: ["administered"] }))[0]!);
    expect(await admin.failureRetry({ queue: "administered" })).toMatchObject({ jobs: 1 });
    await admin.fail((await admin.claim({ queues: ["administered"] }))[0]!);
    expect(await admin.replay({ since: new Date(0), queue: "administered" })).toMatchObject({ jobs: 1 });
    expect(await admin.breakerReset()).toBe(0);
    expect(await admin.discard([id])).toBe(1);
    expect(await engineOf("reader").decisions(id)).toHaveLength(2);
    await expect(engineOf("worker").discard([id])).rejects.toMatchObject(denied);
    await expect(engineOf("worker").failureRetry({})).rejects.toMatchObject(denied);
    await expect(engineOf("worker").replay({ since: new Date(0) })).rejects.toMatchObject(denied);
    await expect(engineOf("worker").breakerReset()).rejects.toMatchObject(denied);
  });

  it("lets a reader count, and see groups and durations [#113]", async () => {
    const reader = engineOf("reader");
    await engineOf("owner").queuePut("read");
    await engineOf("producer").enqueue({ type: "t", queue: "read", tenant: "read", group: "g" });
    expect(await reader.count({ tenant: "read" })).toMatchObject({ ready: 1 });
    expect(await reader.queueGroups("read")).toMatchObject([{ group: "g", waiting: 1 }]);
    expect(await reader.durations({ type: "t" })).toHaveLength(3);
    await engineOf("owner").queuePut("read", { breaker: { failures: 1 } });
    await engineOf("worker").fail((await engineOf("worker").claim({ queues: ["read"] }))[0]!, { message: "no" });
    expect(await reader.failures({ queue: "read" })).toMatchObject([{ jobs: 1, message: "no" }]);
    expect(await reader.breakers()).toMatchObject([{ queue: "read", type: "t", state: "open" }]);
  });

  it.each([
    "jobs",
    "attempts",
    "claims",
    "queues",
    "pauses",
    "stages",
    "breakers",
    "limits",
    "lanes",
    "types",
    "schedule_runs",
    "decisions",
  ])("lets a reader see the view %s and change nothing through it [#113] [#148]", async (view) => {
    const reader = poolOf("reader");
    await expect(reader.query(`select * from millrace.${view} limit 1`)).resolves.toBeDefined();
    await expect(reader.query(`delete from millrace.${view}`)).rejects.toMatchObject({
      code: expect.stringMatching(/^(42501|55000)$/),
    });
    await expect(engineOf("reader").enqueue({ type: "t" })).rejects.toMatchObject(denied);
  });

  it.each(kinds)("gives a %s no tables and no DDL [#113]", async (kind) => {
    const pool = poolOf(kind);
    for (const text of [
      "create table millrace.mine (n int)",
      "select * from millrace.job",
      "insert into millrace.queue (name) values ('x')",
      "truncate millrace.ticket_0",
      "drop view millrace.jobs",
      "create or replace function millrace.clock_now() returns timestamptz language sql as 'select now()'",
      "select millrace.claim_reap(1)",
      "select millrace.role_grant(current_user, 'admin')",
    ])
      await expect(pool.query(text), text).rejects.toMatchObject({ code: "42501" });
  });
});

describe("the check at start, as a role without DDL rights", () => {
  it.each(kinds)("accepts the schema for a %s [#113]", async (kind) => {
    await expect(engineOf(kind).check()).resolves.toBeUndefined();
  });

  it("refuses a missing schema, and names the command to run [#113]", async () => {
    const engine = new Engine({ pool: poolOf("worker"), schema: "not_there" });
    await expect(engine.check()).rejects.toMatchObject({
      ...schemaVersion,
      message: expect.stringContaining("millrace migrate --schema not_there"),
    });
  });

  it.each([
    ["older", "update millrace.migration set number = -number where number > 0", "millrace migrate"],
    ["newer", "insert into millrace.migration values (99, 'next', 'x')", "upgrade"],
  ])("refuses a schema that is %s, and says what to do [#113]", async (_, change, remedy) => {
    const owner = await poolOf("owner").connect();
    try {
      await owner.query("create temp table kept as select * from millrace.migration");
      await owner.query(change);
      await expect(engineOf("worker").check()).rejects.toMatchObject({
        ...schemaVersion,
        message: expect.stringContaining(remedy),
      });
    } finally {
      await owner.query(
        "delete from millrace.migration; insert into millrace.migration select * from kept; drop table kept",
      );
      owner.release();
    }
  });

  it("changes nothing in a database without the schema [#113]", async () => {
    await expect(new Engine({ pool: db.pool, schema: "not_there" }).check()).rejects.toMatchObject(schemaVersion);
    expect(await db.sql("select 1 from pg_namespace where nspname = 'not_there'")).toEqual([]);
  });
});
