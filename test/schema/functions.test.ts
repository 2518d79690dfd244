import { describe, expect, it } from "vitest";
import { useDatabase } from "../support/database.js";

const db = useDatabase();
const ours = "p.pronamespace = 'millrace'::regnamespace and l.lanname = 'plpgsql'";

describe("every function", () => {
  it("in PL/pgSQL passes plpgsql_check where the server has it, else PostgreSQL's own validator", async () => {
    const [available] = await db.sql("select from pg_available_extensions where name = 'plpgsql_check'");
    if (available) {
      await db.sql("create extension if not exists plpgsql_check schema public");
      const findings = await db.sql(`
        select p.proname, c.level, c.lineno, c.message from pg_proc p join pg_language l on l.oid = p.prolang,
               lateral public.plpgsql_check_function_tb(p.oid, extra_warnings => false, performance_warnings => false, other_warnings => false) c
         where ${ours} and c.level = 'error'`);
      expect(findings).toEqual([]);
    } else {
      const client = await db.connect();
      await client.query("set check_function_bodies = on; set plpgsql.extra_errors = 'all'");
      const { rows } = await client.query(
        `select plpgsql_validator(p.oid) from pg_proc p join pg_language l on l.oid = p.prolang where ${ours}`,
      );
      expect(rows.length).toBeGreaterThan(50);
    }
  });

  it("in SQL has a body that PostgreSQL accepts", async () => {
    const client = await db.connect();
    await client.query("set check_function_bodies = on; set search_path = millrace, pg_temp");
    const { rows } = await client.query(`
      select fmgr_sql_validator(p.oid) from pg_proc p join pg_language l on l.oid = p.prolang
       where p.pronamespace = 'millrace'::regnamespace and l.lanname = 'sql'`);
    expect(rows.length).toBeGreaterThan(50);
  });

  it("that is public pins its search path and runs with its owner's rights; nothing is open to everybody", async () => {
    const open = await db.sql(
      "select p.proname from pg_proc p where p.pronamespace = 'millrace'::regnamespace and has_function_privilege('public', p.oid, 'execute')",
    );
    expect(open).toEqual([]);
    const loose = await db.sql(`
      select p.proname from pg_proc p where p.pronamespace = 'millrace'::regnamespace and p.prosecdef
         and not coalesce(array_to_string(p.proconfig, ';') like '%search_path=millrace, pg_temp%', false)`);
    expect(loose).toEqual([]);
  });

  // Up to PostgreSQL 17 a scan that was turned off costs so much on paper that the server compiles the plan: 100 ms and
  // more for each claim.
  it("that is public is never compiled just in time", async () => {
    const compiled = await db.sql(`
      select p.proname from pg_proc p where p.pronamespace = 'millrace'::regnamespace and p.prosecdef and not 'jit=off' = any (p.proconfig)`);
    expect(compiled).toEqual([]);
  });
});
