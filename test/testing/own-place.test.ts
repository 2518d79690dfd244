import { spawn } from "node:child_process";
import { once } from "node:events";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { Millrace, defineJob, migrate } from "../../src/index.js";
import { createTestMill } from "../../src/testing/index.js";

const mail = defineJob<{ to: string }>("mail");
const url = inject("serverUrl");
const testing = new URL("../../dist/testing/index.js", import.meta.url).href;
let pool: pg.Pool;
beforeAll(() => {
  pool = new pg.Pool({ connectionString: url, max: 2 });
});
afterAll(() => pool.end());

const schemas = async (like: string): Promise<string[]> =>
  (await pool.query("select nspname from pg_namespace where nspname like $1", [like])).rows.map((row) => row.nspname);

describe("createTestMill removes only what it has made", () => {
  it("refuses a live schema, and leaves its jobs and its worker alone", async () => {
    const schema = "somebodys_queue";
    await migrate(pool, { schema });
    const mill = new Millrace({ connection: url, schema });
    const worker = mill.worker({ pollInterval: 50 }).handle(mail, () => {});
    await worker.start();
    const first = await mill.enqueue(mail, { to: "ada" });
    await mill.result(first, { timeout: "20s" });

    await expect(createTestMill({ url, schema })).rejects.toMatchObject({
      code: "MR001",
      message: expect.stringContaining(`"${schema}" was not made by createTestMill`),
      remedy: "leave `schema` out, or give a name that nobody uses",
    });

    const second = await mill.enqueue(mail, { to: "grace" });
    await mill.result(second, { timeout: "20s" });
    expect(await mill.jobs.list()).toHaveLength(2);
    await mill.close();
    await pool.query(`drop schema ${schema} cascade`);
  });

  it("refuses a schema that holds anything else", async () => {
    await pool.query("create schema accounts; create table accounts.ledger as select 1 as entry");
    await expect(createTestMill({ url, schema: "accounts" })).rejects.toMatchObject({ code: "MR001" });
    expect((await pool.query("select entry from accounts.ledger")).rows).toEqual([{ entry: 1 }]);
    await pool.query("drop schema accounts cascade");
  });

  it("gives each test a schema of its own, which is gone after it", async () => {
    const [one, other] = await Promise.all([createTestMill({ url }), createTestMill({ url })]);
    expect(one.mill.engine.schema).not.toBe(other.mill.engine.schema);
    await one.mill.enqueue(mail, { to: "ada" });
    expect(await other.enqueued()).toEqual([]);
    const names = [one.mill.engine.schema, other.mill.engine.schema];
    await Promise.all([one.close(), other.close()]);
    await one.close();
    const left = await schemas("millrace_test_%");
    expect(left.filter((name) => names.includes(name))).toEqual([]);
  });

  it("refuses a name that another test uses, and takes over what a killed one left", async () => {
    const schema = "named_by_a_test";
    const source = `
      import { createTestMill } from "${testing}";
      await createTestMill({ url: ${JSON.stringify(url)}, schema: "${schema}" });
      console.log("ready");`;
    const other = spawn(process.execPath, ["--input-type=module", "-e", source], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(other.stdout, "data");
    await expect(createTestMill({ url, schema })).rejects.toMatchObject({
      message: expect.stringContaining("another test uses the schema"),
    });
    other.kill("SIGKILL");
    await once(other, "exit");
    const isFree = async (): Promise<boolean> =>
      (
        await pool.query(
          "select from pg_locks where locktype = 'advisory' and objid = (hashtextextended($1, 0) & 4294967295)::oid",
          [`millrace test ${schema}`],
        )
      ).rows.length === 0;
    await expect.poll(isFree, { timeout: 20_000 }).toBe(true);

    const test = await createTestMill({ url, schema });
    expect(await test.enqueued()).toEqual([]);
    await test.close();
    expect(await schemas(schema)).toEqual([]);
  });

  it("drops schemas that tests of another day left, and no others", async () => {
    const [old, young, strange] = ["millrace_test_old", "millrace_test_young", "millrace_test_strange"];
    for (const name of [old, young, strange]) await pool.query(`create schema ${name}`);
    await pool.query(`comment on schema ${old} is 'made by createTestMill at 2026-01-02 03:04:05+00'`);
    await pool.query(
      `do $$ begin execute format('comment on schema ${young} is %L', 'made by createTestMill at ' || now()); end $$`,
    );
    const test = await createTestMill({ url });
    await test.close();
    expect((await schemas("millrace_test_%")).filter((name) => [old, young, strange].includes(name))).toEqual([
      young,
      strange,
    ]);
    await pool.query(`drop schema ${young}, ${strange}`);
  });
});

describe("without a url", () => {
  it("tests of a process share one server, with a database each, and the process ends by itself", async () => {
    const source = `
      import { createTestMill } from "${testing}";
      const one = await createTestMill();
      const other = await createTestMill();
      await one.mill.enqueue("mail", {});
      console.log(one.server === other.server, (await one.enqueued()).length, (await other.enqueued()).length);
      await one.close();
      await other.close();
      const third = await createTestMill();
      console.log(third.server === one.server, one.server.pid);
      await third.close();`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", source], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let said = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (said += text));
    const [code] = await once(child, "exit");
    expect(code).toBe(0);
    expect(said).toMatch(/^true 1 0\ntrue \d+\n$/);
    const pid = Number(said.split(" ").at(-1));
    await expect.poll(() => isAlive(pid), { timeout: 20_000 }).toBe(false);
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
