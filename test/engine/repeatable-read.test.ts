import type pg from "pg";
import { afterEach, describe, expect, it } from "vitest";
import type { CallOptions } from "../../src/db/foreign.js";
import type { ClaimedJob } from "../../src/db/types.js";
import { day } from "../support/clock.js";
import { useDatabase } from "../support/database.js";
import { claimOne, enqueue, jobOf, newQueue, stateOf } from "../support/jobs.js";
import { miscounts, wrongIsolation } from "../support/steps.js";
import { until } from "../support/wait.js";

const db = useDatabase();
const sessions: pg.Client[] = [];

// What a failed test leaves open must not keep the next one from rewriting tables.
afterEach(async () => {
  for (const tx of sessions.splice(0)) await tx.query("rollback");
});

/** What the holder of a job may report about it, and the state that leaves it in. */
const reports: Readonly<Record<string, readonly [(job: ClaimedJob, call: CallOptions) => Promise<unknown>, string]>> = {
  complete: [(job, call) => db.engine.complete(job, "done", call), "succeeded"],
  fail: [(job, call) => db.engine.fail(job, { message: "no" }, call), "failed"],
  retry: [(job, call) => db.engine.retryLater(job, { message: "again" }, 0, call), "ready"],
  release: [(job, call) => db.engine.release(job, 0, call), "ready"],
  deadLetter: [(job, call) => db.engine.deadLetter(job, "graveyard", { message: "no" }, call), "failed"],
  extend: [(job, call) => db.engine.claimExtend([job.token], 60, call), "running"],
  setVisibility: [(job, call) => db.engine.setVisibility(job, 60, call), "running"],
  start: [(job, call) => db.engine.start(job, call), "running"],
  progressPut: [(job, call) => db.engine.progressPut(job, 1, call), "running"],
};

/** A transaction whose snapshot is that of now. */
async function snapshot(): Promise<pg.Client> {
  const tx = await db.connect();
  sessions.push(tx);
  await tx.query("begin isolation level repeatable read");
  await tx.query("select from pg_class limit 1");
  return tx;
}

/** Rewrite a table as upkeep does when old snapshots keep it from being vacuumed. */
async function compact(table: string): Promise<void> {
  const upkeep = await db.connect();
  await upkeep.query(`begin; lock table ${table} in access exclusive mode; select table_rewrite('${table}'); commit`);
  await upkeep.end();
}

/** A report that is refused, leaves all as it was, and is accepted in a new transaction. */
async function refusedOnce(tx: pg.Client, job: ClaimedJob, verb: string): Promise<void> {
  const [report, state] = reports[verb]!;
  const before = await jobOf(db, job.id);
  await expect(report(job, { tx })).rejects.toMatchObject(wrongIsolation);
  await tx.query("rollback");
  expect(await jobOf(db, job.id)).toEqual(before);
  await accepted(await snapshot(), job, verb);
  expect(await stateOf(db, job.id)).toBe(state);
}

async function accepted(tx: pg.Client, job: ClaimedJob, verb: string): Promise<void> {
  await reports[verb]![0](job, { tx });
  await tx.query("commit");
  expect(await stateOf(db, job.id)).toBe(reports[verb]![1]);
}

describe("in a transaction whose snapshot is older than the compaction of claims", () => {
  it.each(Object.keys(reports))(
    "%s is refused, changes nothing, and is accepted when repeated [#84] [#96]",
    async (verb) => {
      const queue = await newQueue(db);
      await db.engine.queuePut("graveyard");
      await enqueue(db, queue);
      const job = await claimOne(db, queue);
      const tx = await snapshot();
      await compact("claim");
      await refusedOnce(tx, job, verb);
      expect(await miscounts(db, queue)).toEqual([]);
    },
  );
});

describe("in a transaction whose snapshot is older than the compaction of what waits", () => {
  it("the release of a stage releases its jobs, or is refused; it does not overlook them [#180]", async () => {
    const queue = await newQueue(db);
    await enqueue(db, queue, { stage: "s" });
    const tx = await snapshot();
    await compact("agenda");
    const released = await db.engine.stageRelease(queue, "s", {}, { tx }).catch((error: unknown) => error);
    await tx.query("commit");
    if (released instanceof Error) expect(released).toMatchObject(wrongIsolation);
    else expect(released).toBe(1);
  });
});

describe("in a transaction whose snapshot is older than the rotation of the job's day", () => {
  /** A job that runs for days, whose day is emptied, and the job put back, after a transaction took its snapshot. */
  async function rotated(
    before: (job: ClaimedJob) => Promise<unknown> = async () => {},
  ): Promise<{ queue: string; tx: pg.Client; job: ClaimedJob }> {
    await db.engine.cellPut({ retentionSucceededSeconds: 60 });
    await db.engine.queuePut("graveyard");
    const queue = await newQueue(db);
    await enqueue(db, queue, { fingerprint: "f" });
    const job = await claimOne(db, queue, { leaseSeconds: 40 * day });
    await before(job);
    await db.moveClock(2 * day);
    const tx = await snapshot();
    const file = async (): Promise<unknown> =>
      (await db.sql("select pg_relation_filenode('job_' || lpad(job_slot($1)::text, 2, '0')) as file", [job.id]))[0]![
        "file"
      ];
    const old = await file();
    await until("its day is rotated", async () => {
      await db.sql("select job_rotate()");
      return (await file()) !== old;
    });
    return { queue, tx, job };
  }

  it("complete is accepted [#15] [#97]", async () => {
    const { queue, tx, job } = await rotated();
    await accepted(tx, job, "complete");
    expect(await jobOf(db, job.id)).toMatchObject({ state: "succeeded", result: "done" });
    expect(await miscounts(db, queue)).toEqual([]);
  });

  it.each(["extend", "setVisibility", "start", "progressPut"])("%s is accepted [#32] [#69]", async (verb) => {
    const { tx, job } = await rotated();
    await accepted(tx, job, verb);
  });

  it("a second progress is refused with a reason, or stored; never lost, and never a unique violation [#69] [#101]", async () => {
    const { tx, job } = await rotated((held) => db.engine.progressPut(held, "first"));
    const outcome = await db.engine.progressPut(job, "second", { tx }).then(
      () => "stored",
      (error: unknown) => error,
    );
    await tx.query("commit");
    // as PostgreSQL refuses any other such write
    if (outcome !== "stored") expect(outcome).toMatchObject({ code: "40001" });
    expect((await db.engine.progress(job.id))?.value).toBe(outcome === "stored" ? "second" : "first");
  });

  it("a fingerprint that the job has is still taken, or the enqueue is refused; there is no second job [#72]", async () => {
    const { queue, tx, job } = await rotated();
    const again = await db.engine
      .enqueue({ type: "work", queue, fingerprint: "f" }, { tx })
      .catch((error: unknown) => error);
    await tx.query("commit");
    if (again instanceof Error) expect(again).toMatchObject(wrongIsolation);
    else expect(again).toEqual({ id: job.id, duplicate: true });
    expect(await db.engine.list({ queue })).toHaveLength(1);
  });

  it.each(["fail", "retry", "release", "deadLetter"])(
    "%s is refused, changes nothing, and is accepted when repeated [#15] [#96]",
    async (verb) => {
      const { queue, tx, job } = await rotated();
      await refusedOnce(tx, job, verb);
      if (reports[verb]![1] === "ready") expect((await claimOne(db, queue)).id).toBe(job.id);
      expect(await miscounts(db, queue)).toEqual([]);
    },
  );
});
