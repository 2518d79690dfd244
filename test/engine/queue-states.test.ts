import type pg from "pg";
import { describe, expect, it } from "vitest";
import { Engine } from "../../src/db/engine.js";
import { QueueClosedError } from "../../src/db/errors.js";
import { migrate } from "../../src/db/migrate.js";
import type { QueueEvent, QueueRecord } from "../../src/db/types.js";
import { useDatabase } from "../support/database.js";
import { claimIds, claimOne, enqueue, newQueue, stateOf } from "../support/jobs.js";
import { isBlocked, pidOf } from "../support/sessions.js";
import { invalidArgument } from "../support/steps.js";

/**
 * Of its own, because a queue finishes only when transactions of the whole server that may have enqueued have ended.
 */
const db = useDatabase({ ownServer: true });
const times = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

async function queueOf(name: string): Promise<QueueRecord> {
  return (await db.engine.queues()).find((queue) => queue.name === name)!;
}

async function eventsOf(queue: string): Promise<string[]> {
  return (await db.engine.queueEvents()).events.filter((event) => event.queue === queue).map(({ event }) => event);
}

/** Two rounds of upkeep: whatever may finish has finished. */
async function upkeep(): Promise<void> {
  for (const _ of times(2)) await db.engine.maintain();
}

async function stateAfterUpkeep(queue: string): Promise<string> {
  await upkeep();
  return (await queueOf(queue)).state;
}

async function completeAll(queue: string): Promise<number> {
  const jobs = await db.engine.claim({ queues: [queue], limit: 1000 });
  for (const job of jobs) await db.engine.complete(job);
  return jobs.length;
}

/** All that keeps a queue from being finished, for whoever has to find out why it was not. */
async function factsOf(queue: string): Promise<string> {
  const facts = await db.sql(
    `select to_json(q) as queue, pg_current_snapshot()::text as snapshot,
            (select json_agg(x) from (select state, count(*) from jobs j where j.queue = q.name group by 1) x) as jobs,
            (select json_agg(t) from tally t join lane_known l on l.key = t.lane where l.queue_id = q.id) as tally,
            (select json_agg(d) from lane_depth d join lane_known l on l.key = d.lane where l.queue_id = q.id) as depth,
            (select json_agg(c) from claim c join lane_known l on l.key = c.lane where l.queue_id = q.id) as claims,
            (select json_agg(a) from agenda a join lane_known l on l.key = a.lane where l.queue_id = q.id) as agenda,
            (select json_agg(s) from scout s where s.queue_id = q.id) as scouts, (select json_agg(l) from lane l where l.queue_id = q.id) as lanes,
            (select json_agg(p) from postponed p) as postponed, (select json_agg(z) from pause z where z.queue_id = q.id) as pauses,
            (select json_agg(c order by c.track, c.seq) from lane_cursor c join lane l on c.track in (l.key, l.key + 1, l.key + 2) or c.lane = l.key where l.queue_id = q.id) as cursors,
            (select json_agg(a) from (select pid, state, wait_event, backend_xid, xact_start, left(query, 80) as query from pg_stat_activity where backend_xid is not null) a) as sessions
       from queue q where q.name = $1`,
    [queue],
  );
  return JSON.stringify(facts[0]);
}

const closedError = { code: "MR014", constructor: QueueClosedError };

describe("a queue that is active or paused", () => {
  it("hands out its jobs; paused it hands out none, says who and why, and goes on in order [#153] [#154]", async () => {
    const queue = await newQueue(db);
    for (const input of times(4)) await enqueue(db, queue, { input });
    expect(await queueOf(queue)).toMatchObject({ state: "active", waitsFor: [], closedAt: null, finishedAt: null });
    const running = await claimOne(db, queue);
    await db.engine.queuePause(queue, { by: "ann", because: "the provider is down" });
    expect(await claimIds(db, queue)).toEqual([]);
    await enqueue(db, queue, { input: 4 });
    await db.engine.complete(running);
    expect(await queueOf(queue)).toMatchObject({
      state: "paused",
      pausedBy: "ann",
      pausedBecause: "the provider is down",
    });
    await db.engine.queueResume(queue, { by: "bob", because: "it is back" });
    const rest = await db.engine.claim({ queues: [queue], limit: 10 });
    expect(rest.map(({ input }) => input)).toEqual([1, 2, 3, 4]);
    const { events } = await db.engine.queueEvents();
    expect(events.filter((event) => event.queue === queue)).toMatchObject([
      { event: "paused", by: "ann", because: "the provider is down" },
      { event: "resumed", by: "bob", because: "it is back" },
    ]);
  });
});

describe("a closed queue", () => {
  it("refuses every way to enqueue, before anything is written, and says who closed it and why [#157]", async () => {
    const queue = await newQueue(db);
    await db.engine.queueClose(queue, { by: "ann", because: "all files are in" });
    const calls = [
      () => db.engine.enqueue({ type: "t", queue }),
      () => db.engine.enqueue({ type: "t", queue, priority: 1, fingerprint: "f" }),
      () => db.engine.enqueueMany("t", [1, 2], { queue }),
      () => db.engine.enqueueMany("t", [1, 2], { queue, delaySeconds: 5 }),
      () => db.engine.enqueueEach([{ type: "t" }, { type: "t", queue }]),
      () => db.engine.enqueueStream({ type: "t", queue }, 3, [new Uint8Array(3)]),
      () => db.engine.enqueue({ type: "t", queue, stage: "s" }),
    ];
    const before = await db.sql("select count(*) from job");
    for (const call of calls)
      await expect(call(), String(call)).rejects.toMatchObject({
        ...closedError,
        message: expect.stringContaining("by ann: all files are in"),
      });
    expect(await db.sql("select count(*) from job")).toEqual(before);
    expect(await queueOf(queue)).toMatchObject({ state: "closed", closedBy: "ann", closedBecause: "all files are in" });
  });

  it("is finished once, when its last job has ended, with an event; then nothing can be enqueued or opened [#157]", async () => {
    const queue = await newQueue(db);
    await enqueue(db, queue);
    await enqueue(db, queue, { delaySeconds: 3600 });
    await enqueue(db, queue, { group: "g" });
    const failing = await enqueue(db, queue, { type: "fails" });
    expect(await stateAfterUpkeep(queue)).toBe("active");
    await db.engine.queueClose(queue);
    await expect(db.engine.queueClose(queue)).rejects.toMatchObject(closedError);
    expect(await stateAfterUpkeep(queue)).toBe("closed");
    await db.engine.fail(await claimOne(db, queue, { types: ["fails"] }));
    expect(await completeAll(queue)).toBe(2);
    expect(await stateAfterUpkeep(queue)).toBe("closed"); // one is delayed
    await db.engine.retry(1, { ids: [failing] }); // allowed until it is finished
    expect(await completeAll(queue)).toBe(1);
    await db.moveClock(3601);
    const last = await claimOne(db, queue);
    expect(await stateAfterUpkeep(queue)).toBe("closed"); // one runs
    await db.engine.complete(last);
    expect(await stateAfterUpkeep(queue)).toBe("finished");
    const { finishedAt } = await queueOf(queue);
    await upkeep();
    expect((await queueOf(queue)).finishedAt).toEqual(finishedAt);
    expect(await eventsOf(queue)).toEqual(["closed", "finished"]);
    for (const call of [
      () => db.engine.enqueue({ type: "t", queue }),
      () => db.engine.queueClose(queue),
      () => db.engine.queueOpen(queue),
      () => db.engine.retry(1, { ids: [failing] }),
      () => db.engine.retry(1, { type: "fails", queue }),
    ])
      await expect(call()).rejects.toMatchObject({ ...closedError, message: expect.stringContaining("is finished") });
    expect(await db.engine.retry(1, { type: "fails" })).toBe(0);
  });

  it("that is empty is finished; an open one never is; one that is opened again takes jobs [#157]", async () => {
    const [open, empty, reopened] = [await newQueue(db), await newQueue(db), await newQueue(db)];
    await db.engine.queueClose(reopened);
    await db.engine.queueOpen(reopened, { by: "ann" });
    await expect(db.engine.queueOpen(reopened)).rejects.toMatchObject(invalidArgument);
    await db.engine.queueClose(empty);
    expect(await stateAfterUpkeep(empty)).toBe("finished");
    expect([(await queueOf(open)).state, (await queueOf(reopened)).state]).toEqual(["active", "active"]);
    await enqueue(db, reopened);
    expect(await completeAll(reopened)).toBe(1);
    expect(await stateAfterUpkeep(reopened)).toBe("active");
    expect(await eventsOf(reopened)).toEqual(["closed", "opened"]);
  });

  it("is finished however its jobs end: cancelled, expired, purged, lost [#157]", async () => {
    const queues = [await newQueue(db), await newQueue(db), await newQueue(db), await newQueue(db)] as const;
    const [cancelled, expired, purged, lost] = queues;
    const id = await enqueue(db, cancelled);
    await enqueue(db, expired, { ttlSeconds: 60 });
    await db.engine.enqueueMany("t", times(5), { queue: purged });
    await db.engine.enqueueMany("t", times(5), { queue: purged, stage: "s" });
    await enqueue(db, lost, { maxAttempts: 1 });
    await claimOne(db, lost, { leaseSeconds: 5 });
    for (const queue of queues) await db.engine.queueClose(queue);
    expect(await stateAfterUpkeep(lost)).toBe("closed");
    await db.engine.cancel([id]);
    await db.engine.queuePurge(purged);
    await db.moveClock(61);
    await upkeep();
    for (const queue of queues) expect((await queueOf(queue)).state).toBe("finished");
    expect(await db.sql("select from agenda where stage is not null")).toEqual([]);
  });

  it("waits for transactions that enqueued before they could see the close [#157]", async () => {
    for (const closerIsOlder of [true, false]) {
      const queue = await newQueue(db);
      const [producer, closer] = [await db.connect(), await db.connect()];
      await closer.query("begin");
      // The number that the closer gets says nothing about those that have not seen it.
      if (closerIsOlder) await closer.query("select pg_current_xact_id()");
      await producer.query("begin");
      await db.engine.enqueue({ type: "t", queue }, { tx: producer });
      await db.engine.queueClose(queue, {}, { tx: closer });
      await closer.query("commit");
      for (const _ of times(3)) expect(await stateAfterUpkeep(queue)).toBe("closed");
      await producer.query("commit");
      expect(await stateAfterUpkeep(queue)).toBe("closed");
      expect(await completeAll(queue)).toBe(1);
      expect(await stateAfterUpkeep(queue)).toBe("finished");
    }
  });

  it("is seen, or waited for, because whoever brings in jobs has a transaction number before it reads the queue [#157]", async () => {
    const queue = await newQueue(db);
    const calls: readonly ((tx: pg.Client) => Promise<unknown>)[] = [
      (tx) => db.engine.enqueue({ type: "t", queue }, { tx }),
      (tx) => db.engine.enqueue({ type: "t", queue, priority: 1 }, { tx }),
      (tx) => db.engine.enqueue({ type: "t", queue, fingerprint: "f" }, { tx }),
      (tx) => db.engine.enqueueMany("t", [1, 2], { queue }, { tx }),
      (tx) => db.engine.enqueueMany("t", [1, 2], { queue, priority: 1 }, { tx }),
      (tx) => db.engine.enqueueEach([{ type: "t", queue }], { tx }),
      (tx) => tx.query("select queues_reenter('{1}')"),
    ];
    const [holder, producer] = [await db.connect(), await db.connect()];
    for (const call of calls) {
      await holder.query("begin; lock table queue in access exclusive mode");
      const calling = call(producer);
      expect(await isBlocked(db, calling, holder)).toBe(true);
      const numbers = await holder.query(
        "select from pg_locks where locktype = 'transactionid' and pid in (select pid from pg_stat_activity where $1 = any (pg_blocking_pids(pid)))",
        [await pidOf(holder)],
      );
      await holder.query("commit");
      await calling;
      expect(numbers.rowCount, String(call)).toBe(1);
    }
  });

  it("is not finished by upkeep whose own transaction is older than the close [#157]", async () => {
    const queue = await newQueue(db);
    const [keeper, producer] = [await db.connect(), await db.connect()];
    await keeper.query("begin; select pg_current_xact_id()");
    await producer.query("begin");
    await db.engine.enqueue({ type: "t", queue }, { tx: producer });
    await db.engine.queueClose(queue);
    for (const _ of times(3)) await db.engine.maintain({ tx: keeper });
    await keeper.query("commit");
    expect((await queueOf(queue)).state).toBe("closed");
    await producer.query("commit");
    expect(await stateAfterUpkeep(queue)).toBe("closed");
    expect(await completeAll(queue)).toBe(1);
    expect(await stateAfterUpkeep(queue)).toBe("finished");
  });

  it("cannot be missed by a transaction with an older snapshot: PostgreSQL refuses it, or the close waits for it [#157]", async () => {
    for (const level of ["repeatable read", "serializable"]) {
      const queue = await newQueue(db);
      const [early, late] = [await db.connect(), await db.connect()];
      await early.query(`begin isolation level ${level}`);
      await late.query(`begin isolation level ${level}; select`);
      await late.query("select from queue");
      await db.engine.enqueue({ type: "t", queue }, { tx: early });
      const closing = db.engine.queueClose(queue);
      await isBlocked(db, closing, early);
      await early.query("commit");
      await closing;
      expect(await completeAll(queue)).toBe(1);
      expect(await stateAfterUpkeep(queue)).toBe("finished");
      await expect(db.engine.enqueue({ type: "t", queue }, { tx: late })).rejects.toMatchObject({ code: "40001" });
      await late.query("rollback");
    }
  });

  it("is not finished while somebody retries a job of it, and a retry that comes too late is refused [#157]", async () => {
    const queue = await newQueue(db);
    const ids = [await enqueue(db, queue), await enqueue(db, queue)];
    for (const _ of ids) await db.engine.fail(await claimOne(db, queue));
    await db.engine.queueClose(queue);
    const retrier = await db.connect();
    await retrier.query("begin");
    await db.engine.retry(1, { ids: [ids[0]!] }, { tx: retrier });
    for (const _ of times(3)) expect(await stateAfterUpkeep(queue)).toBe("closed");
    await retrier.query("commit");
    expect(await stateAfterUpkeep(queue)).toBe("closed");
    expect(await completeAll(queue)).toBe(1);
    // A finish that has not committed: the retry waits for it, and is refused.
    const keeper = await db.connect();
    await keeper.query("begin");
    await keeper.query("select maintain()");
    const retrying = db.engine.retry(1, { ids: [ids[1]!] });
    retrying.catch(() => {});
    await isBlocked(db, retrying, keeper);
    await keeper.query("commit");
    await expect(retrying).rejects.toMatchObject(closedError);
    expect((await queueOf(queue)).state).toBe("finished");
  });

  it("takes dead letters until it is finished; afterwards a failed job stays where it is, and nothing is lost [#157]", async () => {
    const dead = await newQueue(db);
    const queue = await newQueue(db, { deadLetterQueue: dead });
    const [first, second, third] = [await enqueue(db, queue), await enqueue(db, queue), await enqueue(db, queue)];
    await db.engine.fail(await claimOne(db, queue));
    await db.engine.queueClose(dead);
    await db.engine.fail(await claimOne(db, queue));
    expect(await completeAll(dead)).toBe(2);
    expect(await stateAfterUpkeep(dead)).toBe("finished");
    const job = await claimOne(db, queue);
    await expect(db.engine.deadLetter(job, dead)).rejects.toMatchObject(closedError);
    await db.engine.fail(job); // still held
    expect(await Promise.all([first, second, third].map((id) => stateOf(db, id)))).toEqual([
      "failed",
      "failed",
      "failed",
    ]);
    expect(await db.engine.queueDepth(dead)).toMatchObject({ ready: 0, running: 0 });
    expect(await db.engine.retry(1, { ids: [third] })).toBe(1);
  });

  it("takes dead letters back by redrive until it is finished; then they stay [#157]", async () => {
    const dead = await newQueue(db);
    const queue = await newQueue(db, { deadLetterQueue: dead });
    await enqueue(db, queue, { input: 1 });
    await enqueue(db, queue, { input: 2 });
    for (const _ of times(2)) await db.engine.fail(await claimOne(db, queue));
    await db.engine.queueClose(queue);
    expect(await db.engine.queueRedrive(dead, { limit: 1 })).toBe(1);
    expect(await completeAll(queue)).toBe(1);
    expect(await stateAfterUpkeep(queue)).toBe("finished");
    expect(await db.engine.queueRedrive(dead)).toBe(0);
    await expect(db.engine.queueRedrive(dead, { target: queue })).rejects.toMatchObject(closedError);
    expect(await db.engine.queueDepth(dead)).toMatchObject({ ready: 1, running: 0 });
  });
});

describe("twenty connections that enqueue while a queue is closed", () => {
  it("lose nothing, get nothing in after the finish, and it is finished once [#157]", async () => {
    const rounds = 6;
    let accepted = 0;
    let refused = 0;
    for (const round of times(rounds)) {
      const queue = await newQueue(db);
      const until = Date.now() + 600;
      const ids: string[] = [];
      const done = new Set<string>();
      let isOver = false;
      const producer = async (n: number): Promise<void> => {
        const client = await db.connect();
        for (let i = 0; ; i += 1) {
          const kind = (n + i) % 4;
          if (kind > 0) await client.query(kind === 1 ? "begin isolation level repeatable read" : "begin");
          try {
            const made =
              kind === 2
                ? await db.engine.enqueueMany("t", [i, i], { queue }, { tx: client })
                : [
                    await db.engine.enqueue(
                      { type: "t", queue, ...(kind === 3 ? { group: `g${n}`, delaySeconds: 0.05 } : {}) },
                      { tx: client },
                    ),
                  ];
            if (kind === 3 && i % 3 === 0) await client.query("select pg_sleep(0.02)");
            if (kind > 0) await client.query(i % 7 === 6 ? "rollback" : "commit");
            if (kind === 0 || i % 7 !== 6) ids.push(...made.map(({ id }) => id));
          } catch (error) {
            if (kind > 0) await client.query("rollback");
            if ((error as { code?: string }).code === "40001") continue;
            expect(error).toMatchObject(closedError);
            refused += 1;
            break;
          }
        }
        await client.end();
      };
      const consumer = async (): Promise<void> => {
        while (!isOver) {
          const jobs = await db.engine.claim({ queues: [queue], limit: 50 });
          for (const job of jobs) {
            expect(done.has(job.id)).toBe(false);
            done.add(job.id);
          }
          await Promise.all(jobs.map((job) => db.engine.complete(job)));
        }
      };
      const keeper = async (): Promise<void> => {
        while (!isOver) {
          await db.engine.maintain();
          isOver = (await queueOf(queue)).state === "finished";
          if (!isOver && Date.now() > until + 60_000) {
            isOver = true;
            throw new Error(
              `round ${round}: not finished after a minute, ${ids.length} jobs, ${done.size} of them done: ${await factsOf(queue)}`,
            );
          }
        }
      };
      const closer = async (): Promise<void> => {
        while (Date.now() < until - 300 + 40 * round) await db.sql("select pg_sleep(0.01)");
        await db.engine.queueClose(queue);
      };
      await Promise.all([...times(20).map(producer), consumer(), consumer(), keeper(), keeper(), closer()]);
      expect(done).toEqual(new Set(ids));
      const [late] = await db.sql(
        "select count(*)::int as n from jobs j join queues q on q.name = j.queue where q.name = $1 and (j.finished_at is null or j.finished_at > q.finished_at)",
        [queue],
      );
      expect(late).toEqual({ n: 0 });
      expect(await eventsOf(queue)).toEqual(["closed", "finished"]);
      accepted += ids.length;
    }
    expect(refused).toBe(20 * rounds);
    expect(accepted).toBeGreaterThan(20 * rounds);
  }, 120_000);
});

describe("a queue that waits for others", () => {
  it("takes jobs and hands out none until all of them have finished [#156]", async () => {
    const [first, second] = [await newQueue(db), await newQueue(db)];
    const queue = await newQueue(db, { waitsFor: [first, second] });
    await enqueue(db, first);
    const id = await enqueue(db, queue);
    expect(await claimIds(db, queue)).toEqual([]);
    expect(await stateOf(db, id)).toBe("blocked");
    expect((await db.sql("select state from jobs where id = $1", [id]))[0]).toEqual({ state: "blocked" });
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 0, blocked: 1 });
    expect(await queueOf(queue)).toMatchObject({ state: "waiting", waitsFor: [first, second] });
    await completeAll(first);
    await db.engine.queueClose(first);
    await upkeep();
    expect(await queueOf(queue)).toMatchObject({ state: "waiting", waitsFor: [second] });
    expect(await claimIds(db, queue)).toEqual([]);
    await db.engine.queueClose(second);
    await upkeep();
    expect(await queueOf(queue)).toMatchObject({ state: "active", waitsFor: [] });
    expect(await claimIds(db, queue)).toEqual([id]);
    expect(await eventsOf(queue)).toEqual(["released"]);
  });

  it("is not finished before them, so that those that wait for it wait for all [#156]", async () => {
    const first = await newQueue(db);
    const second = await newQueue(db, { waitsFor: [first] });
    const third = await newQueue(db, { waitsFor: [second] });
    await db.engine.queueClose(second);
    await enqueue(db, third);
    expect(await stateAfterUpkeep(second)).toBe("waiting");
    await db.engine.queueClose(first);
    await upkeep();
    expect([(await queueOf(first)).state, (await queueOf(second)).state]).toEqual(["finished", "finished"]);
    expect(await completeAll(third)).toBe(1);
  });

  it("wakes its workers when it may go on [#156]", async () => {
    const first = await newQueue(db);
    const queue = await newQueue(db, { waitsFor: [first] });
    const listener = await db.connect();
    const heard: string[] = [];
    listener.on("notification", ({ channel, payload }) => heard.push(`${channel} ${payload}`));
    await listener.query('listen "millrace:millrace"; listen "millrace:millrace:events"');
    await db.engine.queueClose(first);
    await upkeep();
    await listener.query("select");
    expect(heard).toEqual([
      `millrace:millrace:events ${first} closed`,
      `millrace:millrace:events ${first} finished`,
      `millrace:millrace:events ${queue} released`,
      `millrace:millrace ${queue}`,
    ]);
  });

  it("cannot wait for itself, in one step or more, nor for one that does not exist [#156]", async () => {
    const [a, b, c] = [await newQueue(db), await newQueue(db), await newQueue(db)];
    await expect(db.engine.queuePut(a, { waitsFor: [a] })).rejects.toMatchObject(invalidArgument);
    await expect(db.engine.queuePut(a, { waitsFor: ["nobody"] })).rejects.toMatchObject({ code: "MR003" });
    await expect(db.engine.queuePut("brand-new", { waitsFor: ["brand-new"] })).rejects.toMatchObject(invalidArgument);
    await db.engine.queuePut(b, { waitsFor: [a] });
    await db.engine.queuePut(c, { waitsFor: [b] });
    await expect(db.engine.queuePut(a, { waitsFor: [c] })).rejects.toMatchObject({
      ...invalidArgument,
      message: expect.stringContaining(`"${c}" already waits for it`),
    });
    await db.engine.queuePut(b, { waitsFor: null });
    await db.engine.queuePut(a, { waitsFor: [c] });
    for (const waitsFor of ["a", [1], [""], { a: 1 }])
      await expect(db.engine.queuePut(b, { waitsFor } as object)).rejects.toMatchObject(invalidArgument);
    for (const options of [{ waitsFor: [a] }, { onFailure: "pause" }, { finalStages: ["x"] }] as const) {
      await expect(db.engine.typePut("t", options)).rejects.toMatchObject(invalidArgument);
      await expect(db.engine.cellPut(options)).rejects.toMatchObject(invalidArgument);
    }
  });

  it("cannot become part of a circle by two calls at once [#156]", async () => {
    const [a, b] = [await newQueue(db), await newQueue(db)];
    const [one, two] = [await db.connect(), await db.connect()];
    await one.query("begin");
    await db.engine.queuePut(a, { waitsFor: [b] }, { tx: one });
    const other = db.engine.queuePut(b, { waitsFor: [a] }, { tx: two });
    other.catch(() => {});
    await isBlocked(db, other, one);
    await one.query("commit");
    await expect(other).rejects.toMatchObject(invalidArgument);
  });

  it("that is created while the other finishes is neither left waiting nor started early, in hundreds of races [#150]", async () => {
    const races = process.env["ALL_PAIRS"] === undefined ? 300 : 1000; // `npm run simulate`
    await db.sql(
      "select queue_put('from-' || n), job_enqueue('t', null, json_build_object('queue', 'from-' || n)) from generate_series(1, $1) n",
      [races],
    );
    const jobs = new Map<string, { id: string; token: string }>();
    for (const n of times(races / 100))
      for (const job of await db.engine.claim({
        queues: times(100).map((i) => `from-${n * 100 + i + 1}`),
        limit: 1000,
        leaseSeconds: 3600,
      }))
        jobs.set(job.queue, job);
    expect(jobs.size).toBe(races);
    await db.sql("select queue_close('from-' || n) from generate_series(1, $1) n", [races]);
    await db.engine.maintain();
    const claimed = new Map<string, Date>();
    let early = 0;
    const claim = async (n: number): Promise<void> => {
      for (const job of await db.engine.claim({ queues: [`to-${n}`], leaseSeconds: 3600 })) {
        expect(claimed.has(job.queue)).toBe(false);
        claimed.set(job.queue, job.claimedAt);
      }
    };
    const race = async (n: number): Promise<void> => {
      await Promise.all([
        db.engine.complete(jobs.get(`from-${n}`)!).then(() => (n % 4 === 0 ? db.engine.maintain() : undefined)),
        (async () => {
          await db.engine.queuePut(`to-${n}`, { waitsFor: [`from-${n}`] });
          await db.engine.enqueue({ type: "t", queue: `to-${n}` });
          await claim(n);
        })(),
      ]);
    };
    let next = 1;
    await Promise.all(
      times(16).map(async () => {
        while (next <= races) await race(next++);
      }),
    );
    await upkeep();
    for (const n of times(races)) if (!claimed.has(`to-${n + 1}`)) await claim(n + 1);
    for (const { name, finishedAt } of await db.engine.queues()) {
      if (!name.startsWith("from-")) continue;
      expect(finishedAt, name).not.toBeNull();
      if (claimed.get(name.replace("from", "to"))! < finishedAt!) early += 1;
    }
    expect(claimed.size).toBe(races);
    expect(early).toBe(0);
  }, 180_000);
});

describe("events of queues", () => {
  it("come once each, in whatever order transactions commit [#157]", async () => {
    const queue = await newQueue(db);
    let { cursor } = await db.engine.queueEvents();
    const seen: QueueEvent[] = [];
    const look = async (): Promise<void> => {
      const next = await db.engine.queueEvents(cursor);
      cursor = next.cursor;
      seen.push(...next.events);
    };
    const slow = await db.connect();
    await slow.query("begin");
    await db.engine.queuePause(queue, { type: "slow" }, { tx: slow });
    await db.engine.queuePause(queue, { type: "quick", group: "g" });
    await look();
    await look();
    await slow.query("commit");
    await look();
    await look();
    expect(seen.map(({ event, type }) => `${event} ${type}`)).toEqual(["paused quick", "paused slow"]);
    expect(seen[0]).toMatchObject({ queue, group: "g", at: expect.any(Date) });
    await expect(db.engine.queueEvents("nonsense")).rejects.toMatchObject(invalidArgument);
  });

  it("are noted also where the schema's name leaves no room for a channel's [#157]", async () => {
    const schema = "m".repeat(63);
    await migrate(db.pool, { schema });
    const engine = new Engine({ pool: db.pool, schema, prepare: false });
    await engine.queuePut("first");
    await engine.queuePut("second", { waitsFor: ["first"] });
    await engine.queueClose("first");
    for (const _ of times(2)) await engine.maintain();
    expect((await engine.queueEvents()).events.map(({ event }) => event)).toEqual(["closed", "finished", "released"]);
  });

  it("are kept to the newest ten thousand [#157]", async () => {
    await db.sql(
      "insert into queue_event (at, queue, event) select clock_now(), 'old', 'paused' from generate_series(1, 12000)",
    );
    for (const _ of times(10)) await db.engine.maintain();
    const { events } = await db.engine.queueEvents();
    expect(events.length).toBe(10_000);
  });
});

describe("a hundred queues", () => {
  it("are paused, limited, counted and purged each by itself [#81]", async () => {
    const names = times(100).map((n) => `one-of-${n}`);
    for (const [n, name] of names.entries()) {
      await db.engine.queuePut(name);
      await db.engine.enqueueMany("t", times(n + 2), { queue: name });
    }
    const neighbour = (n: number): string => names[(n + 1) % 100]!;
    const take = async (queue: string): Promise<number> => {
      const jobs = await db.engine.claim({ queues: [queue], limit: 2 });
      for (const job of jobs) await db.engine.release(job);
      return jobs.length;
    };
    for (const [n, name] of names.entries()) {
      await db.engine.queuePause(name);
      expect([await take(name), await take(neighbour(n))]).toEqual([0, 2]);
      await db.engine.queueResume(name);
      await db.engine.queuePut(name, { maxRunning: 1 });
      expect([await take(name), await take(neighbour(n))]).toEqual([1, 2]);
      await db.engine.queuePut(name, { maxRunning: null });
      expect((await db.engine.queueDepth(name)).ready).toBe(n + 2);
    }
    let left = times(100).reduce((sum, n) => sum + n + 2, 0);
    for (const [n, name] of names.entries()) {
      expect(await db.engine.queuePurge(name)).toBe(n + 2);
      left -= n + 2;
      if (n % 10 !== 9) continue;
      const counted = (await db.engine.queues()).filter((queue) => queue.name.startsWith("one-of-"));
      expect(counted.reduce((sum, queue) => sum + queue.waiting, 0)).toBe(left);
    }
  }, 120_000);
});
