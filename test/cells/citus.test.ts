import { execFile } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Millrace } from "../../src/index.js";
import { Engine } from "../../src/db/engine.js";
import { AnchorError, CellDistributedError } from "../../src/db/errors.js";
import { migrate } from "../../src/db/migrate.js";
import { millrace } from "../cli/cli.js";
import { until } from "../support/wait.js";

/** A coordinator with two nodes or more. docs/moving-queues.md says how to get one. */
const coordinatorUrl = process.env["CITUS_URL"] ?? "";
/** A command that ends a node as a crash does, and starts it again; its port is added. */
const crash = process.env["CITUS_CRASH"];
const tries = Number(process.env["CITUS_TRIES"] ?? 1000);
const schema = `mill_${process.pid}`;
const tenants = [`tenant_${process.pid}_a`, `tenant_${process.pid}_b`] as const;
const anchors = tenants.map((tenant) => `${tenant}.here`);

describe.skipIf(coordinatorUrl === "")("on Citus", { timeout: 600_000 }, () => {
  const pools = new Map<string, pg.Pool>();
  /** Of each tenant, the node it lives on. */
  const home = new Map<string, string>();
  let mill: Millrace;
  const pool = (name = coordinatorUrl): pg.Pool => pools.get(name)!;
  const nodes = (): string[] => [...pools.keys()].filter((url) => url !== coordinatorUrl);
  const engine = (url: string): Engine => new Engine({ pool: pool(url), schema });
  const sql = async (url: string, text: string, values?: unknown[]): Promise<Record<string, any>[]> =>
    (await pool(url).query(text, values)).rows as Record<string, any>[];

  beforeAll(async () => {
    pools.set(coordinatorUrl, newPool(coordinatorUrl));
    for (const { nodename, nodeport } of await sql(
      coordinatorUrl,
      "select nodename, nodeport from pg_dist_node where noderole = 'primary' and groupid > 0 order by nodeport",
    )) {
      const url = new URL(coordinatorUrl);
      [url.hostname, url.port] = [String(nodename), String(nodeport)];
      pools.set(url.href, newPool(url.href));
    }
    for (const one of pools.values()) await migrate(one, { schema });
    for (const [i, tenant] of tenants.entries()) {
      await sql(coordinatorUrl, `create schema ${tenant}`);
      await sql(coordinatorUrl, `select citus_schema_distribute('${tenant}')`);
      await sql(coordinatorUrl, `create table ${tenant}.orders (id int primary key)`);
      const made = await millrace(["cells", "anchor", tenant], { url: coordinatorUrl });
      expect(made).toMatchObject({ code: 0, stderr: "" });
      const node = new URL(nodes()[i]!);
      const [at] = await place(tenant);
      if (at!["nodeport"] !== Number(node.port))
        await sql(coordinatorUrl, "select citus_schema_move($1::regnamespace, $2, $3, 'block_writes')", [
          tenant,
          node.hostname,
          Number(node.port),
        ]);
      home.set(tenant, node.href);
    }
    mill = new Millrace({ connection: coordinatorUrl, schema });
  }, 120_000);

  afterAll(async () => {
    await mill?.close();
    if (pools.size > 0)
      for (const tenant of tenants) await sql(coordinatorUrl, `drop schema if exists ${tenant} cascade`);
    for (const one of pools.values()) {
      const client = await one.connect();
      await client.query("set citus.enable_ddl_propagation = off");
      await client.query(`drop schema if exists ${schema} cascade`);
      client.release();
      await one.end();
    }
  });

  const place = (tenant: string): Promise<Record<string, any>[]> =>
    sql(coordinatorUrl, "select nodename, nodeport from citus_shards where table_name = $1::regclass", [
      `${tenant}.here`,
    ]);

  /** Do something in a transaction of the coordinator. */
  async function inTransaction<T>(work: (tx: pg.PoolClient) => Promise<T>): Promise<T> {
    const client = await pool().connect();
    try {
      await client.query("begin");
      const result = await work(client);
      await client.query("commit");
      return result;
    } catch (error) {
      await client.query("rollback").catch(() => {});
      throw error;
    } finally {
      client.release();
    }
  }

  const inputs = async (url: string, type: string): Promise<number[]> =>
    (await sql(url, `select input::text::int as input from ${schema}.jobs where type = $1 order by 1`, [type])).map(
      ({ input }) => input as number,
    );

  it("migrate installs a plain cell on every node, and Citus knows nothing of it [#220]", async () => {
    for (const url of pools.keys()) {
      expect(
        await sql(
          url,
          `select p.logicalrelid from pg_dist_partition p join pg_class c on c.oid = p.logicalrelid
            where c.relnamespace = $1::regnamespace`,
          [schema],
        ),
      ).toEqual([]);
      expect(
        await sql(
          url,
          "select from pg_dist_object where classid = 'pg_namespace'::regclass and objid = $1::regnamespace",
          [schema],
        ),
      ).toEqual([]);
      await engine(url).check();
      await engine(url).enqueue({ type: "plain" });
      expect(await engine(url).claim({ types: ["plain"] })).toHaveLength(1);
    }
  });

  it("a cell whose tables were distributed is refused at start [#222]", async () => {
    const own = `${schema}_distributed`;
    await migrate(pool(), { schema: own });
    await sql(coordinatorUrl, `select create_reference_table('${own}.day_calendar')`);
    const distributed = new Engine({ pool: pool(), schema: own });
    await expect(distributed.check()).rejects.toThrow(CellDistributedError);
    await expect(distributed.check()).rejects.toMatchObject({ code: "MR034", message: /Citus has distributed/ });
    await sql(coordinatorUrl, `drop schema ${own} cascade`);
  });

  it("an anchored enqueue commits and rolls back with the rows, and is a job of the node [#231]", async () => {
    const both = async (input: number, fails: boolean): Promise<void> =>
      inTransaction(async (tx) => {
        for (const [i, tenant] of tenants.entries()) {
          await tx.query(`insert into ${tenant}.orders values ($1)`, [input]);
          await mill.enqueue("anchored", input, { tx, near: anchors[i]! });
          await mill.enqueueMany("anchored many", [input, input + 1000], { tx, near: anchors[i]!, priority: 3 });
        }
        if (fails) throw new Error("taken back");
      });
    await both(1, false);
    await expect(both(2, true)).rejects.toThrow("taken back");
    await both(3, false);
    for (const tenant of tenants) {
      const url = home.get(tenant)!;
      expect(await sql(coordinatorUrl, `select id from ${tenant}.orders order by 1`)).toEqual([{ id: 1 }, { id: 3 }]);
      expect(await inputs(url, "anchored")).toEqual([1, 3]);
      expect(await inputs(url, "anchored many")).toEqual([1, 3, 1001, 1003]);
      // the number is one that this very server has given
      expect(
        await sql(
          url,
          `select pg_xact_status(t.xid::text::xid8) as status from ${schema}.ticket t
             join ${schema}.job j on j.id = any (t.jobs) where j.type = 'anchored'`,
        ),
      ).toEqual([{ status: "committed" }, { status: "committed" }]);
      const jobs = await engine(url).claim({ types: ["anchored"], limit: 10 });
      expect(jobs).toHaveLength(2);
      // an end in a transaction of the coordinator
      await inTransaction((tx) =>
        engine(coordinatorUrl).complete(jobs[0]!, { ok: true }, { tx, near: `${tenant}.here` }),
      );
      await expect(
        inTransaction(async (tx) => {
          await engine(coordinatorUrl).complete(jobs[1]!, { ok: true }, { tx, near: `${tenant}.here` });
          throw new Error("taken back");
        }),
      ).rejects.toThrow("taken back");
      expect(await engine(url).get(jobs[0]!.id)).toMatchObject({ job: { state: "succeeded" } });
      expect(await engine(url).get(jobs[1]!.id)).toMatchObject({ job: { state: "running" } });
      // and a signal
      await inTransaction((tx) => mill.tell(jobs[1]!.id, "approved", { by: "ann" }, { tx, near: `${tenant}.here` }));
      expect(
        await sql(url, `select key as name from ${schema}.step where job_id = $1 and kind = 'signal'`, [jobs[1]!.id]),
      ).toEqual([{ name: "approved" }]);
    }
    expect(await inputs(coordinatorUrl, "anchored")).toEqual([]);
  });

  it("an anchor without a row, a local one and a reference table are refused, and nothing is enqueued [#233]", async () => {
    const [tenant] = tenants;
    await sql(coordinatorUrl, `create table ${tenant}.empty (only_row boolean primary key)`);
    await sql(coordinatorUrl, `create table public.local_${process.pid} (only_row boolean primary key)`);
    await sql(coordinatorUrl, `create table public.everywhere_${process.pid} (only_row boolean primary key)`);
    await sql(coordinatorUrl, `select create_reference_table('public.everywhere_${process.pid}')`);
    for (const name of [`public.local_${process.pid}`, `public.everywhere_${process.pid}`])
      await sql(coordinatorUrl, `insert into ${name} values (true)`);
    for (const near of [
      `${tenant}.empty`,
      `${tenant}.missing`,
      `public.local_${process.pid}`,
      `public.everywhere_${process.pid}`,
    ]) {
      const call = inTransaction((tx) => mill.enqueue("bad", 1, { tx, near }));
      await expect(call, near).rejects.toThrow(AnchorError);
      await expect(call).rejects.toMatchObject({ code: "MR033" });
    }
    await expect(inTransaction((tx) => mill.enqueue("bad", 1, { tx, near: "a.b; drop" }))).rejects.toMatchObject({
      code: "MR001",
    });
    await expect(mill.enqueue("bad", 1, { near: anchors[0]! })).rejects.toThrow(/near needs a transaction/);
    for (const url of pools.keys()) expect(await inputs(url, "bad")).toEqual([]);
    expect(await millrace(["cells", "anchor", "public"], { url: coordinatorUrl })).toMatchObject({ code: 2 });
    await sql(
      coordinatorUrl,
      `drop table ${tenant}.empty, public.local_${process.pid}; drop table public.everywhere_${process.pid}`,
    );
  });

  it("a transaction over nodes notifies nothing inside it, and wakes workers after its commit [#234]", async () => {
    const heard: { readonly node: string; readonly at: number }[] = [];
    const listeners: pg.Client[] = [];
    for (const tenant of tenants) {
      const listener = new pg.Client({ connectionString: home.get(tenant)! });
      await listener.connect();
      listener.on("notification", () => heard.push({ node: tenant, at: performance.now() }));
      await listener.query(`listen "millrace:${schema}"`);
      listeners.push(listener);
    }
    const delays: number[] = [];
    for (let i = 0; i < 10; i += 1) {
      heard.length = 0;
      await inTransaction(async (tx) => {
        for (const near of anchors) await mill.enqueue("woken", i, { tx, near });
        await sleep(30);
        expect(heard).toEqual([]);
      });
      const committedAt = performance.now();
      await until("both nodes are told", () => new Set(heard.map(({ node }) => node)).size === 2);
      delays.push(Math.max(...heard.map(({ at }) => at)) - committedAt);
    }
    console.log(`told after the commit, in ms: ${delays.map((ms) => ms.toFixed(0)).join(" ")}`);
    await expect(
      inTransaction((tx) => mill.enqueue("woken", 1, { tx, near: anchors[0]!, notify: true })),
    ).rejects.toMatchObject({ code: "MR001" });
    for (const listener of listeners) await listener.end();
  });

  it("rows and job are both there or neither, whatever is killed around the commit [#232]", async () => {
    let stopping = false;
    let kills = 0;
    const killer = (async () => {
      while (!stopping) {
        await sleep(Math.random() * 30);
        for (const url of nodes()) {
          const killed = await sql(
            url,
            `select pg_terminate_backend(pid) from pg_stat_activity
              where application_name like 'citus_internal%' and random() < 0.3`,
          ).catch(() => []);
          kills += killed.length;
        }
      }
    })();
    let failures = 0;
    let next = 10_000;
    const producers = [0, 1, 2, 3].map(async (n) => {
      while (next < 10_000 + tries) {
        const input = (next += 1);
        const over = input % 3 === 0 ? [0, 1] : [n % 2];
        await inTransaction(async (tx) => {
          if (input % 3 === 1) {
            // nothing is written where the job goes
            await tx.query(`insert into ${tenants[0]}.orders values ($1)`, [500_000 + input]);
            return mill.enqueue("apart", 500_000 + input, { tx, near: anchors[1]! });
          }
          for (const i of over) {
            await tx.query(`insert into ${tenants[i]!}.orders values ($1)`, [input]);
            await mill.enqueue("killed", input, { tx, near: anchors[i]! });
          }
        }).catch(() => (failures += 1));
      }
    });
    let crashed = 0;
    const crashes = (async () => {
      for (let i = 0; crash !== undefined && !stopping; i += 1) {
        await sleep(1500);
        crashed += 1;
        await promisify(execFile)("sh", ["-c", `${crash} ${new URL(nodes()[i % 2]!).port}`]);
      }
    })();
    await Promise.all(producers);
    stopping = true;
    await Promise.all([killer, crashes]);
    await until("no transaction is left in between", async () => {
      // its cached connections to the nodes may be among those that were killed
      await sql(coordinatorUrl, "select recover_prepared_transactions()").catch(() => {});
      const left = await Promise.all(nodes().map((url) => sql(url, "select from pg_prepared_xacts")));
      return left.every((rows) => rows.length === 0);
    });
    const apart = await sql(coordinatorUrl, `select id from ${tenants[0]}.orders where id > 500000 order by 1`);
    expect(await inputs(home.get(tenants[1])!, "apart")).toEqual(apart.map(({ id }) => id as number));
    const committed: number[] = [apart.length];
    for (const tenant of tenants) {
      const rows = await sql(
        coordinatorUrl,
        `select id from ${tenant}.orders where id between 10001 and 500000 order by 1`,
      );
      expect(await inputs(home.get(tenant)!, "killed")).toEqual(rows.map(({ id }) => id as number));
      committed.push(rows.length);
    }
    console.log(
      `${tries} tries, ${failures} failed; rows and jobs: ${committed.join(", ")}; ${kills} sessions killed, crashes: ${crash === undefined ? "none (CITUS_CRASH)" : crashed}`,
    );
    expect(failures).toBeGreaterThan(0);
    expect(Math.min(...committed)).toBeGreaterThan(0);
  });

  it("a tenant moves while its jobs are made and done: none is lost, none is done twice [#235]", async () => {
    const [tenant] = tenants;
    const [near] = anchors as [string];
    let stopping = false;
    let next = 0;
    const made: number[] = [];
    const done: number[] = [];
    const producers = [0, 1, 2, 3].map(async () => {
      while (!stopping) {
        const input = (next += 1);
        await inTransaction(async (tx) => {
          await tx.query(`insert into ${tenant}.orders values ($1)`, [100_000 + input]);
          await mill.enqueue("moved", input, { tx, near });
        }).then(
          () => made.push(input),
          () => {}, // refused while Citus moves the tenant, and taken back as a whole
        );
      }
    });
    const claimers = [0, 1, 2, 3].map(async (n) => {
      const one = engine(nodes()[n % 2]!);
      for (;;) {
        const jobs = await one.claim({ types: ["moved"], limit: 20 });
        if (jobs.length === 0 && stopping && (await leftOf()) === 0) return;
        for (const job of jobs) {
          await one.complete(job);
          done.push(Number(job.input));
        }
        if (jobs.length === 0) await sleep(10);
      }
    });
    const leftOf = async (): Promise<number> => {
      let left = 0;
      for (const url of nodes())
        left += Number(
          (
            await sql(url, `select count(*) as n from ${schema}.jobs where type = 'moved' and state <> 'succeeded'`)
          )[0]!["n"],
        );
      return left;
    };
    await until("there is load", () => done.length > 50);
    for (const mode of ["block_writes", "force_logical", "block_writes"]) {
      const [from] = await place(tenant);
      const target = new URL(nodes().find((url) => new URL(url).port !== String(from!["nodeport"]))!);
      const before = done.length;
      await sql(coordinatorUrl, "select citus_schema_move($1::regnamespace, $2, $3, $4::citus.shard_transfer_mode)", [
        tenant,
        target.hostname,
        Number(target.port),
        mode,
      ]);
      expect((await place(tenant))[0]!["nodeport"]).toBe(Number(target.port));
      await until("it goes on", () => done.length > before + 50);
    }
    stopping = true;
    await Promise.all(producers);
    await Promise.all(claimers);
    const byNumber = (a: number, b: number): number => a - b;
    expect(done.toSorted(byNumber)).toEqual(made.toSorted(byNumber));
    const rows = await sql(
      coordinatorUrl,
      `select id - 100000 as id from ${tenant}.orders where id between 100001 and 500000 order by 1`,
    );
    expect(rows.map(({ id }) => id as number)).toEqual(made.toSorted(byNumber));
    const perNode = await Promise.all(nodes().map((url) => inputs(url, "moved")));
    console.log(`${made.length} jobs over three moves; per node: ${perNode.map((all) => all.length).join(" and ")}`);
  });
});

function newPool(url: string): pg.Pool {
  const made = new pg.Pool({ connectionString: url, max: 12 });
  made.on("error", () => {});
  made.on("connect", (client) => client.on("error", () => {}));
  return made;
}
