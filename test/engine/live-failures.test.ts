import { expect, it } from "vitest";
import type { LiveSample } from "../../src/db/types.js";
import { useDatabase } from "../support/database.js";
import { claimOne, enqueue, newQueue } from "../support/jobs.js";

const db = useDatabase();
const sample = (from?: Date): Promise<LiveSample> => db.engine.server.liveSample(from ? { from } : {});

it("failures of the last hour are jobs that failed for good, whatever was decided on them since", async () => {
  const queue = await newQueue(db);
  const { to } = await sample();
  const failed = await enqueue(db, queue);
  await db.engine.fail(await claimOne(db, queue));
  await enqueue(db, queue);
  await db.engine.retryLater(await claimOne(db, queue), { message: "again" }, 1000);
  await db.engine.retry(1, { ids: [failed] });
  await db.moveClock(2);
  const seen = await sample(to);
  expect(seen.ended![""]).toMatchObject({ failed: 2, failedJobs: 1, isSample: false });
  expect(seen.failedLastHour).toEqual({ count: 1, isExact: true });
  await db.moveClock(3600);
  expect((await sample()).failedLastHour, "an hour later").toEqual({ count: 0, isExact: true });
});

it("failures of the last hour are at least so many when there are more than are looked at", async () => {
  await db.sql(
    `with first as materialized (select job_id_at(now) as id, job_slot(job_id_at(now)) as slot, now
                                   from (select clock_now() - interval '1 min' as now) x)
     insert into attempt (job_id, slot, started_at, finished_at, attempt, outcome, state)
     select first.id + n, first.slot, first.now, first.now, 1, 'failed', 'failed'
       from first cross join generate_series(0, 50004) n`,
  );
  expect((await sample()).failedLastHour).toEqual({ count: 50_000, isExact: false });
});

it("workers are those whose process is alive, idle ones too; who holds jobs is told apart", async () => {
  const state = { running: 0, memoryBytes: 1, stalledSeconds: 0 };
  const workers = Array.from({ length: 10 }, (_, n) => ({ name: `w${n}`, queues: [], types: null, concurrency: 1 }));
  await db.engine.workerBeat("h:1:x", { host: "h", pid: 1, release: null, workers }, state);
  expect(await sample()).toMatchObject({ workers: 10, holders: 0 });
  const queue = await newQueue(db);
  await enqueue(db, queue);
  await db.engine.claim({ queues: [queue], limit: 1, worker: "by hand", leaseSeconds: 1000 });
  expect(await sample()).toMatchObject({ workers: 10, holders: 1 });
  await db.moveClock(100);
  expect(await sample(), "nobody has heard of the process").toMatchObject({ workers: 0, holders: 1 });
});

it("alerts that fire are counted, those that are silenced are not", async () => {
  await db.engine.alertPut("a", { kind: "size", bytes: 1, forSeconds: 0 });
  await db.engine.alertsCheck();
  expect(await sample()).toMatchObject({ alerts: 1 });
  await db.engine.alertSilence("a", 1000);
  expect(await sample()).toMatchObject({ alerts: 0 });
});
