import { readFileSync, readdirSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { Engine } from "../../src/db/engine.js";
import { migrate, migrationScript } from "../../src/db/migrate.js";
import { useDatabase } from "../support/database.js";

const db = useDatabase({ migrate: false });

beforeAll(async () => {
  await migrate(db.pool, { schema: "by_function" });
  const connection = await db.connect();
  await connection.query(migrationScript({ schema: "by_script" }));
});

/** Everything the catalogs say about a schema, one line each; the schema's own name left out. */
const catalogue = `
  select 'relation ' || c.relname || ' ' || c.relkind::text || ' ' || coalesce(c.reloptions::text, '') || coalesce(pg_get_expr(c.relpartbound, c.oid), '')
         || coalesce(pg_get_partkeydef(c.oid), '') || coalesce(pg_get_viewdef(c.oid), '') || coalesce(c.relacl::text, '') as line
    from pg_class c where c.relnamespace = $1::regnamespace and c.relkind <> 'i'
  union all
  select 'column ' || c.relname || '.' || a.attname || ' ' || a.attnum || ' ' || format_type(a.atttypid, a.atttypmod) || ' ' || a.attnotnull::text || a.attidentity::text || a.attstorage::text
         || coalesce(pg_get_expr(d.adbin, d.adrelid), '')
    from pg_attribute a join pg_class c on c.oid = a.attrelid left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
   where c.relnamespace = $1::regnamespace and c.relkind <> 'i' and a.attnum > 0 and not a.attisdropped
  union all
  select 'constraint ' || c.conrelid::regclass || ' ' || c.conname || ' ' || pg_get_constraintdef(c.oid) from pg_constraint c where c.connamespace = $1::regnamespace
  union all
  select 'index ' || pg_get_indexdef(i.indexrelid) from pg_index i join pg_class c on c.oid = i.indexrelid where c.relnamespace = $1::regnamespace
  union all
  select 'function ' || pg_get_functiondef(p.oid) || coalesce(p.proacl::text, 'open to all') from pg_proc p where p.pronamespace = $1::regnamespace
  union all
  select 'enum ' || t.typname || ' ' || e.enumsortorder || ' ' || e.enumlabel from pg_enum e join pg_type t on t.oid = e.enumtypid where t.typnamespace = $1::regnamespace
  union all
  select 'sequence ' || c.relname || ' ' || row(s.seqtypid, s.seqstart, s.seqincrement, s.seqmax, s.seqmin, s.seqcache, s.seqcycle)::text || coalesce(d.refobjid::regclass || '.' || d.refobjsubid, '')
    from pg_sequence s join pg_class c on c.oid = s.seqrelid left join pg_depend d on d.objid = s.seqrelid and d.deptype in ('a', 'i') and d.refclassid = 'pg_class'::regclass
   where c.relnamespace = $1::regnamespace`;

async function describeSchema(schema: string): Promise<string[]> {
  const lines = (await db.sql(catalogue, [schema])).map((row) => String(row["line"]).replaceAll(schema, "cell"));
  return lines.sort();
}

/** The rows a fresh installation begins with. */
const firstRows = async (schema: string): Promise<unknown> => ({
  migration: await db.sql(`select number, name, checksum from ${schema}.migration order by number`),
  queue: await db.sql(`select id, name, options, paused_at from ${schema}.queue`),
  cell: await db.sql(`select payload_limit, options from ${schema}.cell`),
  ring: await db.sql(`select * from ${schema}.ring order by slot`),
  sweep: await db.sql(`select * from ${schema}.expiry_sweep`),
});

describe("the script for the user's own tool", () => {
  it("gives the same schema as the function, to the last privilege [#122]", async () => {
    const expected = await describeSchema("by_function");
    expect(expected.filter((line) => line.startsWith("function ")).length).toBeGreaterThan(50);
    expect(await describeSchema("by_script")).toEqual(expected);
  });

  it("begins with the same rows, so that either can be upgraded by the other [#122]", async () => {
    expect(await firstRows("by_script")).toEqual(await firstRows("by_function"));
    expect(await migrate(db.pool, { schema: "by_script" })).toMatchObject({ applied: [], functionsReplaced: false });
  });

  it("is made of the plain SQL files that ship with the package [#122]", () => {
    const script = migrationScript();
    const shipped = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
      files: string[];
    };
    expect(shipped.files).toContain("sql");
    const home = new URL("../../sql/", import.meta.url);
    const files = readdirSync(home, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".sql"));
    expect(files.length).toBeGreaterThan(100);
    for (const file of files)
      expect(script.includes(readFileSync(new URL(file, home), "utf8")), `sql/${file} is in the script`).toBe(true);
  });

  it("makes a schema that works, beside the other [#122]", async () => {
    const engine = new Engine({ pool: db.pool, schema: "by_script" });
    await engine.check();
    const { id } = await engine.enqueue({ type: "t" });
    expect(await new Engine({ pool: db.pool, schema: "by_function" }).get(id)).toBeNull();
    const [job] = await engine.claim();
    await engine.complete(job!);
    expect((await engine.get(id))?.job.state).toBe("succeeded");
  });

  it("leaves nothing behind when it fails half-way [#122]", async () => {
    const connection = await db.connect();
    const broken = migrationScript({ schema: "by_halves" }).replace("commit;", "select 1 / 0;\ncommit;");
    await expect(connection.query(broken)).rejects.toMatchObject({ code: "22012" });
    await connection.query("rollback");
    expect(await db.sql("select 1 from pg_namespace where nspname = 'by_halves'")).toEqual([]);
  });
});
