import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Engine } from "../../src/db/engine.js";
import { migrate, thisRelease } from "../../src/db/migrate.js";
import { type Release, migrationStatus } from "../../src/db/schema-version.js";
import { useDatabase } from "../support/database.js";

const db = useDatabase({ migrate: false });
const pools: pg.Pool[] = [];
afterAll(() => Promise.all(pools.map((pool) => pool.end())));

/** A pool with connections of its own, as another process would have. */
function otherPool(url = db.url): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  pool.on("error", () => {}); // its connections may still be closing when the database is dropped
  pools.push(pool);
  return pool;
}

let schemas = 0;
const newSchema = () => `cell_${(schemas += 1)}`;

/** An installation made once, by one process, for all that only look at one. */
const plain = newSchema();
beforeAll(() => migrate(db.pool, { schema: plain }));

/** All that a schema holds, as text, so that two of them can be compared; the schema's own name is left out. */
async function describeSchema(schema: string): Promise<string[]> {
  const { rows } = await otherPool().query<{ line: string }>(
    `
    with rel as (select c.* from pg_class c where c.relnamespace = $1::regnamespace)
    select format('relation %s %s %s %s', relkind, relname, reloptions, relacl) as line from rel
    union all select format('column %s.%s %s %s %s %s', rel.relname, attname, atttypid::regtype, attnotnull, attstorage, pg_get_expr(adbin, adrelid))
      from rel join pg_attribute on attrelid = rel.oid and attnum > 0 and not attisdropped left join pg_attrdef on adrelid = attrelid and adnum = attnum
    union all select format('index %s', pg_get_indexdef(rel.oid)) from rel where relkind in ('i', 'I')
    union all select format('view %s %s', relname, pg_get_viewdef(oid)) from rel where relkind = 'v'
    union all select format('constraint %s %s', conrelid::regclass, pg_get_constraintdef(oid)) from pg_constraint where connamespace = $1::regnamespace
    union all select format('function %s %s', pg_get_functiondef(oid), proacl) from pg_proc where pronamespace = $1::regnamespace
    union all select format('value %s.%s', enumtypid::regtype, enumlabel) from pg_enum join pg_type t on t.oid = enumtypid where t.typnamespace = $1::regnamespace
    union all select format('migration %s %s %s', number, name, checksum) from ${schema}.migration`,
    [schema],
  );
  return rows.map((row) => row.line.replaceAll(schema, "SCHEMA")).sort();
}

/** Every object of the database that PostgreSQL did not bring along, as schema.name. */
async function userObjects(): Promise<string[]> {
  const own = "nspname not like 'pg\\_%' and nspname <> 'information_schema'";
  const rows = await db.sql<{ name: string }>(`
    select nspname || '.' || relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace where ${own}
    union select nspname || '.' || proname from pg_proc p join pg_namespace n on n.oid = p.pronamespace where ${own}
    union select nspname || '.' || typname from pg_type t join pg_namespace n on n.oid = t.typnamespace where ${own}
    union select nspname || '.' || oprname from pg_operator o join pg_namespace n on n.oid = o.oprnamespace where ${own}
    union select 'schema ' || nspname from pg_namespace where ${own}
    union select 'extension ' || extname from pg_extension
    union select 'event trigger ' || evtname from pg_event_trigger
    union select 'publication ' || pubname from pg_publication
    union select 'default privileges ' || oid from pg_default_acl
    union select 'large object ' || oid from pg_largeobject_metadata
    order by 1`);
  return rows.map((row) => row.name);
}

describe("an installation", () => {
  it("is in its own schema, all of it, and goes with it [#39]", async () => {
    const before = await userObjects();
    const schema = newSchema();
    await migrate(db.pool, { schema });
    const added = (await userObjects()).filter((name) => !before.includes(name));
    expect(added).toContain(`schema ${schema}`);
    expect(added.filter((name) => name !== `schema ${schema}` && !name.startsWith(`${schema}.`))).toEqual([]);
    await db.sql(`set client_min_messages = error; drop schema ${schema} cascade`);
    expect(await userObjects()).toEqual(before);
  });

  it("may have a name of 63 characters, and two that begin alike are told apart by prepared statements [#122]", async () => {
    const names = ["a", "b"].map((end) => `cell_${"x".repeat(57)}${end}`);
    const pool = otherPool();
    for (const schema of names) await migrate(pool, { schema });
    for (const schema of [...names, ...names]) {
      const engine = new Engine({ pool, schema });
      const { id } = await engine.enqueue({ type: schema.slice(-1) });
      expect(await engine.enqueueMany("t", [1, 2])).toHaveLength(2);
      expect((await engine.claim({ types: [schema.slice(-1)] })).map((job) => job.id)).toEqual([id]);
    }
  });

  it("lives beside another one, and neither sees the other's jobs [#39]", async () => {
    const schema = newSchema();
    await migrate(db.pool, { schema });
    const [mine, other] = [new Engine({ pool: db.pool, schema: plain }), new Engine({ pool: db.pool, schema })];
    const { id } = await other.enqueue({ type: "work", input: "other" });
    expect(await mine.claim()).toEqual([]);
    expect(await mine.get(id)).toBeNull();
    await mine.enqueue({ type: "work", input: "mine" });
    await db.sql(`set client_min_messages = error; drop schema ${schema} cascade`);
    const [job] = await mine.claim();
    expect(job).toMatchObject({ input: "mine" });
    await mine.complete(job!);
  });

  it("brings the indexes that claims and reads by id rely on, on every child of every log [#52]", async () => {
    const rows = await db.sql<{ log: string; columns: string; children: number }>(
      `
      select p.relname as log, array_to_string(array(
               select a.attname from unnest(i.indkey) with ordinality k (attnum, n)
                 join pg_attribute a on a.attrelid = c.oid and a.attnum = k.attnum order by k.n), ',') as columns,
             count(*)::int as children
        from pg_class p join pg_inherits h on h.inhparent = p.oid join pg_class c on c.oid = h.inhrelid
        join pg_index i on i.indrelid = c.oid and i.indisunique and i.indisvalid and i.indpred is null
       where p.relkind = 'p' and p.relnamespace = $1::regnamespace group by 1, 2 order by 1, 2`,
      [plain],
    );
    expect(rows).toEqual([
      { log: "amendment", columns: "job_id", children: 32 },
      { log: "attempt", columns: "job_id,attempt", children: 32 },
      { log: "edge", columns: "target,waiter", children: 32 },
      { log: "job", columns: "id", children: 32 },
      { log: "payload_piece", columns: "job_id,piece", children: 32 },
      { log: "progress", columns: "job_id", children: 32 },
      { log: "sample_hour", columns: "series,hour", children: 7 },
      { log: "sample_minute", columns: "series,minute", children: 5 },
      { log: "step", columns: "job_id,key,kind,n", children: 32 },
      { log: "streak", columns: "first_place", children: 32 },
      { log: "ticket", columns: "lane,xid,id", children: 8 },
    ]);
    const without = await db.sql(
      `
      select h.inhrelid::regclass from pg_inherits h join pg_class p on p.oid = h.inhparent
       where p.relkind = 'p' and p.relnamespace = $1::regnamespace and not exists (select from pg_index i where i.indrelid = h.inhrelid and i.indisunique)`,
      [plain],
    );
    expect(without).toEqual([]);
  });
});

describe("a role that is not a superuser, in a database with no extension", () => {
  const role = `test_owner_${process.pid}_${Date.now().toString(36)}`;

  it("installs and uses all of it: send, receive, acknowledge, change the lease, delay, dead-letter [#1]", async () => {
    await db.sql(`create role ${role} login password 'test' nosuperuser nocreatedb nocreaterole`);
    await db.sql(`do $$ begin execute format('grant create on database %I to ${role}', current_database()); end $$`);
    const url = new URL(db.url);
    url.username = role;
    url.password = "test";
    const pool = otherPool(url.href);
    const schema = newSchema();
    await migrate(pool, { schema });
    expect((await pool.query("select extname from pg_extension")).rows).toEqual([{ extname: "plpgsql" }]);

    const engine = new Engine({ pool, schema });
    await engine.check();
    await engine.queuePut("dead");
    await engine.queuePut("mail", { deadLetterQueue: "dead" });
    const queues = ["mail"];
    const sent = await engine.enqueue({ type: "send", queue: "mail", input: { to: "a" } });
    const [received] = await engine.claim({ queues, leaseSeconds: 60 });
    expect(received).toMatchObject({ id: sent.id, input: { to: "a" } });
    const changed = await engine.setVisibility(received!, 600);
    expect(changed.getTime() - received!.leaseEndsAt.getTime()).toBeGreaterThan(500_000);
    await engine.complete(received!);
    expect((await engine.get(sent.id))?.job.state).toBe("succeeded");

    const delayed = await engine.enqueue({ type: "send", queue: "mail", delaySeconds: 3600 });
    expect(await engine.claim({ queues })).toEqual([]);
    expect((await engine.get(delayed.id))?.job.state).toBe("delayed");

    const doomed = await engine.enqueue({ type: "send", queue: "mail", maxAttempts: 1, input: { to: "b" } });
    const [last] = await engine.claim({ queues });
    await engine.retryLater(last!, { message: "no such address" });
    expect((await engine.get(doomed.id))?.job).toMatchObject({ state: "failed", reason: "exhausted" });
    expect(await engine.claim({ queues: ["dead"] })).toMatchObject([
      { input: { to: "b" }, source: { id: doomed.id, queue: "mail", error: { message: "no such address" } } },
    ]);
    await engine.maintain();
    await engine.maintainSpace();
  });

  afterAll(async () => {
    await db.sql(`set client_min_messages = error; drop owned by ${role} cascade; drop role ${role}`);
  });
});

describe("a migration", () => {
  /** The release after this one, as far as a test can know it: a column, a default for it, and a changed function. */
  const number = thisRelease.migrations.length + 1;
  const nextRelease: Release = {
    migrations: [
      ...thisRelease.migrations,
      {
        number,
        name: "next",
        checksum: "next",
        text: "alter table queue add column colour text not null default 'blue'; create index on queue (colour);",
      },
    ],
    functionsText: `${thisRelease.functionsText}
      create or replace function colour_of(p_queue text) returns text language sql as $$ select colour from queue where name = p_queue $$;`,
    functionsChecksum: "next",
  };
  const tenPools = () => Array.from({ length: 10 }, () => otherPool());

  it("run again changes nothing [#53]", async () => {
    const before = await describeSchema(plain);
    expect(await migrate(db.pool, { schema: plain })).toEqual({
      schema: plain,
      version: number - 1,
      applied: [],
      functionsReplaced: false,
    });
    expect(await describeSchema(plain)).toEqual(before);
  });

  it("run by ten processes at once, twice, ends in the same schema without an error [#53]", async () => {
    const schema = newSchema();
    const processes = tenPools();
    for (let round = 1; round <= 2; round += 1) {
      const results = await Promise.all(processes.map((pool) => migrate(pool, { schema })));
      expect(results.filter((result) => result.applied.length > 0).length).toBe(round === 1 ? 1 : 0);
    }
    expect(await describeSchema(schema)).toEqual(await describeSchema(plain));
  });

  it("run by ten processes over a populated older version ends as a fresh install does, and loses no job [#53]", async () => {
    const [older, fresh] = [newSchema(), newSchema()];
    await migrate(db.pool, { schema: older });
    const engine = new Engine({ pool: db.pool, schema: older });
    const ids = (
      await engine.enqueueMany(
        "work",
        Array.from({ length: 50 }, (_, i) => i),
      )
    ).map((job) => job.id);
    await engine.enqueue({ type: "work", delaySeconds: 3600 });
    const claimed = await engine.claim({ limit: 20, leaseSeconds: 3600 });
    for (const job of claimed.slice(0, 5)) await engine.complete(job, { done: true });
    for (const job of claimed.slice(5, 10)) await engine.retryLater(job, { message: "no" }, 0);
    await engine.fail(claimed[10]!);
    await engine.cancel([claimed[11]!.id]);
    const before = await engine.list();
    expect(before.length).toBe(51);

    expect(await migrationStatus(db.pool, { schema: older, release: nextRelease })).toMatchObject({ state: "older" });
    const results = await Promise.all(tenPools().map((pool) => migrate(pool, { schema: older, release: nextRelease })));
    expect(results.flatMap((result) => result.applied)).toEqual([`${String(number).padStart(4, "0")}_next`]);
    await migrate(db.pool, { schema: fresh, release: nextRelease });
    expect(await describeSchema(older)).toEqual(await describeSchema(fresh));

    expect(await engine.list()).toEqual(before);
    await engine.completeMany(
      claimed[12]!.token,
      claimed.slice(12).map((job) => job.id),
    );
    const rest = await engine.claim({ limit: 100 });
    expect(rest.map((job) => job.id).sort()).toEqual([...ids.slice(5, 10), ...ids.slice(20)].sort());
    expect(new Set(rest.map((job) => job.input))).toEqual(new Set(rest.map((job) => ids.indexOf(job.id))));
  });
});
