import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { LeaseLostError } from "../../src/db/errors.js";
import type { ClaimedJob, JobId, SpaceReport } from "../../src/db/types.js";
import { useDatabase } from "../support/database.js";
import { newQueue } from "../support/jobs.js";
import { claimAll, crossed, maintenanceWait, nextTicketChild, randomFrom, waitersOf } from "../support/steps.js";

const db = useDatabase();
const times = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

describe("two that saw the same job as ready", () => {
  it("exactly one of them starts it, the other gets nothing and no error [#167]", async () => {
    const queue = await newQueue(db);
    for (let round = 0; round < 50; round += 1) {
      const { id } = await db.engine.enqueue({ type: "t", queue });
      const seen = await Promise.all([
        db.engine.list({ queue, state: "ready" }),
        db.engine.list({ queue, state: "ready" }),
      ]);
      expect(seen.map((jobs) => jobs.map((job) => job.id))).toEqual([[id], [id]]);
      const [a, b] = await Promise.all([
        db.engine.claim({ queues: [queue], worker: "A" }),
        db.engine.claim({ queues: [queue], worker: "B" }),
      ]);
      expect([...a, ...b].map((job) => job.id)).toEqual([id]);
      await db.engine.complete((a[0] ?? b[0])!);
    }
  });

  it("nor does anybody else of twenty, when the job is claimable again [#167]", async () => {
    const queue = await newQueue(db);
    await db.engine.enqueue({ type: "t", queue, maxAttempts: 100 });
    for (let attempt = 1; attempt <= 10; attempt += 1) {
      const claims = (await Promise.all(times(20).map(() => db.engine.claim({ queues: [queue] })))).flat();
      expect(claims.map((job) => job.attempt)).toEqual([attempt]);
      await (attempt < 10 ? db.engine.retryLater(claims[0]!, { message: "again" }, 0) : db.engine.complete(claims[0]!));
    }
  });
});

describe("50 workers over 5 processes", () => {
  it("run each of 10,000 jobs exactly once, and see no deadlock or serialization error [#88]", async () => {
    const queue = await newQueue(db);
    const ids = (await Promise.all(times(5).map((n) => db.engine.enqueueMany(`type-${n}`, times(2000), { queue }))))
      .flat()
      .map((job) => job.id);
    const script = fileURLToPath(new URL("../support/sql-worker.mjs", import.meta.url));
    const run = promisify(execFile);
    const outputs = await Promise.all(
      times(5).map(() => run(process.execPath, [script, db.url, queue, "10", "20"], { maxBuffer: 10_000_000 })),
    );
    const processes = outputs.map(({ stdout }) => JSON.parse(stdout) as { ran: JobId[]; errors: string[] });
    expect(processes.flatMap((one) => one.errors)).toEqual([]);
    const ran = processes.flatMap((one) => one.ran);
    expect(ran).toHaveLength(10_000);
    expect(new Set(ran)).toEqual(new Set(ids));
    for (const one of processes) expect(one.ran.length).toBeGreaterThan(0);
    expect(
      await db.sql("select state, attempts, count(*)::int as jobs from jobs where queue = $1 group by 1, 2", [queue]),
    ).toEqual([{ state: "succeeded", attempts: 1, jobs: 10_000 }]);
  });
});

describe("rotation and compaction while 10 workers run", () => {
  it("lose, double and block nothing [#84]", async () => {
    const queue = await newQueue(db);
    await db.engine.cellPut({ retentionSucceededSeconds: 86_400 });
    await db.engine.enqueueMany("old", times(3000), { queue });
    const [old] = await db.engine.claim({ queues: [queue], limit: 3000 });
    await db.sql("select job_complete($1)", [old!.token]);
    await db.moveClock(5 * 86_400);
    await nextTicketChild(db);

    const total = 3000;
    for (const n of times(3)) await db.engine.enqueueMany(`type-${n}`, times(total / 3), { queue });
    const delivered = new Map<string, number>();
    let done = 0;
    let longestWait = 0;
    const watch = async (until: number): Promise<void> => {
      while (done < Math.min(until, total)) longestWait = Math.max(longestWait, await maintenanceWait(db));
    };
    const worker = async (): Promise<void> => {
      while (done < total) {
        for (const job of await db.engine.claim({ queues: [queue], limit: 5 })) {
          const key = `${job.id}/${job.attempt}`;
          delivered.set(key, (delivered.get(key) ?? 0) + 1);
          if (job.attempt === 1 && Number(job.input) % 10 === 0) {
            await db.engine.retryLater(job, { message: "once more" }, 0);
          } else {
            await db.engine.complete(job);
            done += 1;
          }
        }
      }
    };
    const space: SpaceReport[] = [];
    const maintenance = async (): Promise<void> => {
      while (done < total) {
        await db.engine.maintain();
        space.push(await db.engine.maintainSpace({ compactBound: 100 }));
        await watch(done + 200);
      }
    };
    await Promise.all([...times(10).map(worker), maintenance(), watch(total)]);

    expect(delivered.size).toBe(total + total / 10);
    expect([...delivered.values()].every((n) => n === 1)).toBe(true);
    expect(await claimAll(db, queue)).toEqual([]);
    expect(
      await db.sql("select state, count(*)::int as jobs from jobs where queue = $1 and type <> 'old' group by 1", [
        queue,
      ]),
    ).toEqual([{ state: "succeeded", jobs: total }]);
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 0, delayed: 0, running: 0 });
    // It was a test: children were truncated and tables rewritten under the workers.
    expect(space.reduce((n, report) => n + report.jobChildren, 0)).toBeGreaterThan(0);
    expect(space.reduce((n, report) => n + report.ticketChildren, 0)).toBeGreaterThan(0);
    expect(new Set(space.flatMap((report) => report.compacted))).toContain("claim");
    expect(longestWait).toBeLessThan(1);
  });
});

describe("calls that meet on the same rows in opposite order", () => {
  it("settling two claims and cancelling their jobs both get through [#101]", async () => {
    const queue = await newQueue(db);
    for (const type of ["x", "y"]) await db.engine.enqueueMany(type, [1, 2], { queue });
    const [x, y] = [
      await db.engine.claim({ queues: [queue], limit: 2 }),
      await db.engine.claim({ queues: [queue], limit: 2 }),
    ];
    const hold = (jobs: ClaimedJob[]): string => `select from claim where token = '${jobs[0]!.token}' for update`;
    const ends = await crossed(
      db,
      [hold(x), hold(y)],
      () => db.engine.cancel([x[1]!.id, y[1]!.id]),
      () =>
        db.engine.settle([y, x].map(([first]) => ({ token: first!.token, outcome: "succeeded", jobs: [first!.id] }))),
    );
    expect(ends).toEqual([
      { status: "fulfilled", value: 2 },
      { status: "fulfilled", value: { refused: [], claimed: [] } },
    ]);
  });

  it("cancelling jobs and enqueueing their fingerprints again both get through [#101]", async () => {
    const queue = await newQueue(db);
    const [f, g] = [
      { type: "t", queue, fingerprint: "f" },
      { type: "t", queue, fingerprint: "g" },
    ];
    const made = await db.engine.enqueueEach([f, g]);
    const hold = (job: { id: JobId }): string => `select from fingerprint where job_id = ${job.id} for update`;
    const ends = await crossed(
      db,
      [hold(made[0]!), hold(made[1]!)],
      () => db.engine.cancel(made.map((job) => job.id)),
      () => db.engine.enqueueEach([g, f]),
    );
    expect(ends.map((end) => end.status)).toEqual(["fulfilled", "fulfilled"]);
  });

  it.each([
    ["commit", 0],
    ["rollback", 1],
  ])(
    "adding retries to a job waits for whoever enqueues its fingerprint again, and after a %s revives %i [#72] [#101]",
    async (end, revived) => {
      const queue = await newQueue(db);
      const job = { type: "t", queue, fingerprint: "f" };
      const { id } = await db.engine.enqueue(job);
      await db.engine.fail((await db.engine.claim({ queues: [queue] }))[0]!);
      const producer = await db.connect();
      await producer.query("begin");
      await db.engine.enqueueEach([job], { tx: producer });
      const retried = db.engine.retry(1, { ids: [id] });
      await waitersOf(db, producer, 1);
      await db.engine.cancel([id], undefined, { tx: producer }); // wants the failed job for itself
      await producer.query(end);
      expect(await retried).toBe(revived);
      expect((await db.engine.list({ queue })).filter(({ state }) => state === "ready")).toHaveLength(1);
    },
  );

  it("changing the visibility of one job while its neighbours end keeps it held [#101]", async () => {
    const queue = await newQueue(db);
    await db.engine.enqueueMany("t", [1, 2], { queue });
    const [kept, other] = await db.engine.claim({ queues: [queue], limit: 2 });
    const row = await db.connect();
    await row.query("begin");
    await db.engine.complete(other!, undefined, { tx: row });
    const changed = db.engine.setVisibility(kept!, 600);
    await waitersOf(db, row, 1);
    await row.query("commit");
    await changed;
    await db.engine.complete(kept!);
    expect((await db.engine.list({ queue })).map((job) => job.state)).toEqual(["succeeded", "succeeded"]);
  });
});

describe("the state of a job that ends in the middle of being read", () => {
  it("is the one before or the one after, never a third [#101]", async () => {
    const queue = await newQueue(db);
    const { id } = await db.engine.enqueue({ type: "t", queue });
    const [job] = await db.engine.claim({ queues: [queue] });
    const worker = await db.connect();
    await worker.query("begin");
    await db.engine.complete(job!, undefined, { tx: worker });
    await worker.query("lock table claim in access exclusive mode"); // whoever reads the state gets this far, and waits
    const read = db.sql("select job_state($1) as state", [id]);
    await waitersOf(db, worker, 1);
    await worker.query("commit");
    expect(await read).toEqual([{ state: "succeeded" }]);
  });
});

describe("a job that expires at the end of an attempt while upkeep finds its lane busy", () => {
  it("is counted once [#101]", async () => {
    const queue = await newQueue(db);
    await db.engine.enqueue({ type: "t", queue, ttlSeconds: 30, maxAttempts: 5 });
    await db.engine.maintain(); // the lane is known
    const [lane] = await db.sql<{ key: string }>(
      "select l.key from lane l join queue q on q.id = l.queue_id where q.name = $1",
      [queue],
    );
    const worker = await db.connect();
    await worker.query("begin");
    await worker.query("select pg_advisory_xact_lock(lane_lock($1))", [lane!.key]);
    await db.moveClock(60);
    expect(await db.engine.maintain()).toMatchObject({ expired: 0 }); // waits for nobody
    await db.moveClock(-60);
    const [job] = await db.engine.claim({ queues: [queue] }, { tx: worker });
    await db.moveClock(60);
    await db.engine.retryLater(job!, { message: "too late" }, 1, { tx: worker });
    await worker.query("commit");
    expect(await db.engine.maintain()).toMatchObject({ expired: 0 });
    expect((await db.engine.list({ queue })).map((one) => one.state)).toEqual(["expired"]);
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 0, delayed: 0, running: 0 });
  });
});

describe("retry, cancel, claim and sweep of the same jobs at once", () => {
  const seconds = Number(process.env["MILLRACE_SOAK_SECONDS"] ?? 5);

  it(
    `let no error reach the caller but a lost lease, for ${seconds} s, and end every job once [#101]`,
    { timeout: seconds * 1000 + 60_000 },
    async () => {
      const seed = Number(process.env["MILLRACE_SEED"] ?? Date.now() % 1_000_000);
      const random = randomFrom(seed);
      const queue = await newQueue(db, { retry: { base: 0.01, factor: 1, jitter: 1 } });
      const ids: JobId[] = [];
      const errors = new Map<string, number>();
      const end = Date.now() + seconds * 1000;
      let calls = 0;

      const attempt = async (name: string, work: () => Promise<unknown>): Promise<void> => {
        calls += 1;
        try {
          await work();
        } catch (error) {
          if (error instanceof LeaseLostError) return;
          const { code, message, detail, where } = error as Error & { code?: string; detail?: string; where?: string };
          const text = `${name}: ${code} ${message}; ${where?.split("\n", 1)[0]}; ${detail}`;
          errors.set(text, (errors.get(text) ?? 0) + 1);
        }
      };
      const loop = async (name: string, work: () => Promise<unknown>): Promise<void> => {
        while (Date.now() < end) await attempt(name, work);
      };
      const some = (n: number): JobId[] => times(n).map(() => ids[Math.max(0, ids.length - 1 - random(200))]!);

      const produce = async (): Promise<void> => {
        const made = await db.engine.enqueueEach(
          times(10).map(() => ({
            type: `type-${random(3)}`,
            queue,
            priority: 4 + random(2),
            tenant: `tenant-${random(50)}`,
            maxAttempts: 1 + random(5),
            ...(random(3) === 0 ? { ttlSeconds: 0.2 + random(10) / 10 } : {}),
            ...(random(4) === 0 ? { delaySeconds: random(5) / 10 } : {}),
            ...(random(4) === 0
              ? {
                  fingerprint: `f-${random(20)}`,
                  fingerprintMode: (["keep", "replace", "debounce", "followUp"] as const)[random(4)]!,
                }
              : {}),
          })),
        );
        ids.push(...made.map((job) => job.id));
      };
      const report = async (job: ClaimedJob): Promise<void> => {
        const verbs = [
          () => db.engine.complete(job),
          () => db.engine.retryLater(job, { message: "again" }),
          () => db.engine.retryLater(job, { message: "at once" }, 0),
          () => db.engine.release(job),
          () => db.engine.fail(job),
          () => db.engine.setVisibility(job, 0),
          () => db.engine.progressPut(job, { n: 1 }),
          () => db.engine.claimExtend([job.token], 0.3),
        ];
        const n = random(verbs.length);
        await attempt(`report ${n}`, verbs[n]!);
      };
      const work = async (): Promise<void> => {
        for (const job of await db.engine.claim({ queues: [queue], limit: 1 + random(8), leaseSeconds: 0.3 }))
          await report(job);
      };
      const workInBatches = async (): Promise<void> => {
        const jobs = await db.engine.claim({ queues: [queue], limit: 20, leaseSeconds: 0.3 });
        const tokens = [...new Set(jobs.map((job) => job.token))].sort(() => random(3) - 1);
        await db.engine.settle(
          tokens.map((token) => {
            const mine = jobs.filter((job) => job.token === token).map((job) => job.id);
            return random(2) === 0
              ? { token, outcome: "succeeded", jobs: mine }
              : { token, outcome: "retryLater", jobs: mine, error: { message: "batch" } };
          }),
          { queues: [queue], limit: 5, leaseSeconds: 0.3 },
        );
      };

      await attempt("produce", produce);
      await Promise.all([
        loop("produce", produce),
        ...times(5).map(() => loop("work", work)),
        ...times(3).map(() => loop("work in batches", workInBatches)),
        ...times(2).map(() => loop("cancel", () => db.engine.cancel(some(1 + random(10))))),
        loop("cancel by tenant", () => db.engine.cancelWhere({ tenant: `tenant-${random(50)}` })),
        loop("add retries", () => db.engine.retry(1 + random(2), { ids: some(5) })),
        ...times(2).map(() => loop("sweep", () => db.engine.maintain())),
        loop("space", () => db.engine.maintainSpace({ compactBound: 100 })),
      ]);
      expect([...errors], `seed ${seed}, ${calls} calls`).toEqual([]);

      // Then let everything come to its end: whatever is still claimable succeeds.
      for (let idle = 0; idle < 3;) {
        await db.moveClock(60);
        await db.engine.maintain();
        const jobs = await db.engine.claim({ queues: [queue], limit: 1000 });
        idle = jobs.length === 0 ? idle + 1 : 0;
        for (const token of new Set(jobs.map((job) => job.token)))
          await db.engine.completeMany(
            token,
            jobs.filter((job) => job.token === token).map((job) => job.id),
          );
      }
      const open = await db.sql(
        "select state, count(*)::int as jobs from jobs where queue = $1 and state not in ('succeeded', 'failed', 'expired', 'cancelled') group by 1",
        [queue],
      );
      expect(open, `seed ${seed}`).toEqual([]);
      expect(
        await db.sql("select count(*)::int as jobs from (select id from jobs where queue = $1 group by id) j", [queue]),
      ).toEqual([{ jobs: new Set(ids).size }]);
      const counted = await db.sql(
        `select sum(ready)::int as ready, sum(delayed)::int as delayed from (select * from tally union all select * from lane_depth) d
        where lane in (select l.key from lane l join queue q on q.id = l.queue_id where q.name = $1)`,
        [queue],
      );
      expect(counted, `seed ${seed}`).toEqual([{ ready: 0, delayed: 0 }]);
      expect(await db.engine.queueDepth(queue), `seed ${seed}`).toMatchObject({ ready: 0, delayed: 0, running: 0 });
    },
  );
});
