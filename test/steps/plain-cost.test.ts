import { readFileSync, readdirSync } from "node:fs";
import type pg from "pg";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { useDatabase } from "../support/database.js";
import { newQueue } from "../support/jobs.js";

const db = useDatabase();

/** Tables that only durable work has; of the rings each child is one. */
const durable = "^(step|edge)(_[0-9]+)?$|^token_secret$";

/** Functions that the rooms of durable work define. */
const rooms = ["steps", "flow"].flatMap((room) => {
  const folder = new URL(`../../sql/${room}/`, import.meta.url);
  const text = readdirSync(folder)
    .filter((file) => file.endsWith(".sql"))
    .map((file) => readFileSync(new URL(file, folder), "utf8"))
    .join("\n");
  return [...text.matchAll(/create or replace function (\w+)/g)].map(([, name]) => name!);
});

let client: pg.Client;
beforeEach(async () => {
  client = await db.connect();
});
afterEach(() => client.end());

/** Every way of plain jobs, one by one and many at once, by the verbs that workers use. */
async function everyWay(queue: string): Promise<void> {
  const call = { tx: client };
  await db.engine.enqueue({ type: "one", input: 1, queue }, call);
  await db.engine.enqueueMany("many", [1, 2, 3, 4, 5, 6, 7], { queue, maxAttempts: 2 }, call);
  await db.engine.enqueueEach([{ type: "each", input: 1, queue, priority: 1, group: "g" }], call);
  await db.engine.enqueue({ type: "later", input: 1, queue, delaySeconds: 60 }, call);
  const take = async (limit: number) => db.engine.claim({ queues: [queue], limit, leaseSeconds: 30 }, call);
  const [first, ...some] = await take(4);
  await db.engine.start(first!, call);
  await db.engine.complete(first!, { done: true }, call);
  await db.engine.completeMany(some[0]!.token, [some[0]!.id], undefined, call);
  await db.engine.fail(some[1]!, { message: "no" }, call);
  await db.engine.retryLater(some[2]!, { message: "not yet" }, 0, call);
  const [second, third] = await take(2);
  await db.engine.release(second!, 0, call);
  const { rows } = await client.query("select job_settle($1, $2, true) as settled", [
    JSON.stringify([{ token: third!.token, outcome: "succeeded", jobs: [third!.id], results: [{ ok: true }] }]),
    JSON.stringify([{ queues: [queue], limit: 10 }]),
  ]); // as a worker reports, which delivers what it has told
  expect(rows[0].settled).toMatchObject({ refused: [], delivered: false });
}

describe("jobs without steps, waits or edges", () => {
  it("never touch what durable work has stored: they do not miss it when it is taken away [#211]", async () => {
    const queue = await newQueue(db);
    await client.query("begin");
    const { rows } = await client.query<{ name: string }>(
      "select relname as name from pg_class where relnamespace = 'millrace'::regnamespace and relkind in ('r', 'p') and relname ~ $1",
      [durable],
    );
    expect(rows.length).toBe(2 * 33 + 1);
    for (const { name } of rows) await client.query(`alter table millrace.${name} rename to gone_${name}`);
    await everyWay(queue);
    const { rows: touched } = await client.query(
      `select relname from pg_stat_xact_user_tables
        where relname = 'suspended_tally' and (seq_scan > 0 or idx_scan > 0 or n_tup_ins > 0)`,
    );
    expect(touched).toEqual([]);
    await client.query("rollback");
  });

  it("call no function of durable work, where a flow does [#211]", async () => {
    const queue = await newQueue(db);
    await client.query("set track_functions = 'all'");
    const called = async (work: () => Promise<unknown>): Promise<string[]> => {
      await client.query("begin");
      await work();
      const { rows } = await client.query<{ name: string }>("select funcname as name from pg_stat_xact_user_functions");
      await client.query("rollback");
      return rows.map(({ name }) => name);
    };
    const plain = await called(() => everyWay(queue));
    expect(plain).toEqual(expect.arrayContaining(["job_enqueue", "claim_detach", "job_settle"]));
    expect(plain.filter((name) => rooms.includes(name))).toEqual([]);
    const flow = await called(() => db.engine.flowEnqueue([{ type: "one", input: 1 }], {}, { tx: client }));
    expect(flow.filter((name) => rooms.includes(name))).toEqual(
      expect.arrayContaining(["flow_enqueue", "notice_append"]),
    );
  });
});
