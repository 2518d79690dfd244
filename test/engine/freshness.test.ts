import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { describe, expect, it } from "vitest";
import { useDatabase } from "../support/database.js";
import { claimIds, claimOne, enqueue, idsOf, newQueue, stateOf } from "../support/jobs.js";
import { claimAll, invalidArgument, nextTicketChild, pagesOf } from "../support/steps.js";

const db = useDatabase();
const times = (n: number): number[] => Array.from({ length: n }, (_, i) => i);
const ranges = async (): Promise<number> => (await db.sql<{ n: number }>("select count(*)::int as n from aside"))[0]!.n;

describe("what was set aside", () => {
  it("goes after everything that comes later, oldest first, range by range", async () => {
    const queue = await newQueue(db);
    const oldest = await db.engine.enqueueMany("t", [1, 2, 3], { queue });
    expect(await db.engine.queueSetAside(queue)).toBe(3);
    const older = await db.engine.enqueueMany("t", [4, 5], { queue });
    expect(await db.engine.queueSetAside(queue)).toBe(5);
    expect(await db.engine.queueSetAside(queue)).toBe(5);
    expect(await ranges()).toBe(2);
    const fresh = await db.engine.enqueueMany("t", [6, 7], { queue });
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 7 });
    expect(idsOf(await db.engine.peek(queue, 10))).toEqual(idsOf([...fresh, ...oldest]));
    expect(idsOf(await claimAll(db, queue))).toEqual(idsOf([...fresh, ...oldest, ...older]));
    expect(await ranges()).toBe(0);
    expect(await db.sql("select from lane_cursor where seq < 0")).toEqual([]);
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 0, running: 7 });
  });

  it("fills what is left of a claim", async () => {
    const queue = await newQueue(db);
    const old = await db.engine.enqueueMany("t", times(300), { queue });
    await db.engine.queueSetAside(queue);
    const fresh = await db.engine.enqueueMany("t", times(3), { queue });
    expect(await claimIds(db, queue, { limit: 200 })).toEqual(idsOf([...fresh, ...old.slice(0, 197)]));
    expect(await claimIds(db, queue, { limit: 200 })).toEqual(idsOf(old.slice(197)));
  });

  it("goes after fresh jobs of other types and less urgent ones, and within its limits", async () => {
    const queue = await newQueue(db);
    const urgent = await db.engine.enqueueMany("urgent", [1, 2, 3], { queue, priority: 0 });
    await db.engine.queueSetAside(queue);
    await db.engine.typePut("urgent", { maxRunning: 2 });
    const plain = await enqueue(db, queue, { type: "plain", priority: 9 });
    expect(idsOf(await claimAll(db, queue))).toEqual([plain, urgent[0]!.id, urgent[1]!.id]);
    await db.engine.typePut("urgent", { maxRunning: null });
    await db.engine.queuePause(queue, { type: "urgent" });
    expect(await claimIds(db, queue)).toEqual([]);
    await db.engine.queueResume(queue, { type: "urgent" });
    expect(await claimIds(db, queue)).toEqual([urgent[2]!.id]);
  });

  it("has jobs that came due and retries with the number of their attempt", async () => {
    const queue = await newQueue(db);
    const first = await enqueue(db, queue);
    await db.engine.retryLater(await claimOne(db, queue), { message: "again" }, 0);
    const due = await enqueue(db, queue, { delaySeconds: 5 });
    await db.moveClock(6);
    await db.engine.maintain();
    await db.engine.queueSetAside(queue);
    const fresh = await enqueue(db, queue);
    const jobs = await claimAll(db, queue);
    expect(jobs.map(({ id, attempt }) => [id, attempt])).toEqual([
      [fresh, 1],
      [first, 2],
      [due, 1],
    ]);
  });

  it("can be only one type", async () => {
    const queue = await newQueue(db);
    const a = await enqueue(db, queue, { type: "a" });
    const b = await enqueue(db, queue, { type: "b" });
    expect(await db.engine.queueSetAside(queue, { type: "a" })).toBe(1);
    expect(idsOf(await claimAll(db, queue))).toEqual([b, a]);
  });

  it("can be cancelled, changed, purged and expire like any other", async () => {
    const queue = await newQueue(db);
    const ids = idsOf(await db.engine.enqueueMany("t", times(4), { queue }));
    const replaced = await enqueue(db, queue, { fingerprint: "f", input: "old" });
    const expiring = await enqueue(db, queue, { ttlSeconds: 10 });
    await db.engine.queueSetAside(queue);
    expect(await db.engine.cancel([ids[1]!])).toBe(1);
    await enqueue(db, queue, { fingerprint: "f", fingerprintMode: "replace", input: "new" });
    await db.moveClock(11);
    const jobs = await claimAll(db, queue);
    expect(jobs.map((job) => [job.id, job.input])).toEqual([
      [replaced, "new"],
      [ids[0], 0],
      [ids[2], 2],
      [ids[3], 3],
    ]);
    await db.engine.maintain();
    expect(await stateOf(db, expiring)).toBe("expired");
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 0, delayed: 0 });

    const [purged] = await db.engine.enqueueMany("t", times(50), { queue });
    await db.engine.queueSetAside(queue);
    expect(await db.engine.queuePurge(queue)).toBe(50);
    expect(await stateOf(db, purged!.id)).toBe("cancelled");
    expect(await claimIds(db, queue)).toEqual([]);
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 0, delayed: 0 });
  });

  it("does not take jobs of transactions that are still open, its own among them", async () => {
    const queue = await newQueue(db);
    const [late, own] = [await db.connect(), await db.connect()];
    await late.query("begin");
    const open = await enqueue(db, queue, {}, { tx: late });
    const old = idsOf(await db.engine.enqueueMany("work", times(5), { queue }));
    await own.query("begin");
    const mine = idsOf(await db.engine.enqueueMany("work", times(3), { queue }, { tx: own }));
    expect(await claimIds(db, queue, { limit: 2 }, { tx: own })).toEqual(old.slice(0, 2));
    await db.engine.queueSetAside(queue, {}, { tx: own });
    const more = await enqueue(db, queue, {}, { tx: own });
    await own.query("commit");
    await late.query("commit");
    expect(new Set(await claimIds(db, queue, { limit: 5 }))).toEqual(new Set([open, ...mine, more]));
    expect(await claimIds(db, queue)).toEqual(old.slice(2));
    expect(await claimIds(db, queue)).toEqual([]);
  });

  it("keeps its tickets when the ring turns, until it is drained", async () => {
    const queue = await newQueue(db);
    const old = idsOf(await db.engine.enqueueMany("t", times(250), { queue }));
    await db.engine.queueSetAside(queue);
    await nextTicketChild(db);
    await enqueue(db, queue);
    await claimOne(db, queue);
    expect(await db.engine.maintainSpace()).toMatchObject({ ticketChildren: 0 });
    expect(await claimIds(db, queue)).toEqual(old);
    expect(await claimIds(db, queue)).toEqual([]);
    expect(await db.engine.maintainSpace()).toMatchObject({ ticketChildren: 1 });
  });

  it("survives a repair", async () => {
    const queue = await newQueue(db);
    const old = idsOf(await db.engine.enqueueMany("t", times(5), { queue }));
    await db.engine.queueSetAside(queue);
    await db.engine.cellRepair();
    expect(await ranges()).toBe(0);
    expect(await claimIds(db, queue)).toEqual(old);
  });

  it("costs the same to set aside, and to pass by, whatever it is", async () => {
    const client = await db.connect();
    /** A session plans anew when there are new statistics, and reads the catalog for it. */
    const least = async (measure: () => Promise<number>): Promise<number> =>
      Math.min(await measure(), await measure(), await measure(), await measure());
    const cost = async (jobs: number): Promise<{ aside: number; claim: number }> => {
      const queue = await newQueue(db);
      for (let n = 0; n < jobs; n += 100)
        await db.engine.enqueueEach(times(100).map((input) => ({ type: `t${input % 2}`, queue, input })));
      await db.engine.maintain();
      await client.query("begin");
      const aside = await least(async () => {
        await client.query("savepoint here");
        const pages = await pagesOf(client, `select queue_set_aside('${queue}')`);
        await client.query("rollback to here");
        return pages;
      });
      await client.query("rollback");
      await db.engine.queueSetAside(queue);
      await db.engine.enqueueMany("t0", times(4), { queue });
      return { aside, claim: await least(() => pagesOf(client, `select job_claim_json('{${queue}}')`)) };
    };
    await cost(100);
    const [few, many] = [await cost(200), await cost(20_000)];
    expect(many.aside).toBeLessThanOrEqual(few.aside * 1.3 + 20);
    expect(many.claim).toBeLessThanOrEqual(few.claim * 1.3 + 20);
  });

  it("is refused where jobs have groups, before anything is written", async () => {
    const queue = await newQueue(db);
    await enqueue(db, queue, { group: "acme" });
    await expect(db.engine.queueSetAside(queue)).rejects.toMatchObject(invalidArgument);
    await expect(db.engine.queuePut(queue, { freshnessSeconds: 60 })).rejects.toMatchObject(invalidArgument);
    const fresh = await newQueue(db, { freshnessSeconds: 60 });
    await expect(enqueue(db, fresh, { group: "acme" })).rejects.toMatchObject(invalidArgument);
    await expect(db.engine.enqueueEach([{ type: "t", queue: fresh, group: "acme" }])).rejects.toMatchObject(
      invalidArgument,
    );
  });
});

describe("a queue with freshnessSeconds", () => {
  it("sets its backlog aside when the oldest job is older, and hands out fresh work first", async () => {
    const queue = await newQueue(db, { freshnessSeconds: 600, leaseSeconds: 3600 });
    const old = idsOf(await db.engine.enqueueMany("t", times(5), { queue }));
    await db.moveClock(500);
    expect(await claimIds(db, queue, { limit: 1, leaseSeconds: 3600 })).toEqual(old.slice(0, 1));
    await db.moveClock(101);
    // it waits when the backlog is set aside, and so belongs to it
    const stale = await enqueue(db, queue, { type: "t" });
    expect(await claimIds(db, queue, { limit: 1 })).toEqual([old[1]]);
    const fresh = idsOf(await db.engine.enqueueMany("t", times(2), { queue }));
    expect(idsOf(await claimAll(db, queue))).toEqual([...fresh, ...old.slice(2), stale]);
  });

  it("counts jobs that came due from their run time, and does not count retries", async () => {
    const queue = await newQueue(db, { freshnessSeconds: 60 });
    await enqueue(db, queue, { type: "again" });
    await db.engine.retryLater(await claimOne(db, queue), { message: "again" }, 100);
    const due = await enqueue(db, queue, { type: "due", delaySeconds: 100 });
    await db.moveClock(120);
    expect(await db.engine.claim({ queues: [queue], types: ["again"] })).toMatchObject([{ attempt: 2 }]);
    expect(await db.sql("select from aside r join lane l on l.key = r.lane where l.type = 'again'")).toEqual([]);
    await db.engine.maintain();
    await db.moveClock(70);
    expect(await claimIds(db, queue, { types: ["due"] })).toEqual([due]);
  });

  const seconds = Number(process.env["MILLRACE_SOAK_SECONDS"] ?? 3);
  it(
    `loses nothing and hands nothing out twice while its backlog is set aside again and again, for ${seconds} s [invariant 1]`,
    { timeout: seconds * 1000 + 60_000 },
    async () => {
      const queue = await newQueue(db, { freshnessSeconds: 0.02 });
      const made: string[] = [];
      const taken: string[] = [];
      const end = Date.now() + seconds * 1000;
      let asides = 0;
      const produce = async (client: pg.Client): Promise<void> => {
        while (Date.now() < end) {
          await client.query("begin");
          const ids = idsOf(
            await db.engine.enqueueMany(
              Math.random() < 0.5 ? "a" : "b",
              times(1 + Math.floor(Math.random() * 20)),
              { queue },
              { tx: client },
            ),
          );
          await sleep(Math.random() * 30);
          const commits = Math.random() < 0.9;
          await client.query(commits ? "commit" : "rollback");
          if (commits) made.push(...ids);
        }
      };
      const take = async (most = 10): Promise<number> => {
        const jobs = await db.engine.claim({ queues: [queue], limit: 1 + Math.floor(Math.random() * most) });
        taken.push(...idsOf(jobs));
        await Promise.all(jobs.map((job) => db.engine.complete(job)));
        return jobs.length;
      };
      const consume = async (): Promise<void> => {
        while (Date.now() < end) if ((await take()) === 0) await sleep(2);
      };
      const watch = async (): Promise<void> => {
        while (Date.now() < end) {
          asides = Math.max(asides, Number((await db.sql("select max(n) as n from aside"))[0]!["n"]));
          await sleep(10);
        }
      };
      const clients = await Promise.all(times(8).map(() => db.connect()));
      await Promise.all([...clients.map(produce), ...times(3).map(consume), watch()]);
      for (let idle = 0; idle < 3;) idle = (await take(100)) === 0 ? idle + 1 : 0;
      expect(new Set(taken).size).toBe(taken.length);
      expect(taken.toSorted()).toEqual(made.toSorted());
      expect(asides).toBeGreaterThan(20);
      expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 0, delayed: 0, running: 0 });
    },
  );
});
