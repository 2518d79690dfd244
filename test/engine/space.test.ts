import { beforeAll, describe, expect, it } from "vitest";
import { day, moveClockToNoon } from "../support/clock.js";
import { useDatabase } from "../support/database.js";
import { claimOne, jobOf, newQueue } from "../support/jobs.js";
import { claimAll, maintenanceWait, nextTicketChild } from "../support/steps.js";

const db = useDatabase();

beforeAll(async () => {
  await moveClockToNoon(db);
  await db.engine.cellPut({
    retentionAttemptsSeconds: day,
    retentionResultsSeconds: 7 * day,
    retentionSucceededSeconds: 30 * day,
    retentionFailedSeconds: 30 * day,
  });
});

async function pass(days: number): Promise<void> {
  await db.moveClock(days * day);
  await db.engine.maintain();
  await db.engine.maintainSpace();
}

describe("separate retention", () => {
  it("removes attempts after 1 day, results after 7, jobs after 30, each on its own date [#86]", async () => {
    const queue = await newQueue(db);
    const { id } = await db.engine.enqueue({ type: "t", queue, retry: 0 });
    await db.engine.retryLater(await claimOne(db, queue), { message: "first" });
    await db.engine.complete(await claimOne(db, queue), { size: 3 });
    const seen = async () => {
      const details = await db.engine.get(id);
      return (
        details && {
          state: details.job.state,
          result: details.job.result,
          failed: details.attempts.filter((attempt) => attempt.outcome === "failed").length,
        }
      );
    };

    await pass(0.9);
    expect(await seen()).toEqual({ state: "succeeded", result: { size: 3 }, failed: 1 });
    await pass(1.1); // a day after the day of the job has ended
    expect(await seen()).toEqual({ state: "succeeded", result: { size: 3 }, failed: 0 });
    await pass(4.9);
    expect(await seen()).toEqual({ state: "succeeded", result: { size: 3 }, failed: 0 });
    await pass(1.1);
    expect(await seen()).toEqual({ state: "succeeded", result: null, failed: 0 });
    await pass(21.9);
    expect(await seen()).toEqual({ state: "succeeded", result: null, failed: 0 });
    await pass(1.1);
    expect(await seen()).toBeNull();
  });

  it("keeps the attempts that a live job still counts on: its number and its errors' order go on [#86]", async () => {
    const queue = await newQueue(db);
    const { id } = await db.engine.enqueue({ type: "t", queue, maxAttempts: 3 });
    await db.engine.retryLater(await claimOne(db, queue), { message: "first" }, 4 * day);
    await pass(3);
    expect((await jobOf(db, id)).state).toBe("delayed");
    await db.moveClock(day);
    expect(await claimOne(db, queue)).toMatchObject({ id, attempt: 2 });
  });
});

describe("purging history by the day", () => {
  it("leaves every live job of that day, with all that belongs to it [#83]", async () => {
    const queue = await newQueue(db);
    const payload = Uint8Array.from({ length: 100_000 }, (_, i) => i % 256);
    const finished = await db.engine.enqueueMany("finished", [1, 2, 3], { queue });
    for (const job of await claimAll(db, queue)) await db.engine.complete(job);
    await db.engine.enqueue({ type: "running", queue });
    const running = await claimOne(db, queue, { leaseSeconds: 365 * day });
    await db.engine.progressPut(running, { half: true });
    await db.engine.enqueue({ type: "delayed", queue, input: "delayed", delaySeconds: 60 * day, payload });
    await db.engine.enqueue({ type: "retrying", queue, input: "retrying", maxAttempts: 2 });
    await db.engine.retryLater(await claimOne(db, queue, { types: ["retrying"] }), { message: "once" }, 60 * day);
    await db.engine.enqueue({ type: "ready", queue, input: "old", fingerprint: "f" });
    await db.engine.enqueue({ type: "ready", queue, input: "amended", fingerprint: "f", fingerprintMode: "replace" });
    const revived = await db.engine.enqueue({ type: "revived", queue, input: "revived", maxAttempts: 1 });
    await db.engine.fail(await claimOne(db, queue, { types: ["revived"] }));
    await db.engine.retry(1, { ids: [revived.id] });

    await pass(45);
    for (const { id } of finished) expect(await db.engine.get(id)).toBeNull();
    expect((await db.engine.list({ queue })).map((job) => [job.type, job.state])).toEqual([
      ["revived", "ready"],
      ["ready", "ready"],
      ["retrying", "delayed"],
      ["delayed", "delayed"],
      ["running", "running"],
    ]);
    expect((await db.engine.progress(running.id))?.value).toEqual({ half: true });
    await db.engine.complete(running);
    const waiting = await claimAll(db, queue);
    expect(new Set(waiting.map((job) => job.input))).toEqual(new Set(["amended", "revived"]));
    for (const job of waiting) await db.engine.complete(job);

    await pass(20);
    const late = await claimAll(db, queue);
    expect(new Map(late.map((job) => [job.input, job.attempt]))).toEqual(
      new Map([
        ["delayed", 1],
        ["retrying", 2],
      ]),
    );
    const pieces: Uint8Array[] = [];
    for await (const piece of db.engine.payloadStream(late.find((job) => job.type === "delayed")!.id))
      pieces.push(piece);
    expect(Buffer.concat(pieces).equals(payload)).toBe(true);
  });

  it("leaves them also when they are many, and removes the finished ones beside them [#83]", async () => {
    const queue = await newQueue(db);
    const live = await db.engine.enqueueMany(
      "live",
      Array.from({ length: 12_000 }, (_, i) => i),
      { queue, delaySeconds: 60 * day },
    );
    const done = await db.engine.enqueueMany(
      "done",
      Array.from({ length: 500 }, (_, i) => i),
      { queue },
    );
    const [first] = await db.engine.claim({ queues: [queue], limit: 500 });
    await db.sql("select job_complete($1)", [first!.token]);
    await pass(45);
    expect(await db.sql("select type, count(*)::int as jobs from jobs where queue = $1 group by 1", [queue])).toEqual([
      { type: "live", jobs: live.length },
    ]);
    expect(await db.engine.get(done[0]!.id)).toBeNull();
    await db.moveClock(20 * day);
    const claimed = new Set<string>();
    for (let jobs; (jobs = await db.engine.claim({ queues: [queue], limit: 5000 })).length > 0;)
      for (const job of jobs) claimed.add(job.id);
    expect(claimed.size).toBe(12_000);
  });

  it("leaves the place in line of a job nobody has claimed yet [#83]", async () => {
    const queue = await newQueue(db);
    await db.engine.enqueue({ type: "t", queue, input: "first" });
    await nextTicketChild(db);
    await db.engine.enqueue({ type: "t", queue, input: "second" });
    await pass(1);
    expect((await claimAll(db, queue)).map((job) => job.input)).toEqual(["first", "second"]);
  });
});

describe("purging a day of many finished jobs", () => {
  // The statement speaks of a million; what must not grow with the number shows at this one as well.
  const many = 80_000;

  it("returns their space to the operating system, and holds no lock for long that live work needs [#104]", async () => {
    const queue = await newQueue(db);
    const [home] = await db.sql(
      "select job_slot(job_id_at(clock_now() - interval '40 days')) as slot, lpad(job_slot(job_id_at(clock_now() - interval '40 days'))::text, 2, '0') as name",
    );
    const { slot, name } = home as { slot: number; name: string };
    await db.sql(
      `insert into job (id, xid, run_at, queue_id, max_attempts, slot, priority, type, input)
      select job_id_at(clock_now() - interval '40 days') + n, 1, clock_now() - interval '40 days', (select id from queue where name = $2), 25, $1, 5, 'history', '{"n": 1}'
        from generate_series(1, ${many}) n`,
      [slot, queue],
    );
    await db.sql(
      `insert into attempt (job_id, started_at, finished_at, attempt, slot, outcome, state)
      select id, clock_now() - interval '40 days', clock_now() - interval '40 days', 1, $1, 'succeeded', 'succeeded' from job where slot = $1 and type = 'history'`,
      [slot],
    );
    const size = async () =>
      Number(
        (
          await db.sql(
            `select pg_total_relation_size('job_${name}') + pg_total_relation_size('attempt_${name}') as bytes`,
          )
        )[0]!["bytes"],
      );
    expect(await size()).toBeGreaterThan(many * 100);

    let purging = true;
    let longestWait = 0;
    let worked = 0;
    const work = async (): Promise<void> => {
      while (purging) {
        await db.engine.enqueue({ type: "live", queue });
        await db.engine.complete(await claimOne(db, queue, { types: ["live"] }));
        worked += 1;
      }
    };
    const watch = async (): Promise<void> => {
      while (purging) longestWait = Math.max(longestWait, await maintenanceWait(db));
    };
    const purge = async (): Promise<void> => {
      // A child that could not be locked is left for the next call.
      for (let tries = 0; tries < 20 && (await size()) > 1_000_000; tries += 1) await db.engine.maintainSpace();
      purging = false;
    };
    await Promise.all([work(), watch(), purge()]);
    expect(await size()).toBeLessThan(1_000_000);
    expect(await db.sql("select 1 from jobs where type = 'history' limit 1")).toEqual([]);
    expect(worked).toBeGreaterThan(0);
    expect(longestWait).toBeLessThan(1);
  });
});

describe("several at once", () => {
  it.each(["ring_child", "ticket_child", "claim"])(
    "gives up quietly while another process empties or rewrites: %s",
    async (what) => {
      const queue = await newQueue(db);
      await db.engine.enqueue({ type: "t", queue });
      const [row] = await db.sql<{ job: string; ticket: string }>(
        "select 'job_' || lpad(((slot + 16) % 32)::text, 2, '0') as job, (select 'ticket_' || (max(t.slot) + 1) % 8 from ticket t) as ticket from job order by id desc limit 1",
      );
      const other = await db.connect();
      await other.query("begin");
      await other.query(
        `lock table ${{ ring_child: row!.job, ticket_child: row!.ticket }[what] ?? what} in access exclusive mode`,
      );
      await expect(db.engine.maintainSpace({ compactBound: 0 })).resolves.toMatchObject({ ticketChildren: 0 });
      await other.query("rollback");
    },
  );
});
