import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { useDatabase } from "../support/database.js";
import { claimIds, enqueue, jobOf, newQueue } from "../support/jobs.js";

const db = useDatabase();

describe("with plain SQL", () => {
  it("a type is enough to enqueue: all defaults apply [#40]", async () => {
    const [row] = await db.sql("select job_id::text as id, duplicate from job_enqueue('hello')");
    expect(row!["duplicate"]).toBe(false);
    const job = await jobOf(db, row!["id"]);
    expect(job).toMatchObject({
      queue: "default",
      type: "hello",
      state: "ready",
      priority: 5,
      attempts: 0,
      maxAttempts: 25,
      input: null,
      expiresAt: null,
      deadline: null,
      group: null,
      tenant: null,
      headers: null,
      retry: null,
      attemptTimeoutSeconds: null,
      payloadSize: null,
      fingerprint: null,
      schedule: null,
    });
    expect(Math.abs(job.runAt.getTime() - job.createdAt.getTime())).toBeLessThan(1000);
    expect(await claimIds(db, "default", { types: ["hello"] })).toEqual([job.id]);
  });

  it("one function reports, prolongs and gives back each: claim, extend, settle [#40]", async () => {
    const [job] = await db.sql("select e.job_id from job_enqueue('by-hand') e");
    const [claim] = await db.sql("select token from job_claim(p_types => '{by-hand}')");
    const [held] = await db.sql("select job_ids from claim_extend(array[$1::uuid])", [claim!["token"]]);
    expect(held).toEqual({ job_ids: [job!["job_id"]] });
    const [refused] = await db.sql("select job_complete($1) as refused", [claim!["token"]]);
    expect(refused).toEqual({ refused: [] });
  });

  const unknownValues: [string, string][] = [
    ...["-1", "11", "2.5", '"NaN"', '"high"', "true"].map((value): [string, string] => [
      `priority ${value}`,
      `select job_enqueue('t', p_options => '{"priority": ${value}}')`,
    ]),
    ...["0", "-1", "1.5", '"many"'].map((value): [string, string] => [
      `maxAttempts ${value}`,
      `select job_enqueue('t', p_options => '{"maxAttempts": ${value}}')`,
    ]),
    ["option", `select job_enqueue('t', p_options => '{"state": "running"}')`],
    ["fingerprint mode", `select job_enqueue('t', p_options => '{"fingerprint": "f", "fingerprintMode": "maybe"}')`],
    ["state", "select job_list(p_state => 'sleeping')"],
    [
      "outcome",
      `select job_settle('[{"token": "00000000-0000-4000-8000-000000000000", "outcome": "maybe", "jobs": ["1"]}]')`,
    ],
    ["type (none)", "select job_enqueue(null)"],
    ["queue default", `select queue_put('q', '{"priority": 11}')`],
    ["kind of role", "select role_grant('postgres', 'owner')"],
  ];

  it.each(unknownValues)("an unknown %s is refused by the functions [#40]", async (_, text) => {
    await expect(db.sql(text)).rejects.toMatchObject({ code: "MR001" });
  });

  it.each([
    [
      "outcome",
      "insert into attempt (job_id, slot, attempt, finished_at, outcome) values (1, 0, 1, now(), 'maybe')",
      "22P02",
    ],
    [
      "final state",
      "insert into attempt (job_id, slot, attempt, finished_at, outcome, state) values (1, 0, 1, now(), 'failed', 'ready')",
      "22P02",
    ],
    [
      "reason",
      "insert into attempt (job_id, slot, attempt, finished_at, outcome, reason) values (1, 0, 1, now(), 'failed', 'bored')",
      "22P02",
    ],
    [
      "priority",
      "insert into job (id, xid, run_at, queue_id, max_attempts, slot, priority, type) values (1, 1, now(), 1, 1, 0, 11, 't')",
      "23514",
    ],
    [
      "partition",
      "insert into job (id, xid, run_at, queue_id, max_attempts, slot, priority, type) values (1, 1, now(), 1, 1, 32, 5, 't')",
      "23514",
    ],
  ])("an unknown %s is refused by the tables themselves [#40]", async (_, text, code) => {
    await expect(db.sql(text)).rejects.toMatchObject({ code });
  });
});

describe("an enqueue without a run time", () => {
  it.each([
    ["undefined", (queue: string) => enqueue(db, queue, { runAt: undefined as never })],
    ["null", (queue: string) => enqueue(db, queue, { runAt: null as never })],
    [
      "null in a batch",
      async (queue: string) => (await db.engine.enqueueEach([{ type: "work", queue, runAt: null as never }]))[0]!.id,
    ],
    [
      "null in SQL",
      async (queue: string) =>
        (
          await db.sql(
            "select job_id from job_enqueue('work', p_options => json_build_object('queue', $1::text, 'runAt', null))",
            [queue],
          )
        )[0]!["job_id"] as string,
    ],
  ])("(%s) is available at once [#48]", async (_, make) => {
    const queue = await newQueue(db);
    const id = await make(queue);
    expect((await jobOf(db, id)).runAt).toBeInstanceOf(Date);
    expect(await claimIds(db, queue)).toEqual([id]);
  });

  it("leaves no NULL behind: the column cannot hold one [#48]", async () => {
    const insert =
      "insert into job (id, xid, run_at, queue_id, max_attempts, slot, priority, type) values (1, 1, null, 1, 1, 0, 5, 't')";
    await expect(db.sql(insert)).rejects.toMatchObject({ code: "23502", column: "run_at" });
    const children = await db.sql(
      "select from pg_attribute a join pg_inherits i on i.inhrelid = a.attrelid where i.inhparent = 'job'::regclass and a.attname = 'run_at' and not a.attnotnull",
    );
    expect(children).toEqual([]);
  });
});

describe("tables are private; functions and views are the contract", () => {
  const suffix = `${process.pid}_${Date.now().toString(36)}`;
  const kinds = ["producer", "worker", "reader", "admin"] as const;
  const roleOf = (kind: string) => `test_${kind}_${suffix}`;
  const views = ["jobs", "attempts", "claims", "queues", "lanes", "types", "schedule_runs", "decisions"];

  beforeAll(async () => {
    for (const kind of [...kinds, "stranger"]) await db.sql(`create role ${roleOf(kind)} login password 'test'`);
    for (const kind of kinds) await db.engine.roleGrant(roleOf(kind), kind);
  });

  afterAll(async () => {
    for (const kind of [...kinds, "stranger"]) await db.sql(`drop owned by ${roleOf(kind)}; drop role ${roleOf(kind)}`);
  });

  it.each(kinds)("a %s may touch no table, and read every view [#40]", async (kind) => {
    const tables = await db.sql(
      `
      select c.relname from pg_class c
       where c.relnamespace = 'millrace'::regnamespace and (c.relkind in ('r', 'p') or c.relname like 'job\\_line%')
         and has_table_privilege($1, c.oid, 'select, insert, update, delete, truncate')`,
      [roleOf(kind)],
    );
    expect(tables).toEqual([]);
    const session = await connectAs(kind);
    await expect(session.query("select from job")).rejects.toMatchObject({ code: "42501" });
    for (const view of views) await session.query(`select * from ${view}`);
  });

  it("a worker does all its work through functions [#40]", async () => {
    const session = await connectAs("worker");
    const {
      rows: [job],
    } = await session.query("select job_id from job_enqueue('as-worker', '{\"a\": 1}')");
    const {
      rows: [claim],
    } = await session.query("select token, input from job_claim(p_types => '{as-worker}')");
    expect(claim.input).toEqual({ a: 1 });
    await session.query("select claim_extend(array[$1::uuid])", [claim.token]);
    await session.query("select progress_put($1, $2, '50')", [claim.token, job.job_id]);
    await session.query("select job_complete($1, array[$2::bigint], '[\"done\"]')", [claim.token, job.job_id]);
    await session.query("select maintain()");
    const { rows } = await session.query("select state, result from jobs where id = $1", [job.job_id]);
    expect(rows).toEqual([{ state: "succeeded", result: "done" }]);
  });

  it("a reader cannot enqueue, a producer cannot claim, a worker cannot administer, a stranger can do nothing [#40]", async () => {
    const refused: [string, string][] = [
      ["reader", "select millrace.job_enqueue('t')"],
      ["producer", "select millrace.job_claim()"],
      ["worker", "select millrace.queue_pause('default')"],
      ["stranger", "select millrace.job_enqueue('t')"],
      ["stranger", "select from millrace.jobs"],
    ];
    for (const [kind, text] of refused) {
      const session = await connectAs(kind);
      await expect(session.query(text), `${kind}: ${text}`).rejects.toMatchObject({ code: "42501" });
    }
  });

  const sessions: pg.Client[] = [];
  afterAll(() => Promise.all(sessions.map((session) => session.end())));

  async function connectAs(kind: string): Promise<pg.Client> {
    const url = new URL(db.url);
    url.username = roleOf(kind);
    url.password = "test";
    const session = new pg.Client({ connectionString: url.href, options: "-c search_path=millrace" });
    await session.connect();
    sessions.push(session);
    return session;
  }
});
