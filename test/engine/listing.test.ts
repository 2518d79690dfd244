import { describe, expect, it } from "vitest";
import type { JobState } from "../../src/db/types.js";
import { clockNow } from "../support/clock.js";
import { useDatabase } from "../support/database.js";
import { claimOne, jobOf, newQueue } from "../support/jobs.js";

const db = useDatabase();
const states: readonly JobState[] = [
  "delayed",
  "ready",
  "running",
  "blocked",
  "succeeded",
  "failed",
  "expired",
  "cancelled",
];

/** A queue with one job in each state a queue in use can show, named by its input. */
async function oneOfEach(): Promise<{ queue: string; ids: Record<string, string> }> {
  const queue = await newQueue(db);
  const ids: Record<string, string> = {};
  for (const state of states.filter((state) => state !== "blocked")) {
    const { id } = await db.engine.enqueue({
      type: `makes-${state}`,
      queue,
      tenant: `tenant-${state}`,
      input: state,
      ...(state === "delayed" ? { delaySeconds: 3600 } : {}),
      ...(state === "expired" ? { ttlSeconds: 1 } : {}),
    });
    ids[state] = id;
    const claim = () => claimOne(db, queue, { types: [`makes-${state}`] });
    if (state === "running") await claim();
    if (state === "succeeded") await db.engine.complete(await claim());
    if (state === "failed") await db.engine.fail(await claim(), { message: "no" });
    if (state === "cancelled") await db.engine.cancel([id]);
  }
  await db.moveClock(1);
  await db.engine.maintain();
  return { queue, ids };
}

describe("jobs in progress", () => {
  it("are listed with worker, start, elapsed time, lease end and progress [#98]", async () => {
    const queue = await newQueue(db);
    const { id } = await db.engine.enqueue({ type: "t", queue });
    await db.engine.enqueue({ type: "t", queue, input: "waits" });
    const job = await claimOne(db, queue, { worker: "host-7/3", leaseSeconds: 60 });
    await db.engine.progressPut(job, { done: 3, of: 10 });
    await db.moveClock(12);

    const [listed, ...others] = await db.engine.list({ queue, state: "running" });
    expect(others).toEqual([]);
    expect(listed).toMatchObject({
      id,
      worker: "host-7/3",
      attempts: 1,
      lastAttemptAt: job.claimedAt,
      leaseEndsAt: job.leaseEndsAt,
      leaseEnded: false,
    });

    const [row] = await db.sql(
      "select c.*, date_part('epoch', c.elapsed) as seconds from claims c where c.queue = $1",
      [queue],
    );
    expect(row).toMatchObject({
      job_id: id,
      token: job.token,
      type: "t",
      worker: "host-7/3",
      started_at: job.claimedAt,
      lease_ends_at: job.leaseEndsAt,
      attempt: 1,
      progress: { done: 3, of: 10 },
    });
    expect(row!["seconds"]).toBeGreaterThanOrEqual(12);
    expect(row!["seconds"]).toBeLessThan(60);
  });

  it("show each job of a shared lease, and leave the list when they end [#98]", async () => {
    const queue = await newQueue(db);
    const ids = (await db.engine.enqueueMany("t", [1, 2, 3], { queue })).map((job) => job.id);
    const [first] = await db.engine.claim({ queues: [queue], limit: 3 });
    const running = async () => (await db.engine.list({ queue, state: "running" })).map((job) => job.id);
    expect(await running()).toEqual([...ids].reverse());
    await db.engine.complete(first!);
    expect(await running()).toEqual([ids[2], ids[1]]);
  });

  it("are marked when their lease has ended, until somebody takes them [#98]", async () => {
    const queue = await newQueue(db);
    await db.engine.enqueue({ type: "t", queue });
    await claimOne(db, queue, { leaseSeconds: 5 });
    await db.moveClock(5);
    expect(await db.engine.list({ queue, state: "running" })).toMatchObject([{ leaseEnded: true }]);
    await claimOne(db, queue, { leaseSeconds: 5 });
    expect(await db.engine.list({ queue, state: "running" })).toMatchObject([{ leaseEnded: false, attempts: 2 }]);
  });
});

describe("finished jobs within their retention", () => {
  it("are listed by state, type and tenant, each in exactly one state [#105]", async () => {
    const { queue, ids } = await oneOfEach();
    for (const [state, id] of Object.entries(ids)) {
      const found = { id, state, type: `makes-${state}`, tenant: `tenant-${state}`, input: state };
      expect(await db.engine.list({ queue, state: state as JobState })).toMatchObject([found]);
      expect(await db.engine.list({ queue, type: `makes-${state}` })).toMatchObject([found]);
      expect(await db.engine.list({ queue, tenant: `tenant-${state}` })).toMatchObject([found]);
      expect(await jobOf(db, id)).toMatchObject(found);
    }
    expect((await db.engine.list({ queue })).map((job) => job.id)).toEqual(Object.values(ids).reverse());
  });

  it("are listed by time, from inclusive to exclusive [#105]", async () => {
    const queue = await newQueue(db);
    const times: Date[] = [];
    for (let n = 0; n < 4; n += 1) {
      times.push(await clockNow(db));
      await db.engine.enqueue({ type: "t", queue, input: n });
      await db.engine.complete(await claimOne(db, queue));
      await db.moveClock(86_400);
    }
    const inputs = async (from?: Date, to?: Date) =>
      (
        await db.engine.list({
          queue,
          state: "succeeded",
          ...(from ? { since: from } : {}),
          ...(to ? { until: to } : {}),
        })
      ).map((job) => job.input);
    expect(await inputs(times[1], times[3])).toEqual([2, 1]);
    expect(await inputs(times[2])).toEqual([3, 2]);
    expect(await inputs(undefined, times[1])).toEqual([0]);
    expect(await inputs()).toEqual([3, 2, 1, 0]);
    const { createdAt } = (await db.engine.list({ queue }))[1]!;
    expect(await inputs(createdAt, new Date(createdAt.getTime() + 1))).toEqual([2]);
  });

  it("are listed in pages that neither repeat nor skip [#105]", async () => {
    const queue = await newQueue(db);
    const ids = (
      await db.engine.enqueueMany(
        "t",
        Array.from({ length: 25 }, (_, i) => i),
        { queue },
      )
    ).map((job) => job.id);
    const claimed = await db.engine.claim({ queues: [queue], limit: 25 });
    await db.engine.completeMany(claimed[0]!.token, ids);
    const seen: string[] = [];
    for (let before: string | undefined; ; before = seen.at(-1)!) {
      const page = await db.engine.list({ queue, state: "succeeded", limit: 10, ...(before ? { before } : {}) });
      seen.push(...page.map((job) => job.id));
      if (page.length < 10) break;
    }
    expect(seen).toEqual([...ids].reverse());
  });

  it("are never missing or doubled while they move from running to finished [#105]", async () => {
    const queue = await newQueue(db);
    await db.engine.enqueueMany(
      "t",
      Array.from({ length: 500 }, (_, i) => i),
      { queue, retry: 0 },
    );
    let working = true;
    const work = (async () => {
      for (;;) {
        const jobs = await db.engine.claim({ queues: [queue], limit: 7 });
        if (jobs.length === 0) break;
        for (const [i, job] of jobs.entries())
          await (i === 0 && job.attempt < 3 ? db.engine.retryLater(job) : db.engine.complete(job));
      }
      working = false;
    })();
    let looks = 0;
    for (; working; looks += 1) {
      const [seen] = await db.sql(
        "select count(*)::int as jobs, count(distinct id)::int as ids, count(state)::int as states from jobs where queue = $1",
        [queue],
      );
      expect(seen).toEqual({ jobs: 500, ids: 500, states: 500 });
    }
    await work;
    expect(looks).toBeGreaterThan(5);
    expect(await db.engine.list({ queue, state: "succeeded", limit: 1000 })).toHaveLength(500);
  });
});

describe("peeking", () => {
  it("shows what a claim would get next, in its order, and changes nothing", async () => {
    const queue = await newQueue(db);
    await db.engine.enqueue({ type: "t", queue, priority: 6, input: "calm" });
    await db.engine.enqueue({ type: "t", queue, priority: 2, input: "urgent" });
    const before = await db.engine.list({ queue });
    expect((await db.engine.peek(queue)).map((job) => job.input)).toEqual(["urgent", "calm"]);
    expect(await db.engine.list({ queue })).toEqual(before);
    expect((await claimOne(db, queue)).input).toBe("urgent");
    expect((await db.engine.peek(queue)).map((job) => job.input)).toEqual(["calm"]);
  });

  it("costs what it shows, however many wait behind", async () => {
    const queue = await newQueue(db);
    const client = await db.connect();
    const pages = async (): Promise<number> => {
      const { rows } = await client.query(
        "explain (analyze, buffers, format json) select count(*) from job_peek($1, 20)",
        [queue],
      );
      const plan = rows[0]["QUERY PLAN"][0].Plan;
      return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"];
    };
    const inputs = Array.from({ length: 1000 }, (_, n) => n);
    await db.engine.enqueueMany("t", inputs, { queue });
    await pages(); // the session's first call reads the catalog
    const shallow = await pages();
    for (let n = 1; n < 20; n += 1) await db.engine.enqueueMany("t", inputs, { queue });
    expect(await pages()).toBeLessThan(shallow * 1.5);
  });
});

describe("the view jobs", () => {
  it("shows id, queue, type, the state's name, attempts and times of every job [#148]", async () => {
    const { queue, ids } = await oneOfEach();
    const rows = await db.sql(
      `
      select id, queue, type, state, attempts, max_attempts, created_at, updated_at, run_at, last_attempt_at, finished_at from jobs where queue = $1 order by id`,
      [queue],
    );
    expect(rows.map((row) => [row["id"], row["state"]])).toEqual(Object.entries(ids).map(([state, id]) => [id, state]));
    for (const row of rows) {
      const state = String(row["state"]);
      const ran = ["running", "succeeded", "failed"].includes(state);
      const finished = ["succeeded", "failed", "expired", "cancelled"].includes(state);
      expect(row).toMatchObject({
        queue,
        type: `makes-${state}`,
        attempts: ran ? 1 : 0,
        max_attempts: 25,
        created_at: expect.any(Date),
        run_at: expect.any(Date),
      });
      expect(row["updated_at"].getTime()).toBeGreaterThanOrEqual(row["created_at"].getTime());
      expect(row["last_attempt_at"] !== null, `${state} has a last attempt`).toBe(ran);
      expect(row["finished_at"] !== null, `${state} has a finish`).toBe(finished);
    }
  });

  it("names blocked jobs of a paused queue [#148]", async () => {
    const queue = await newQueue(db);
    await db.engine.enqueue({ type: "t", queue });
    await db.engine.queuePause(queue);
    expect(await db.sql("select state from jobs where queue = $1", [queue])).toEqual([{ state: "blocked" }]);
  });

  it.each(["update jobs set state = 'ready'", "delete from jobs", "insert into jobs (id) values (1)"])(
    "is read-only, even for its owner: %s [#148]",
    async (text) => {
      await expect(db.sql(text)).rejects.toMatchObject({ code: "55000" });
    },
  );
});
