import { expect, it } from "vitest";
import { Millrace } from "../../src/client/with-workers.js";
import { useDatabase } from "../support/database.js";

const [first, second] = [useDatabase(), useDatabase()];
const tenants = Array.from({ length: 12 }, (_, n) => `tenant-${n}`);

it("[#226] tenants of a cell that was used alone stay in it when others come", async () => {
  const alone = new Millrace({ connection: first.url, logger: false });
  await alone.queues.put("mails", { spread: "tenant" });
  await expect(alone.enqueue("send", {}, { queue: "mails" })).rejects.toMatchObject({ code: "MR001" });
  for (const tenant of tenants) await alone.enqueue("send", {}, { queue: "mails", tenant, fingerprint: tenant });
  await alone.close();

  // a copy of a database is the same cell, until it is told otherwise
  await second.sql("update cell_self set id = gen_random_uuid()");
  const mill = new Millrace({ cells: { a: first.url, b: second.url }, logger: false });
  await mill.cells!.add("b");
  for (const tenant of tenants) {
    expect(await mill.cells!.whereIs("mails", tenant)).toBe("a");
    const again = await mill.enqueue("send", {}, { queue: "mails", tenant, fingerprint: tenant });
    expect(again.duplicate).toBe(true);
  }
  const others = await Promise.all(tenants.map((tenant) => mill.cells!.whereIs("mails", `new ${tenant}`)));
  expect(new Set(others)).toEqual(new Set(["a", "b"]));
  await mill.close();
});

it("[#225] a queue that is not spread asks nothing about tenants", async () => {
  await first.engine.queuePut("plain", { maxAttempts: 3 });
  const client = await first.connect();
  await client.query("set track_functions = 'all'");
  await client.query("begin");
  const enqueue = (queue: string, options: object): Promise<unknown> =>
    client.query("select job_enqueue('send', '{}', $1)", [JSON.stringify({ queue, ...options })]);
  const calls = async (): Promise<number> => {
    const asked = await client.query(
      `select coalesce(sum(calls), 0)::int as n from pg_stat_xact_user_functions
        where funcname in ('tenants_check', 'tenants_here', 'tenants_place', 'queue_room')`,
    );
    return asked.rows[0].n as number;
  };
  await enqueue("plain", {});
  await enqueue("plain", { tenant: "acme", priority: 2 });
  await enqueue("default", { tenant: "acme" });
  expect(await calls()).toBe(0);
  await enqueue("mails", { tenant: tenants[0] });
  expect(await calls()).toBe(2);
  await client.query("rollback");
});
