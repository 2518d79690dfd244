import { describe, expect, it } from "vitest";
import type { EnqueueOptions, JobError, JobId } from "../../src/db/types.js";
import { useDatabase } from "../support/database.js";
import { claimIds, claimOne, enqueue, jobOf, newQueue, stateOf } from "../support/jobs.js";
import { claimAll, invalidArgument, queueNotFound } from "../support/steps.js";

const db = useDatabase();

async function failWith(
  queue: string,
  error: JobError | undefined,
  job: EnqueueOptions & { type?: string } = {},
): Promise<JobId> {
  const id = await enqueue(db, queue, job);
  await db.engine.fail(await claimOne(db, queue), error);
  return id;
}

const shape = async (message: string): Promise<string> =>
  (await db.sql("select error_shape($1) as shape", [message]))[0]!["shape"] as string;

describe("groups of failures", () => {
  it("put errors together that differ in numbers, ids, hexadecimal and quoted texts only", async () => {
    for (const [message, expected] of [
      ["timeout after 1500 ms", "timeout after # ms"],
      ["user 3f2b8c1e-9d4a-4c5b-8e6f-0a1b2c3d4e5f is gone", "user # is gone"],
      ["customer cus_9s8Dfh3 has no card", "customer # has no card"],
      ["connect ECONNREFUSED 10.0.0.17:5432", "connect ECONNREFUSED #"],
      ["at 2026-03-01T08:00:00.123Z", "at #"],
      ["0xdeadbeef and deadbeefcafe", "# and #"],
      ["key \"a b\" and 'c' and `d`", "key ? and ? and ?"],
      ["it can't be done, isn't 'x' it", "it can't be done, isn't ? it"],
      ["a\n  b", "a b"],
      ["a decade of facades", "a decade of facades"],
    ] as const)
      expect(await shape(message)).toBe(expected);
  });

  it("tell how many, since when, of which types and queues, the most frequent first, with the newest message", async () => {
    const [queue, other] = [await newQueue(db), await newQueue(db)];
    await failWith(queue, { name: "TypeError", message: "cannot read 'a'" }, { type: "x" });
    const first = await failWith(queue, { message: "timeout after 10 ms", code: "ETIMEDOUT" }, { type: "x" });
    await db.moveClock(100);
    await failWith(queue, { message: "timeout after 20 ms", code: "ETIMEDOUT" }, { type: "y" });
    const last = await failWith(other, { message: "timeout after 30 ms", code: "ETIMEDOUT" }, { type: "y" });
    const groups = await db.engine.failures();
    expect(groups).toMatchObject([
      {
        jobs: 3,
        message: "timeout after 30 ms",
        code: "ETIMEDOUT",
        name: null,
        types: ["x", "y"],
        queues: [queue, other].toSorted(),
        lastJobId: last,
      },
      { jobs: 1, message: "cannot read 'a'", name: "TypeError", code: null, types: ["x"], queues: [queue] },
    ]);
    const [timeouts] = groups;
    expect(timeouts!.fingerprint).toMatch(/^[0-9a-f]{16}$/);
    expect(timeouts!.firstAt).toEqual((await jobOf(db, first)).finishedAt);
    expect(timeouts!.lastAt).toEqual((await jobOf(db, last)).finishedAt);
    expect((await db.engine.failures({ type: "y" })).map(({ jobs }) => jobs)).toEqual([2]);
    expect((await db.engine.failures({ queue, type: "x" })).map(({ jobs }) => jobs)).toEqual([1, 1]);
    expect((await db.engine.failures({ queue, since: timeouts!.lastAt.toISOString(), limit: 1 })).length).toBe(0);
    expect(
      (await db.engine.failures({ since: new Date(timeouts!.firstAt.getTime() + 50_000) })).map(({ jobs }) => jobs),
    ).toEqual([2]);
    expect(
      (await db.engine.failures({ until: new Date(timeouts!.firstAt.getTime() + 50_000) })).map(({ jobs }) => jobs),
    ).toEqual([1, 1]);
  });

  it("keep errors apart that differ in name, code or words, and have a place for those without any", async () => {
    const queue = await newQueue(db);
    for (const error of [
      { message: "a" },
      { message: "a", code: "A" },
      { message: "a", name: "A" },
      { message: "b" },
      undefined,
    ])
      await failWith(queue, error);
    const groups = await db.engine.failures({ queue });
    expect(groups.map(({ jobs }) => jobs)).toEqual([1, 1, 1, 1, 1]);
    expect(groups.filter(({ message }) => message === null)).toHaveLength(1);
  });

  it("hold failed jobs that wait for a decision: not those retried, discarded, succeeded, expired or still being tried", async () => {
    const queue = await newQueue(db);
    const [retried, discarded, kept] = [
      await failWith(queue, { message: "e" }),
      await failWith(queue, { message: "e" }),
      await failWith(queue, { message: "e" }),
    ];
    await enqueue(db, queue, { ttlSeconds: 1 });
    await enqueue(db, queue);
    await db.engine.retryLater(await claimOne(db, queue, {}), { message: "e" }, 1000);
    await db.engine.retry(1, { ids: [retried] });
    await db.engine.discard([discarded]);
    expect(await db.engine.failures({ queue })).toMatchObject([{ jobs: 1, lastJobId: kept }]);
    await db.engine.fail(await claimOne(db, queue), { message: "f" });
    expect((await db.engine.failures({ queue })).map(({ message, jobs }) => [message, jobs])).toContainEqual(["f", 1]);
  });

  it("are made from the newest 10,000 that match, along an index in which succeeded jobs are not", async () => {
    const [queue, busy] = [await newQueue(db), await newQueue(db)];
    await db.engine.enqueueMany("many", Array.from({ length: 10_500 }), { queue });
    await db.engine.enqueueMany("fine", Array.from({ length: 10_500 }), { queue: busy });
    for (const verb of ["job_fail", "job_complete"])
      for (let round = 0; round < 2; round += 1)
        for (const { token } of new Map(
          (await db.engine.claim({ queues: [verb === "job_fail" ? queue : busy], limit: 10_000 })).map((job) => [
            job.token,
            job,
          ]),
        ).values())
          await db.sql(`select ${verb}($1)`, [token]);
    expect(await db.engine.failures({ queue })).toMatchObject([{ jobs: 10_000, types: ["many"] }]);
    const session = await db.connect();
    await session.query("set enable_seqscan = off; set enable_hashjoin = off; set enable_mergejoin = off");
    const { rows } = await session.query(
      "explain (costs off) select * from job_failure order by job_id desc limit 10000",
    );
    const plan = rows.map((row: Record<string, string>) => row["QUERY PLAN"]).join("\n");
    expect(plan).toMatch(/attempt_\d\d_job_id_idx/);
    expect(plan).not.toMatch(/Seq Scan on (attempt|job)_/);
  });

  it("refuse a limit, a queue or a filter they do not know", async () => {
    await expect(db.engine.failures({ limit: 0 })).rejects.toMatchObject(invalidArgument);
    await expect(db.engine.failures({ queue: "nowhere" })).rejects.toMatchObject(queueNotFound);
    await expect(db.engine.failures({ queu: "a" } as object)).rejects.toMatchObject(invalidArgument);
    await expect(db.engine.failures({ since: "yesterday or so" })).rejects.toMatchObject(invalidArgument);
  });
});

describe("retrying failures", () => {
  const seconds = async (ids: readonly JobId[]): Promise<number[]> => {
    const jobs = await Promise.all(ids.map((id) => jobOf(db, id)));
    return jobs.map((job) => Math.round((job.runAt.getTime() - jobs[0]!.updatedAt.getTime()) / 10) / 100);
  };

  it("takes those of one group, oldest first, in batches, and leaves the others", async () => {
    const queue = await newQueue(db);
    const ids: JobId[] = [];
    for (let i = 0; i < 5; i += 1) ids.push(await failWith(queue, { message: `timeout after ${i} ms` }));
    const other = await failWith(queue, { message: "else" });
    const { fingerprint } = (await db.engine.failures({ queue })).find(({ jobs }) => jobs === 5)!;
    const first = await db.engine.failureRetry({
      fingerprint,
      queue,
      attempts: 2,
      limit: 3,
      by: "ann",
      because: "fixed",
    });
    expect(first).toMatchObject({ jobs: 3, next: { fingerprint, after: ids[2] } });
    expect(await stateOf(db, ids[3]!)).toBe("failed");
    expect(await db.engine.failureRetry(first.next!)).toMatchObject({ jobs: 2, next: null });
    expect((await claimAll(db, queue)).map(({ id, maxAttempts }) => [id, maxAttempts])).toEqual(
      ids.map((id) => [id, 3]),
    );
    expect(await stateOf(db, other)).toBe("failed");
    expect(await db.engine.decisions(ids[4]!)).toMatchObject([
      { action: "retry", attempts: 2, by: "ann", because: "fixed" },
    ]);
    expect(await db.engine.failureRetry({ fingerprint, queue })).toEqual({ jobs: 0, next: null });
  });

  it("takes those that failed within a time, as they are listed, and counts them the same way", async () => {
    const queue = await newQueue(db);
    const old = await failWith(queue, { message: "down" });
    const between = (await jobOf(db, old)).finishedAt!.getTime() + 50_000;
    await db.moveClock(100);
    const young = [await failWith(queue, { message: "down" }), await failWith(queue, { message: "down" })];
    const { fingerprint } = (await db.engine.failures({ queue }))[0]!;
    const times = { since: new Date(between), until: new Date(between + 3_600_000) };
    for (const [which, jobs] of [
      [{}, 3],
      [times, 2],
      [{ until: times.since }, 1],
      [{ since: times.until }, 0],
    ] as const) {
      const counted = await db.engine.failureRetry({ fingerprint, queue, ...which, dryRun: true });
      expect(counted).toEqual({ jobs, next: null });
      expect((await db.engine.failures({ queue, ...which })).reduce((sum, { jobs: n }) => sum + n, 0)).toBe(jobs);
    }
    const first = await db.engine.failureRetry({ fingerprint, queue, ...times, limit: 1 });
    expect(first).toMatchObject({ jobs: 1, next: { after: young[0], ...times } });
    expect(await db.engine.failureRetry({ ...first.next!, limit: 1000 })).toEqual({ jobs: 1, next: null });
    expect(await stateOf(db, old)).toBe("failed");
  });

  it("looks at so many failures in a batch, which may find none, and says where they end", async () => {
    const queue = await newQueue(db);
    const [first, second] = [await failWith(queue, { message: "much" }), await failWith(queue, { message: "much" })];
    const rare = await failWith(queue, { message: "rare" });
    const { fingerprint } = (await db.engine.failures({ queue })).find(({ message }) => message === "rare")!;
    const look = async (after: JobId, most: number) =>
      (
        await db.sql(
          "select jobs::text[], next::text from failed_jobs($1, null, null, null, null, $2::bigint - 1, 10, $3)",
          [fingerprint, after, most],
        )
      )[0];
    expect(await look(first, 2)).toEqual({ jobs: [], next: second });
    expect(await look(first, 3)).toEqual({ jobs: [rare], next: rare });
    expect(await look(first, 4)).toEqual({ jobs: [rare], next: null });
  });

  it("spreads them by a rate, across batches, and counts them as delayed until they are due", async () => {
    const queue = await newQueue(db, { leaseSeconds: 600 });
    const ids: JobId[] = [];
    for (let i = 0; i < 6; i += 1) ids.push(await failWith(queue, { message: "flooded" }, { ttlSeconds: 1000 }));
    const { next } = await db.engine.failureRetry({ queue, perSecond: 0.05, limit: 3 });
    await db.engine.failureRetry(next!);
    const at = await seconds(ids);
    for (const [i, due] of at.entries()) if (i > 0) expect(due).toBeCloseTo(20 * i, 0);
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 1, delayed: 5 });
    const last = await jobOf(db, ids[5]!);
    expect((last.expiresAt!.getTime() - last.runAt.getTime()) / 1000).toBeCloseTo(1000, 0);
    expect(await claimIds(db, queue)).toEqual([ids[0]]);
    await db.moveClock(45);
    expect(await claimIds(db, queue)).toEqual([ids[1], ids[2]]);
    await db.moveClock(200);
    expect(await claimAll(db, queue)).toHaveLength(3);
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 0, delayed: 0, running: 6 });
  });

  it("has the same rate for jobs given by their ids, or by type", async () => {
    const queue = await newQueue(db);
    const [a, b, c] = [
      await failWith(queue, undefined, { type: "rated" }),
      await failWith(queue, undefined, { type: "rated" }),
      await failWith(queue, undefined),
    ];
    expect(await db.engine.retry(1, { type: "rated", queue, perSecond: 0.1 })).toBe(2);
    expect(await seconds([a, b])).toEqual([expect.any(Number), expect.closeTo(10, 0)]);
    expect(await db.engine.retry(1, { ids: [c], perSecond: 0.1 })).toBe(1);
    expect(await stateOf(db, c)).toBe("ready");
  });

  it("keeps the fingerprints and groups of its jobs, also where groups are ordered", async () => {
    const queue = await newQueue(db, { ordered: true });
    const id = await failWith(queue, { message: "x" }, { group: "g", fingerprint: "f" });
    await enqueue(db, queue, { group: "g" });
    await db.engine.failureRetry({ queue, perSecond: 1, startAt: new Date(Date.now() + 3600_000 * 24) });
    expect(await stateOf(db, id)).toBe("delayed");
    expect(await db.engine.enqueue({ type: "work", queue, fingerprint: "f" })).toEqual({ id, duplicate: true });
    expect(await claimAll(db, queue)).toEqual([]); // the retried one goes first
    await db.moveClock(3600 * 24);
    expect((await claimOne(db, queue)).id).toBe(id);
  });

  it("leaves the jobs of finished queues alone", async () => {
    const [over, queue] = [await newQueue(db), await newQueue(db)];
    for (const name of [over, queue]) await failWith(name, { message: "both" }, { type: "of-two" });
    await db.sql("update queue set closed_at = clock_now(), finished_at = clock_now() where name = $1", [over]);
    expect(await db.engine.failureRetry({ type: "of-two" })).toEqual({ jobs: 1, next: null });
    expect(await claimAll(db, queue)).toHaveLength(1);
  });

  it("retries a job once, however many ask at the same time", async () => {
    const queue = await newQueue(db);
    for (let i = 0; i < 20; i += 1) await failWith(queue, { message: "raced" });
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => db.engine.failureRetry({ queue, perSecond: 1000 })),
    );
    expect(answers.reduce((sum, { jobs }) => sum + jobs, 0)).toBe(20);
    await db.moveClock(1);
    expect(await claimAll(db, queue)).toHaveLength(20);
  });

  it("refuses rates, batches and fingerprints that make no sense, and changes nothing", async () => {
    const queue = await newQueue(db);
    const id = await failWith(queue, { message: "stays" });
    for (const which of [
      { perSecond: 0 },
      { perSecond: -1 },
      { perSecond: Number.NaN },
      { perSecond: Infinity },
      { limit: 0 },
      { attempts: 0 },
      { fingerprint: "x" },
      { after: "x" },
      { persecond: 1 },
    ])
      await expect(db.engine.failureRetry({ queue, ...which }), JSON.stringify(which)).rejects.toMatchObject(
        invalidArgument,
      );
    await expect(db.engine.retry(1, { ids: [id], perSecond: 0 })).rejects.toMatchObject(invalidArgument);
    await expect(db.engine.failureRetry({ queue: "nowhere" })).rejects.toMatchObject(queueNotFound);
    expect(await stateOf(db, id)).toBe("failed");
  });
});
