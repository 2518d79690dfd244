import { once } from "node:events";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Millrace } from "../../src/client/with-workers.js";
import { useDatabase } from "../support/database.js";
import { claimOne, enqueue, newQueue, stateOf } from "../support/jobs.js";
import { suspend } from "../support/runs.js";

const db = useDatabase();

/** A pool that counts the questions after the end of transactions. */
class CountingPool extends pg.Pool {
  asked = 0;
  override query(...given: unknown[]): never {
    if (JSON.stringify(given[0]).includes("pg_xact_status")) this.asked += 1;
    return super.query(...(given as [string])) as never;
  }
}

let pool: CountingPool;
let mill: Millrace;
let ear: pg.Client;
const heard: string[] = [];
beforeEach(async () => {
  pool = new CountingPool({ connectionString: db.url, max: 3 });
  mill = new Millrace({ connection: pool });
  ear = new pg.Client({ connectionString: db.url });
  await ear.connect();
  heard.length = 0;
  ear.on("notification", ({ payload }) => heard.push(payload!));
  await ear.query('listen "millrace:millrace"');
});
afterEach(async () => {
  await mill.close();
  await pool.end();
  await ear.end();
});

async function begin(): Promise<pg.Client> {
  const client = await db.connect();
  await client.query("begin");
  return client;
}

describe("workers are woken when a caller's transaction has committed", () => {
  it("by this process, once, and not before; then nothing is asked any more", async () => {
    const tx = await begin();
    await mill.enqueue("order", 1, { tx });
    await mill.enqueueMany("order", [2, 3], { tx });
    await expect.poll(() => pool.asked).toBeGreaterThan(2);
    expect(heard).toEqual([]);
    const told = once(ear, "notification");
    await tx.query("commit");
    await told;
    expect(heard).toEqual(["default"]);
    const { asked } = pool;
    await mill.enqueue("order", 4); // a commit of our own needs no question
    await expect.poll(() => heard.length).toBe(2);
    expect(pool.asked).toBe(asked);
  });

  it("not when it was rolled back, which ends the questions", async () => {
    const tx = await begin();
    await mill.enqueue("order", 1, { tx });
    await tx.query("rollback");
    await expect.poll(() => pool.asked).toBeGreaterThan(0);
    const { asked } = pool;
    const other = await begin();
    await mill.enqueue("order", 2, { queue: "default", tx: other });
    await other.query("commit");
    await expect.poll(() => heard).toEqual(["default"]); // of the second alone
    expect(pool.asked).toBeGreaterThan(asked);
  });

  it("when what was prepared is committed", async () => {
    const tx = await begin();
    await mill.enqueue("order", 1, { tx });
    await tx.query("prepare transaction 'commit watch'");
    const { asked } = pool;
    await expect.poll(() => pool.asked).toBeGreaterThan(asked + 2);
    expect(heard).toEqual([]);
    await tx.query("commit prepared 'commit watch'");
    await expect.poll(() => heard).toEqual(["default"]);
  });

  it("also where the transaction has the only connection of the pool", async () => {
    const small = new CountingPool({ connectionString: db.url, max: 1 });
    const own = new Millrace({ connection: small });
    const tx = await small.connect();
    await tx.query("begin");
    await own.enqueue("order", 1, { tx });
    await tx.query("select pg_sleep(0.05)");
    expect(small.asked).toBe(0); // it does not stand in line
    await tx.query("commit");
    tx.release();
    await expect.poll(() => heard).toEqual(["default"]);
    await own.close();
    await small.end();
  });

  it("before the client is closed", async () => {
    const tx = await begin();
    await mill.enqueue("order", 1, { tx });
    await tx.query("commit");
    await mill.close();
    await ear.query("select 1"); // what was sent before is heard by now
    expect(heard).toEqual(["default"]);
  });

  it("with one question for all that are open, less and less often", async () => {
    const open = await Promise.all(Array.from({ length: 30 }, begin));
    for (const tx of open) await mill.enqueue("order", 1, { tx });
    await ear.query("select pg_sleep(1)");
    const { asked } = pool;
    expect(asked).toBeGreaterThan(3);
    expect(asked).toBeLessThan(100); // 30 transactions, each asked for alone every 10 ms, would be 3000
    await Promise.all(open.map((tx) => tx.query("rollback")));
    expect(heard).toEqual([]);
  });

  it("from inside of it, when that is asked for, and without a question", async () => {
    const tx = await begin();
    await mill.enqueue("order", 1, { tx, notify: true });
    await tx.query("commit");
    await expect.poll(() => heard).toEqual(["default"]);
    expect(pool.asked).toBe(0);
  });
});

describe("what a caller's transaction has told goes to who waits for it when that has committed, with no worker there", () => {
  /** The next notification says that a job may go on: which only a delivery sends. */
  async function heardAfterCommit(tx: pg.Client): Promise<string> {
    await expect.poll(() => pool.asked).toBeGreaterThan(0);
    expect(heard).toEqual([]);
    const told = once(ear, "notification") as Promise<[{ payload: string }]>;
    await tx.query("commit");
    return (await told)[0].payload;
  }

  /** A job of a new queue that waits for the signal "paid". */
  async function waiting(token?: string): Promise<{ queue: string; id: string; token: string }> {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue);
    const job = await claimOne(db, queue);
    const given = token === undefined ? "" : await db.engine.stepToken(job, "#token paid", "paid", 60);
    await suspend(db, job, [{ key: "paid", signals: ["paid"] }]);
    await db.engine.noticesDeliver();
    return { queue, id, token: given };
  }

  it("a signal [#197]", async () => {
    const { queue, id } = await waiting();
    const tx = await begin();
    expect(await mill.tell(id, "paid", 5, { tx, id: "hook-1" })).toBe(true);
    expect(await mill.tell(id, "paid", 5, { tx, id: "hook-1" })).toBe(false);
    expect(await heardAfterCommit(tx)).toBe(queue);
    expect(await stateOf(db, id)).toBe("ready");
  });

  it("an answer", async () => {
    const { queue, token } = await waiting("token");
    const tx = await begin();
    await mill.answer(token, { by: "ann" }, { tx });
    expect(await heardAfterCommit(tx)).toBe(queue);
  });

  it("a flow, after jobs that have ended, in all of its queues", async () => {
    const ended = await enqueue(db, await newQueue(db));
    await db.engine.cancel([ended]);
    const queues = [await newQueue(db), await newQueue(db)];
    const tx = await begin();
    const flow = mill.flow();
    flow.add("first", null, { queue: queues[0]! });
    flow.add("second", null, { queue: queues[1]!, after: [ended], when: "ended" });
    const { jobs } = await flow.enqueue({ tx });
    await heardAfterCommit(tx);
    await expect.poll(() => heard.toSorted()).toEqual(expect.arrayContaining(queues.toSorted()));
    await mill.close(); // what is on its way arrives first
    expect(await stateOf(db, jobs[1]!)).toBe("ready");
  });

  it("the cancel of a job that another waits for", async () => {
    const flow = mill.flow();
    const queue = await newQueue(db);
    const first = flow.add("first", null, { queue });
    flow.add("last", null, { queue, after: [first], when: "failed" });
    const { jobs } = await flow.enqueue();
    await mill.close();
    await ear.query("select 1");
    heard.length = 0;
    mill = new Millrace({ connection: pool });
    const tx = await begin();
    await mill.cancel(jobs[0]!, { tx });
    expect(await heardAfterCommit(tx)).toBe(queue);
    expect(await stateOf(db, jobs[1]!)).toBe("ready");
  });

  it("not what was rolled back [#197]", async () => {
    const { id } = await waiting();
    const tx = await begin();
    await mill.tell(id, "paid", 5, { tx });
    await tx.query("rollback");
    await mill.close();
    await ear.query("select 1");
    expect(heard).toEqual([]);
    expect(await stateOf(db, id)).toBe("suspended");
  });
});
