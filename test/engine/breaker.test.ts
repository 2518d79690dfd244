import { describe, expect, it } from "vitest";
import type { BreakerOptions, BreakerRecord, ClaimedJob, Defaults } from "../../src/db/types.js";
import { useDatabase } from "../support/database.js";
import { claimOne, newQueue } from "../support/jobs.js";
import { claimAll, invalidArgument, queueNotFound } from "../support/steps.js";

const db = useDatabase();
const times = (n: number): number[] => Array.from({ length: n }, (_, i) => i);
const error = { name: "FetchError", code: "ECONNREFUSED", message: "connect ECONNREFUSED", stack: "long" };

const breakerOf = async (queue: string, type = "work"): Promise<BreakerRecord | undefined> =>
  (await db.engine.breakers()).find((breaker) => breaker.queue === queue && breaker.type === type);
const stateOf = async (queue: string, type = "work"): Promise<string | undefined> =>
  (await breakerOf(queue, type))?.state;

/** A queue with a breaker and waiting jobs. */
async function guarded(breaker: BreakerOptions, jobs = 50, options: Defaults = {}): Promise<string> {
  const queue = await newQueue(db, { breaker, retry: 10_000, ...options });
  await db.engine.enqueueMany("work", times(jobs), { queue });
  return queue;
}

async function fail(queue: string, n = 1): Promise<void> {
  for (let i = 0; i < n; i += 1) await db.engine.retryLater(await claimOne(db, queue), error);
}

async function open(queue: string, failures = 3): Promise<void> {
  await fail(queue, failures);
  expect(await stateOf(queue)).toBe("open");
}

describe("a breaker", () => {
  it("opens with the last of so many failures, and hands out nothing until its pause is over", async () => {
    const queue = await guarded({ failures: 3, withinSeconds: 60, pauseSeconds: 30 });
    await fail(queue, 2);
    expect(await breakerOf(queue)).toMatchObject({
      state: "closed",
      failures: 2,
      opensAt: 3,
      openUntil: null,
      openedAt: null,
    });
    await fail(queue);
    const breaker = (await breakerOf(queue))!;
    expect(breaker).toMatchObject({
      state: "open",
      pauseSeconds: 30,
      lastError: { name: "FetchError", code: "ECONNREFUSED", message: error.message },
    });
    expect(breaker.lastError?.stack).toBeUndefined();
    expect(breaker.openUntil!.getTime() - breaker.openedAt!.getTime()).toBe(30_000);
    expect(await claimAll(db, queue)).toEqual([]);
    await db.moveClock(28);
    expect(await claimAll(db, queue)).toEqual([]);
    await db.moveClock(3);
    expect(await stateOf(queue)).toBe("half-open");
  });

  it("lets one job through after the pause, whose success closes it", async () => {
    const queue = await guarded({ failures: 3 });
    await open(queue);
    await db.moveClock(31);
    const [probe, ...others] = await db.engine.claim({ queues: [queue], limit: 100 });
    expect(others).toEqual([]);
    expect(await claimAll(db, queue)).toEqual([]);
    await db.engine.complete(probe!);
    expect(await breakerOf(queue)).toMatchObject({ state: "closed", failures: 0, openUntil: null });
    expect(await db.engine.claim({ queues: [queue], limit: 100 })).toHaveLength(46);
  });

  it("opens again when that job fails, for twice as long each time, up to a cap", async () => {
    const queue = await guarded({ failures: 1, pauseSeconds: 30, pauseCapSeconds: 100 });
    for (const pause of [30, 60, 100, 100]) {
      await fail(queue);
      expect(await breakerOf(queue)).toMatchObject({ state: "open", pauseSeconds: pause });
      await db.moveClock(pause - 2);
      expect(await claimAll(db, queue)).toEqual([]);
      await db.moveClock(3);
    }
    await db.engine.complete(await claimOne(db, queue));
    await fail(queue);
    expect(await breakerOf(queue)).toMatchObject({ state: "open", pauseSeconds: 30 });
  });

  it("forgets what it has counted with a success, and with time", async () => {
    const queue = await guarded({ failures: 3, withinSeconds: 60 });
    await fail(queue, 2);
    await db.engine.complete(await claimOne(db, queue));
    expect(await breakerOf(queue)).toMatchObject({ state: "closed", failures: 0 });
    await fail(queue, 2);
    await db.moveClock(50);
    await db.engine.completeMany((await claimOne(db, queue, { types: ["work"] })).token, []); // nothing was reported
    await db.moveClock(11);
    expect(await breakerOf(queue)).toMatchObject({ failures: 0 });
    await fail(queue, 2);
    expect(await stateOf(queue)).toBe("closed");
    await db.moveClock(59);
    await fail(queue);
    expect(await stateOf(queue)).toBe("open");
  });

  it("counts the window exactly: failures drop out one by one", async () => {
    const queue = await guarded({ failures: 3, withinSeconds: 60 });
    await fail(queue);
    await db.moveClock(40);
    await fail(queue);
    await db.moveClock(25); // the first is out
    await fail(queue);
    expect(await stateOf(queue)).toBe("closed");
    await db.moveClock(40); // the second is out
    await fail(queue);
    expect(await stateOf(queue)).toBe("closed");
    await fail(queue);
    expect(await stateOf(queue)).toBe("open");
  });

  it("is one for each type of a queue, and for each queue of a type", async () => {
    const queue = await guarded({ failures: 2 });
    await db.engine.enqueueMany("other", times(3), { queue });
    const [a, b] = [await newQueue(db), await newQueue(db)];
    await db.engine.typePut("picky", { breaker: { failures: 1 } });
    for (const name of [a, b]) await db.engine.enqueueMany("picky", times(3), { queue: name });
    for (let i = 0; i < 2; i += 1) await db.engine.retryLater(await claimOne(db, queue, { types: ["work"] }), error);
    await fail(a);
    expect(await stateOf(queue)).toBe("open");
    expect((await claimAll(db, queue)).map(({ type }) => type)).toEqual(["other", "other", "other"]);
    expect(await claimAll(db, a)).toEqual([]);
    expect(await claimAll(db, b)).toHaveLength(3);
  });

  it("covers all priorities of its type, and groups, with one trial for all of them", async () => {
    const queue = await newQueue(db, { breaker: { failures: 1 }, retry: 10_000 });
    for (const priority of [0, 5])
      for (const group of ["a", "b"]) await db.engine.enqueueMany("work", times(3), { queue, priority, group });
    await fail(queue);
    expect(await claimAll(db, queue)).toEqual([]);
    await db.moveClock(31);
    expect(await db.engine.claim({ queues: [queue], limit: 100 })).toHaveLength(1);
    expect(await claimAll(db, queue)).toEqual([]);
  });

  it("counts each job of a report, whatever it was claimed with", async () => {
    const queue = await guarded({ failures: 5 });
    const jobs = await db.engine.claim({ queues: [queue], limit: 10 });
    const { token } = jobs[0]!;
    const ids = jobs.map(({ id }) => id);
    await db.engine.settle([
      { token, outcome: "retryLater", jobs: ids.slice(0, 4), error },
      { token, outcome: "succeeded", jobs: ids.slice(4, 5) },
      { token, outcome: "retryLater", jobs: ids.slice(5, 9), error },
    ]);
    expect(await breakerOf(queue)).toMatchObject({ state: "closed", failures: 4 });
    const { claimed } = await db.engine.settle([{ token, outcome: "failed", jobs: ids.slice(9), error }], {
      queues: [queue],
      limit: 10,
    });
    expect(claimed).toEqual([]); // decided and obeyed in one call
    expect(await stateOf(queue)).toBe("open");
  });

  it("does not listen to jobs that were claimed before it opened, nor to those that were released, delayed by their handler, lost or cancelled", async () => {
    const queue = await guarded({ failures: 2, pauseSeconds: 30 });
    const old = await db.engine.claim({ queues: [queue], limit: 4, leaseSeconds: 1000 });
    await db.engine.release(await claimOne(db, queue), 1000);
    await db.engine.retryLater(await claimOne(db, queue), error, 1000);
    await db.engine.cancel([(await claimOne(db, queue)).id]);
    expect(await breakerOf(queue)).toBeUndefined();
    await open(queue, 2);
    await db.engine.complete(old[0]!);
    await db.engine.retryLater(old[1]!, error);
    expect(await breakerOf(queue)).toMatchObject({ state: "open", pauseSeconds: 30 });
    await db.moveClock(31);
    await db.engine.retryLater(old[2]!, error);
    await db.engine.complete(old[3]!);
    expect(await breakerOf(queue)).toMatchObject({ state: "half-open", pauseSeconds: 30 });

    for (const end of [
      (job: ClaimedJob) => db.engine.release(job, 1000),
      (job: ClaimedJob) => db.engine.retryLater(job, error, 1000),
      (job: ClaimedJob) => db.engine.cancel([job.id]),
      (job: ClaimedJob) => db.engine.setVisibility(job, 0.001),
    ]) {
      const [probe, ...others] = await db.engine.claim({ queues: [queue], limit: 10 });
      expect(others).toEqual([]);
      await end(probe!);
      await db.engine.maintain();
      expect(await stateOf(queue)).toBe("half-open");
    }
    await db.engine.complete(await claimOne(db, queue));
    expect(await stateOf(queue)).toBe("closed");
  });

  it("lets exactly one through, however many ask at the same time, round after round", async () => {
    const queue = await newQueue(db, {
      breaker: { failures: 1, pauseSeconds: 10, pauseCapSeconds: 10 },
      retry: 10_000,
    });
    for (const priority of [1, 2, 3]) await db.engine.enqueueMany("work", times(20), { queue, priority });
    await fail(queue);
    for (let round = 0; round < 10; round += 1) {
      await db.moveClock(11);
      const claims = await Promise.all(times(8).map(() => db.engine.claim({ queues: [queue], limit: 5 })));
      expect(claims.flat()).toHaveLength(1);
      const late = Promise.all(times(6).map(() => db.engine.claim({ queues: [queue], limit: 5 })));
      await db.engine.retryLater(claims.flat()[0]!, error);
      expect((await late).flat()).toEqual([]);
    }
  });

  it("makes no report wait for another, and counts what commits", async () => {
    const queue = await guarded({ failures: 3 });
    const jobs: ClaimedJob[] = [];
    for (let i = 0; i < 5; i += 1) jobs.push(await claimOne(db, queue));
    const [rolledBack, failing, succeeding] = [await db.connect(), await db.connect(), await db.connect()];
    for (const tx of [rolledBack, failing, succeeding]) await tx.query("begin");
    await db.engine.retryLater(jobs[0]!, error, undefined, { tx: rolledBack });
    await db.engine.retryLater(jobs[1]!, error, undefined, { tx: failing });
    await db.engine.retryLater(jobs[2]!, error);
    await db.engine.complete(jobs[3]!, undefined, { tx: succeeding }); // none of these waits
    await rolledBack.query("rollback");
    await failing.query("commit");
    expect(await breakerOf(queue)).toMatchObject({ failures: 2 });
    await succeeding.query("commit");
    expect(await breakerOf(queue)).toMatchObject({ failures: 0 });
    await db.engine.retryLater(jobs[0]!, error);
    await db.engine.retryLater(jobs[4]!, error);
    await fail(queue);
    expect(await stateOf(queue)).toBe("open");
  });

  it("opens also when the failures are reported at the very same time, at the latest with the next one", async () => {
    const queue = await guarded({ failures: 5 }, 100);
    const jobs = [];
    for (let i = 0; i < 12; i += 1) jobs.push(await claimOne(db, queue));
    await Promise.all(jobs.map((job) => db.engine.retryLater(job, error)));
    if ((await stateOf(queue)) !== "open") await fail(queue);
    expect(await stateOf(queue)).toBe("open");
    expect(await claimAll(db, queue)).toEqual([]);
  });

  it("can be reset by hand, one or all", async () => {
    const [a, b] = [await guarded({ failures: 1 }), await guarded({ failures: 2 })];
    await fail(a);
    await fail(b);
    expect(await db.engine.breakerReset({ queue: a, type: "nothing" })).toBe(0);
    expect(await db.engine.breakerReset({ queue: a, type: "work" })).toBe(1);
    expect(await db.engine.breakerReset({ queue: a })).toBe(0);
    expect(await breakerOf(a)).toMatchObject({ state: "closed", failures: 0 });
    expect(await db.engine.claim({ queues: [a], limit: 10 })).toHaveLength(10);
    expect(await db.engine.breakerReset({ queue: b })).toBe(1);
    await fail(b);
    expect(await stateOf(b)).toBe("closed");
    await expect(db.engine.breakerReset({ queue: "nowhere" })).rejects.toMatchObject(queueNotFound);
  });

  it("is gone with its option, and takes new numbers at once", async () => {
    const queue = await guarded({ failures: 1 });
    await fail(queue);
    await db.engine.queuePut(queue, { breaker: null });
    expect(await breakerOf(queue)).toBeUndefined();
    expect(await claimAll(db, queue)).toHaveLength(49);
  });

  it("tells who listens, and wakes sleeping workers when it closes", async () => {
    const queue = await guarded({ failures: 1 });
    const listener = await db.connect();
    const heard: [string, string][] = [];
    listener.on("notification", ({ channel, payload }) => heard.push([channel, payload!]));
    await listener.query('listen "millrace:millrace:breakers"; listen "millrace:millrace"');
    await fail(queue);
    await db.moveClock(31);
    await db.engine.complete(await claimOne(db, queue));
    while (heard.length < 3) await listener.query("select");
    const of = (state: string): [string, string] => [
      "millrace:millrace:breakers",
      JSON.stringify({ queue, type: "work", state }),
    ];
    expect(
      heard.map(([channel, payload]) => [channel, payload.replaceAll(/ ?(:) ?/g, "$1").replaceAll(", ", ",")]),
    ).toEqual([of("open"), of("closed"), ["millrace:millrace", queue]]);
  });

  it("leaves few events behind, and none without a breaker", async () => {
    const [plain, queue] = [await newQueue(db, { retry: 10_000 }), await guarded({ failures: 2 }, 100)];
    await db.engine.enqueueMany("work", times(10), { queue: plain });
    await fail(plain, 5);
    const events = async (name: string): Promise<number> =>
      (await db.sql("select from breaker_event where queue_id = queue_id($1)", [name])).length;
    expect(await events(plain)).toBe(0);
    for (let i = 0; i < 20; i += 1) {
      await fail(queue);
      await db.engine.complete(await claimOne(db, queue));
      await db.engine.complete(await claimOne(db, queue));
    }
    expect(await events(queue)).toBe(40);
    await Promise.all([db.engine.maintain(), db.engine.maintain()]);
    expect(await events(queue)).toBe(1);
    await fail(queue);
    await db.moveClock(86_401);
    await db.engine.maintain();
    expect(await events(queue)).toBe(1);
    await fail(queue);
    expect(await stateOf(queue)).toBe("closed");
  });

  it("costs a claim and a report as much after many events as after few, also while an old snapshot keeps them all", async () => {
    const queue = await guarded({ failures: 80_000 }, 1000);
    const client = await db.connect();
    await client.query("alter table breaker_event set (autovacuum_enabled = off)"); // what it reads is counted too
    const pages = async (): Promise<number> => {
      const version = await client.query("select current_setting('server_version_num')::int >= 150000 as can_be_asked");
      for (const text of version.rows[0].can_be_asked
        ? ["select pg_stat_force_next_flush()"]
        : ["select pg_sleep(0.6)", "select pg_sleep(0.6)"])
        await client.query(text);
      const { rows } = await client.query(
        "select heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read as pages from pg_statio_user_tables where relid = 'breaker_event'::regclass",
      );
      return Number(rows[0].pages);
    };
    const cycles = async (): Promise<number> => {
      const before = await pages();
      for (let i = 0; i < 20; i += 1) {
        const [failing, fine] = await db.engine.claim({ queues: [queue], limit: 2 }, { tx: client });
        await db.engine.retryLater(failing!, error, undefined, { tx: client });
        await db.engine.complete(fine!, undefined, { tx: client });
      }
      return (await pages()) - before;
    };
    await cycles();
    const few = await cycles();
    const idle = await db.connect();
    await idle.query("begin isolation level repeatable read; select count(*) from breaker_event");
    for (let round = 0; round < 5; round += 1) {
      // by the same connection: what another has read is counted up to ten seconds later
      await client.query(
        "insert into breaker_event (queue_id, type, kind, at) select queue_id($1), 'work', k, clock_now() from generate_series(1, 2000), unnest('{failed,closed}'::text[]) k",
        [queue],
      );
      await client.query("select maintain()");
    }
    const many = await cycles();
    await idle.query("commit");
    expect(many).toBeLessThanOrEqual(2 * few);
  });

  it("that makes no sense is refused", async () => {
    const queue = await newQueue(db);
    for (const breaker of [
      [],
      5,
      true,
      { failures: 0 },
      { failures: 1.5 },
      { failures: "5" },
      { withinSeconds: 0 },
      { withinSeconds: -1 },
      { pauseSeconds: 1e9 },
      { pauseSeconds: 50, pauseCapSeconds: 40 },
      { pause: 5 },
    ])
      await expect(db.engine.queuePut(queue, { breaker } as Defaults), JSON.stringify(breaker)).rejects.toMatchObject(
        invalidArgument,
      );
    await expect(db.engine.cellPut({ breaker: {} })).rejects.toMatchObject(invalidArgument);
    expect(await db.engine.queuePut(queue, { breaker: {} })).toEqual({ breaker: {} });
  });
});
