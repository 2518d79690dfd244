import type pg from "pg";
import { describe, expect, it } from "vitest";
import { useDatabase } from "../support/database.js";
import { newQueue } from "../support/jobs.js";

// what others announce, lose or make due on a shared server sends a claim the general way
const db = useDatabase({ ownServer: true });

/** Claim one, and tell how it went: which of the two ways answered. */
async function claimOne(queue: string, types?: readonly string[]) {
  const tx = await db.connect();
  await tx.query("set track_functions = 'all'; begin");
  const [job] = await db.engine.claim({ queues: [queue], limit: 1, ...(types && { types }) }, { tx });
  const { rows } = await tx.query("select 1 from pg_stat_xact_user_functions where funcname = 'lane_candidates'");
  await tx.query("commit");
  return { job, isExpress: rows.length === 0 };
}

/** A queue that was claimed from once, so that claims of one know their lane. */
async function knownQueue(options: Parameters<typeof db.engine.queuePut>[1] = {}): Promise<string> {
  const queue = await newQueue(db, options);
  await db.engine.enqueueMany("t", [1, 2, 3, 4, 5, 6], { queue });
  expect(await db.engine.claim({ queues: [queue], limit: 1 })).toHaveLength(1);
  return queue;
}

describe("the express claim", () => {
  it("answers as the general one does, in the same order", async () => {
    const queue = await knownQueue();
    await db.engine.enqueue({ type: "t", queue, input: { a: 1 }, headers: { h: 1 }, tenant: "x", maxAttempts: 3 });
    for (const input of [2, 3, 4, 5, 6]) {
      const { job, isExpress } = await claimOne(queue);
      expect(isExpress).toBe(true);
      expect(job).toMatchObject({ type: "t", queue, input, attempt: 1, maxAttempts: 25 });
      expect(await db.engine.completeMany(job!.token, [job!.id])).toEqual([]);
    }
    const { job, isExpress } = await claimOne(queue);
    expect(isExpress).toBe(true);
    expect(job).toMatchObject({ input: { a: 1 }, headers: { h: 1 }, tenant: "x", maxAttempts: 3 });
    expect((await claimOne(queue)).job).toBeUndefined();
  });

  it("takes all there is when that is one ticket, and leaves more than one to the general one", async () => {
    const queue = await knownQueue();
    expect(await db.engine.claim({ queues: [queue], limit: 50 })).toHaveLength(5);
    await db.engine.enqueue({ type: "t", queue });
    await db.engine.enqueue({ type: "t", queue });
    expect(await db.engine.claim({ queues: [queue], limit: 50 })).toHaveLength(2);
    await db.engine.enqueue({ type: "t", queue });
    expect(await db.engine.claim({ queues: [queue], limit: 50 })).toHaveLength(1);
  });

  it("gives up what it learned when anything changes that claims go by", async () => {
    const changes: Record<string, readonly [change: (queue: string) => Promise<unknown>, jobs: number]> = {
      "a limit of the queue": [(queue) => db.engine.queuePut(queue, { maxRunning: 1 }), 0],
      "a limit of the type": [() => db.engine.typePut("t", { maxRunning: 1 }), 0],
      "a pause of the queue": [(queue) => db.engine.queuePause(queue), 0],
      "a pause of the type": [(queue) => db.engine.queuePause(queue, { type: "t" }), 0],
      "a backlog that is set aside": [(queue) => db.engine.queueSetAside(queue), 1],
      "jobs that are shed": [(queue) => db.engine.queueShed(queue, new Date(Date.now() + 60_000)), 0],
      "a breaker": [(queue) => db.engine.queuePut(queue, { breaker: { failures: 1, pauseSeconds: 60 } }), 1],
      "another lane": [(queue) => db.engine.enqueue({ type: "u", queue, priority: 1 }), 1],
    };
    for (const [name, [change, jobs]] of Object.entries(changes)) {
      const queue = await knownQueue();
      expect((await claimOne(queue)).isExpress, name).toBe(true);
      await change(queue);
      const { job, isExpress } = await claimOne(queue);
      expect({ name, isExpress, jobs: job ? 1 : 0 }).toEqual({ name, isExpress: false, jobs });
      if (name === "another lane") expect(job).toMatchObject({ type: "u", priority: 1 });
      if (name === "a limit of the type") await db.engine.typePut("t", { maxRunning: null });
    }
  });

  it("sees changes that are committed in another order than they were begun in", async () => {
    const queue = await knownQueue();
    const [first, second] = [await db.connect(), await db.connect()];
    await first.query("begin");
    await db.engine.queuePut(queue, { leaseSeconds: 77 }, { tx: first });
    await second.query("begin");
    await db.engine.queuePut(await newQueue(db), { leaseSeconds: 7 }, { tx: second });
    await second.query("commit");
    expect(await db.engine.claim({ queues: [queue], limit: 1 })).toHaveLength(1); // learned between the two
    expect((await claimOne(queue)).isExpress).toBe(true);
    await first.query("commit");
    const { job, isExpress } = await claimOne(queue);
    expect(isExpress).toBe(false);
    expect(job!.leaseEndsAt.getTime() - job!.claimedAt.getTime()).toBe(77_000);
  });

  it("leaves a job that somebody holds, and what is claimable again, to the general one", async () => {
    const queue = await knownQueue();
    const { job } = await claimOne(queue);
    await db.engine.release(job!);
    const again = await claimOne(queue);
    expect(again).toMatchObject({ isExpress: false, job: { id: job!.id } });

    const holder = await db.connect();
    await holder.query("begin");
    const [next] = await db.engine.peek(queue, 1);
    await db.engine.cancel([next!.id], undefined, { tx: holder });
    const { job: other, isExpress } = await claimOne(queue);
    expect(isExpress).toBe(false);
    expect(other!.id).not.toBe(next!.id);
    await holder.query("rollback");
  });

  it("remembers transactions that were running when it passed them", async () => {
    const queue = await knownQueue();
    expect(await db.engine.claim({ queues: [queue], limit: 5 })).toHaveLength(5);
    const open = [await db.connect(), await db.connect()];
    for (const [i, tx] of open.entries()) {
      await tx.query("begin");
      await db.engine.enqueue({ type: "t", queue, input: `late ${i}` }, { tx });
    }
    await db.engine.enqueue({ type: "t", queue, input: "in time" });
    expect(await claimOne(queue)).toMatchObject({ isExpress: true, job: { input: "in time" } });
    await db.engine.enqueue({ type: "t", queue, input: "later" });
    expect(await claimOne(queue)).toMatchObject({ isExpress: true, job: { input: "later" } });
    for (const [i, tx] of open.entries()) {
      await tx.query("commit");
      expect((await claimOne(queue)).job).toMatchObject({ input: `late ${i}` });
    }
    expect((await claimOne(queue)).job).toBeUndefined();
  });

  it("is for the types it was asked for", async () => {
    const queue = await knownQueue();
    await db.engine.enqueue({ type: "v", queue });
    for (const types of [["v"], ["t"]])
      expect(await db.engine.claim({ queues: [queue], limit: 1, types })).toHaveLength(1);
    await db.engine.enqueue({ type: "v", queue });
    expect(await claimOne(queue, ["v"])).toMatchObject({ isExpress: true, job: { type: "v" } });
    expect(await claimOne(queue, ["t"])).toMatchObject({ isExpress: true, job: { type: "t" } });
    expect(await claimOne(queue, ["w"])).toMatchObject({ job: undefined });
  });

  it("takes the next of a few lanes: the most urgent, then the oldest", async () => {
    const queue = await newQueue(db);
    const add = (type: string, priority = 5): Promise<unknown> =>
      db.engine.enqueue({ type, priority, queue, input: `${type}${priority}` });
    const lanes: [string, number?][] = [["t"], ["u"], ["t", 1], ["v"], ["w", 9], ["u", 1], ["v", 2], ["w"]];
    for (const lane of lanes) await add(...lane);
    expect(await db.engine.claim({ queues: [queue], limit: 8 })).toHaveLength(8);
    for (const lane of lanes) await add(...lane);
    await db.engine.claim({ queues: [queue], limit: 1 }); // one claim learns
    for (const input of ["u1", "v2", "t5", "u5", "v5", "w5", "w9"])
      expect(await claimOne(queue)).toMatchObject({ isExpress: true, job: { input } });
    expect((await claimOne(queue)).job).toBeUndefined();
    await add("w", 0); // a ninth
    await add("v", 2);
    expect((await db.engine.claim({ queues: [queue], limit: 1 }))[0]).toMatchObject({ input: "w0" });
    expect(await claimOne(queue)).toMatchObject({ isExpress: false, job: { input: "v2" } });
  });

  it("takes more than one job where one lane has something, and leaves it to the general one where several have", async () => {
    const queue = await newQueue(db);
    const jobs = async (type: string): Promise<unknown> => db.engine.enqueueMany(type, [1, 2, 3], { queue });
    const take = async (limit: number) => {
      const tx = await db.connect();
      await tx.query("set track_functions = 'all'; begin");
      const claimed = await db.engine.claim({ queues: [queue], limit }, { tx });
      const { rows } = await tx.query("select 1 from pg_stat_xact_user_functions where funcname = 'lane_candidates'");
      await tx.query("commit");
      return { types: claimed.map(({ type }) => type).join(""), isExpress: rows.length === 0 };
    };
    await jobs("t");
    await jobs("u");
    expect(await db.engine.claim({ queues: [queue], limit: 6 })).toHaveLength(6);
    await db.engine.claim({ queues: [queue], limit: 1 });
    await jobs("u");
    expect(await take(3)).toEqual({ types: "uuu", isExpress: true });
    await jobs("t");
    await jobs("u");
    expect(await take(5)).toEqual({ types: "tttuu", isExpress: false });
    expect(await take(5)).toEqual({ types: "u", isExpress: true });
  });

  it("does not wait for one of several lanes that a claim in an open transaction has", async () => {
    const queue = await newQueue(db);
    const add = (type: string): Promise<unknown> => db.engine.enqueue({ type, queue, input: type });
    for (const type of ["t", "u", "t", "t", "u"]) await add(type);
    for (let n = 0; n < 2; n += 1) await db.engine.claim({ queues: [queue], limit: 1 });
    const holder = await db.connect();
    await holder.query("begin");
    expect(await db.engine.claim({ queues: [queue], limit: 1 }, { tx: holder })).toMatchObject([{ input: "t" }]);
    expect(await db.engine.claim({ queues: [queue], limit: 1 })).toMatchObject([{ input: "u" }]);
    await holder.query("rollback");
    expect(await claimOne(queue)).toMatchObject({ job: { input: "t" } });
  });

  it("of several lanes leaves what is claimable again, and what came late, to the general one, in its turn", async () => {
    const queue = await newQueue(db);
    const add = (type: string, tx?: pg.Client): Promise<unknown> =>
      db.engine.enqueue({ type, queue, input: type }, tx ? { tx } : undefined);
    await add("t");
    await add("u");
    const first = await db.engine.claim({ queues: [queue], limit: 1 });
    expect(await db.engine.claim({ queues: [queue], limit: 1 })).toHaveLength(1);
    await add("u");
    await db.engine.release(first[0]!);
    expect(await claimOne(queue)).toMatchObject({ isExpress: false, job: { id: first[0]!.id } });
    expect(await claimOne(queue)).toMatchObject({ isExpress: true, job: { input: "u" } });
    const open = await db.connect();
    await open.query("begin");
    await add("t", open);
    await add("t");
    await add("u");
    expect(await claimOne(queue)).toMatchObject({ isExpress: true, job: { input: "t" } });
    await open.query("commit");
    expect(await claimOne(queue)).toMatchObject({ isExpress: false, job: { input: "t" } });
    expect(await claimOne(queue)).toMatchObject({ job: { input: "u" } }); // the general one forgets who was late
    await add("u");
    expect(await claimOne(queue)).toMatchObject({ isExpress: true, job: { input: "u" } });
  });

  it("knows requests for very many types, and forgets what it learned of too many requests", async () => {
    const queue = await knownQueue();
    const types = ["t", ...Array.from({ length: 400 }, () => crypto.randomUUID())];
    expect(await db.engine.claim({ queues: [queue], limit: 1, types })).toHaveLength(1);
    expect(await claimOne(queue, types)).toMatchObject({ isExpress: true, job: { type: "t" } });
    await db.sql(`insert into millrace.express_lane (asked, epoch)
      select i::text, (select sum(n) from millrace.rule_change) from generate_series(1, 1000) i`);
    expect(await db.engine.claim({ queues: [queue], limit: 1, types: ["t", "other"] })).toHaveLength(1);
    const [row] = await db.sql("select count(*)::int as n from millrace.express_lane");
    expect(row!["n"]).toBeLessThan(10);
  });

  it("forgets changes in upkeep, and not what they add up to", async () => {
    const epoch = async () =>
      (await db.sql("select sum(n)::text as sum, count(*)::int as n from millrace.rule_change"))[0]!;
    for (let i = 0; i < 30; i += 1) await newQueue(db);
    const before = await epoch();
    expect(before["n"]).toBeGreaterThan(20);
    await db.engine.maintain();
    const after = await epoch();
    expect(after["n"]).toBeLessThan(5);
    expect(after["sum"]).toBe(before["sum"]);
  });
});
