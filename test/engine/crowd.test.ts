import { describe, expect, it } from "vitest";
import { useDatabase } from "../support/database.js";
import { newQueue } from "../support/jobs.js";

const db = useDatabase({ ownServer: true }); // an open transaction of others would keep lanes from sleeping

/** How many lanes of a queue claims look at, how many rest, and how many of those are asleep. */
async function lanesOf(queue: string): Promise<{ awake: number; resting: number; asleep: number }> {
  const [row] = await db.sql<{ awake: number; resting: number; asleep: number }>(
    `select count(*) filter (where l.rest_xid is null)::int as awake, count(*) filter (where l.rest_xid is not null and not l.is_asleep)::int as resting,
            count(*) filter (where l.is_asleep)::int as asleep
       from lane l join queue q on q.id = l.queue_id where q.name = $1`,
    [queue],
  );
  return row!;
}

const types = (n: number, from = 0): string[] => Array.from({ length: n }, (_, i) => `type-${from + i}`);
const enqueue = (queue: string, of: readonly string[]) => db.engine.enqueueEach(of.map((type) => ({ type, queue })));

/** Claim and complete all there is. */
async function drain(queue: string, given?: readonly string[]): Promise<string[]> {
  const seen: string[] = [];
  for (;;) {
    const jobs = await db.engine.claim({ queues: [queue], limit: 100, ...(given ? { types: given } : {}) });
    if (jobs.length === 0) return seen;
    for (const job of jobs) await db.engine.complete(job);
    seen.push(...jobs.map(({ type }) => type));
  }
}

describe("a queue with very many types", () => {
  it("hands out every job once, and lanes that have nothing go to sleep", async () => {
    const queue = await newQueue(db);
    await enqueue(queue, types(300));
    expect((await drain(queue)).toSorted()).toEqual(types(300).toSorted());
    expect(await lanesOf(queue)).toEqual({ awake: 300, resting: 0, asleep: 0 });
    await db.engine.lanesRest();
    expect(await lanesOf(queue)).toMatchObject({ awake: 300 }); // not at once: what was used lately may be again
    await db.moveClock(11);
    expect((await db.engine.maintain()).crowded).toBe(true);
    for (let round = 0; round < 4; round += 1) await db.engine.lanesRest();
    expect(await lanesOf(queue)).toEqual({ awake: 0, resting: 0, asleep: 300 });
    expect((await db.engine.maintain()).crowded).toBe(false);
    expect(await drain(queue)).toEqual([]);
  });

  it("wakes a lane that gets a job, however it comes", async () => {
    const queue = await newQueue(db);
    const [failing] = await db.engine.enqueueMany("type-0", [1], { queue });
    const [job] = await db.engine.claim({ queues: [queue] });
    await db.engine.fail(job!);
    await enqueue(queue, types(100));
    await drain(queue);
    await db.moveClock(11);
    for (let round = 0; round < 4; round += 1) await db.engine.lanesRest();
    expect(await lanesOf(queue)).toMatchObject({ asleep: 100 });

    await db.engine.retry(1, { ids: [failing!.id] });
    expect(await drain(queue)).toEqual(["type-0"]);
    await db.engine.enqueue({ type: "type-1", queue });
    expect(await drain(queue)).toEqual(["type-1"]);
    await db.engine.enqueueMany("type-2", [1, 2], { queue });
    expect(await drain(queue)).toEqual(["type-2", "type-2"]);
    await db.engine.enqueue({ type: "type-3", queue, group: "g" });
    expect(await drain(queue, ["type-3", "type-4"])).toEqual(["type-3"]);
    await db.engine.enqueue({ type: "type-4", queue, delaySeconds: 5 });
    await db.moveClock(6);
    expect(await drain(queue)).toEqual(["type-4"]);
    const client = await db.connect();
    await client.query("begin isolation level repeatable read; select 1");
    await client.query("select job_enqueue('type-5', '1', $1)", [JSON.stringify({ queue })]);
    await client.query("commit");
    expect(await drain(queue)).toEqual(["type-5"]);
    expect(await lanesOf(queue)).toMatchObject({ awake: 6, asleep: 94 });
  });

  it("finds what somebody enqueued who did not know that the lane rests", async () => {
    const queue = await newQueue(db);
    await enqueue(queue, types(100));
    await drain(queue);
    await db.moveClock(11);
    // Two transactions that have their numbers, one of which has looked at its lane, before it is put to rest.
    const [before, idle] = [await db.connect(), await db.connect()];
    await idle.query("begin; select pg_current_xact_id()");
    await before.query("begin");
    await before.query("select job_enqueue('type-7', '1', $1)", [JSON.stringify({ queue })]);
    await db.engine.lanesRest();
    await db.engine.lanesRest();
    expect(await lanesOf(queue)).toMatchObject({ resting: 100 });
    await before.query("commit");
    // The other one is still open, so none of them can be asleep; but what has come is found: by claims, and by upkeep.
    expect(await drain(queue)).toEqual(["type-7"]);
    for (let round = 0; round < 3; round += 1) await db.engine.lanesRest();
    expect(await lanesOf(queue)).toMatchObject({ asleep: 0 });
    await idle.query("select job_enqueue('type-8', '1', $1)", [JSON.stringify({ queue })]);
    await idle.query("commit");
    expect(await drain(queue)).toEqual(["type-8"]);
    await db.moveClock(11);
    for (let round = 0; round < 4; round += 1) await db.engine.lanesRest();
    expect(await lanesOf(queue)).toEqual({ awake: 2, resting: 0, asleep: 98 }); // two are no crowd
  });

  it("goes by priority whatever the number of types", async () => {
    const queue = await newQueue(db);
    await enqueue(queue, types(200));
    await db.engine.enqueue({ type: "urgent", queue, priority: 0 });
    expect((await db.engine.claim({ queues: [queue] }))[0]?.type).toBe("urgent");
  });

  it("finds the last jobs among lanes that were emptied", async () => {
    const queue = await newQueue(db);
    for (let from = 0; from < 2000; from += 500) await enqueue(queue, types(500, from));
    // Claims empty lanes one after another, so that those that have nothing lie together: more of them in the end than
    // a claim looks at.
    expect(await drain(queue)).toHaveLength(2000);
  });

  it("keeps to the types that are asked for", async () => {
    const queue = await newQueue(db);
    await enqueue(queue, types(200));
    expect(await drain(queue, ["type-150", "type-3", "absent"])).toHaveLength(2);
  });

  it("a lane that sleeps is forgotten with the last of its tickets, and found again", async () => {
    const queue = await newQueue(db);
    await enqueue(queue, types(80));
    await drain(queue);
    await db.moveClock(11);
    for (let round = 0; round < 4; round += 1) await db.engine.lanesRest();
    expect((await db.engine.maintainSpace()).lanesForgotten).toBe(0);
    await db.sql("delete from ticket"); // as when the ring has gone round
    expect((await db.engine.maintainSpace()).lanesForgotten).toBeGreaterThanOrEqual(80);
    expect(await lanesOf(queue)).toEqual({ awake: 0, resting: 0, asleep: 0 });
    await enqueue(queue, types(3));
    expect((await drain(queue)).toSorted()).toEqual(types(3));
    expect(await db.sql("select * from counts_audit($1)", [queue])).toEqual([]);
  });
});

describe("upkeep of fingerprints", () => {
  it("looks once at one whose time has passed while its job waits, and the job's end releases it", async () => {
    const queue = await newQueue(db);
    const job = { type: "t", queue, fingerprint: "f", fingerprintMode: "window", fingerprintSeconds: 10 } as const;
    const { id } = await db.engine.enqueue(job);
    await db.moveClock(11);
    await db.engine.maintain();
    const [seen] = await db.sql("select until from fingerprint where job_id = $1", [id]);
    expect(seen!["until"]).toBe(-Infinity);
    const again = await db.engine.enqueue(job); // its time has passed
    expect(again.duplicate).toBe(false);
    const jobs = await db.engine.claim({ queues: [queue], limit: 2 });
    for (const one of jobs) await db.engine.complete(one);
    await db.moveClock(11);
    await db.engine.maintain();
    expect(await db.sql("select from fingerprint where job_id = any ($1)", [[id, again.id]])).toEqual([]);
  });
});
