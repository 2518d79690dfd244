import { describe, expect, it } from "vitest";
import { clockNow } from "../support/clock.js";
import { useDatabase } from "../support/database.js";
import { claimOne, jobOf, newQueue } from "../support/jobs.js";
import { claimAll } from "../support/steps.js";

const db = useDatabase();

describe("attempt records", () => {
  it("are three for a job that failed twice and then succeeded: number, worker, start, end, outcome, error [#85]", async () => {
    const queue = await newQueue(db);
    const { id } = await db.engine.enqueue({ type: "t", queue, retry: 0 });
    const starts: Date[] = [];
    const ends: Date[] = [];
    for (const attempt of [1, 2, 3]) {
      const job = await claimOne(db, queue, { worker: `worker ${attempt}` });
      starts.push(job.claimedAt);
      await db.moveClock(7);
      if (attempt < 3)
        await db.engine.retryLater(job, { message: `failure ${attempt}`, stack: `at line ${attempt}`, code: "EFAIL" });
      else await db.engine.complete(job, { ok: true });
      ends.push(await clockNow(db));
    }

    const { attempts } = (await db.engine.get(id))!;
    expect(attempts).toMatchObject([
      {
        attempt: 1,
        worker: "worker 1",
        outcome: "failed",
        finalState: null,
        error: { message: "failure 1", stack: "at line 1", code: "EFAIL" },
        result: null,
      },
      {
        attempt: 2,
        worker: "worker 2",
        outcome: "failed",
        finalState: null,
        error: { message: "failure 2", stack: "at line 2", code: "EFAIL" },
        result: null,
      },
      {
        attempt: 3,
        worker: "worker 3",
        outcome: "succeeded",
        finalState: "succeeded",
        error: null,
        result: { ok: true },
      },
    ]);
    for (const [i, record] of attempts.entries()) {
      expect(record.startedAt).toEqual(starts[i]);
      expect(record.finishedAt.getTime() - record.startedAt.getTime()).toBeGreaterThanOrEqual(7000);
      expect(record.finishedAt.getTime()).toBeLessThanOrEqual(ends[i]!.getTime());
    }
  });

  it("are in the view attempts too, for everyone with psql [#85]", async () => {
    const queue = await newQueue(db);
    const { id } = await db.engine.enqueue({ type: "t", queue, retry: 0, maxAttempts: 2 });
    for (const job of await claimAll(db, queue)) await db.engine.retryLater(job, { message: "one" });
    for (const job of await claimAll(db, queue)) await db.engine.retryLater(job, { message: "two" });
    const rows = await db.sql(
      "select attempt, outcome, final_state, reason, error ->> 'message' as message from attempts where job_id = $1 order by attempt",
      [id],
    );
    expect(rows).toEqual([
      { attempt: 1, outcome: "failed", final_state: null, reason: null, message: "one" },
      { attempt: 2, outcome: "failed", final_state: "failed", reason: "exhausted", message: "two" },
    ]);
  });

  it("are none for a claim that was given back, and none for a job that never ran [#85]", async () => {
    const queue = await newQueue(db);
    const { id } = await db.engine.enqueue({ type: "t", queue });
    await db.engine.release(await claimOne(db, queue));
    expect((await db.engine.get(id))?.attempts).toEqual([]);
    expect(await claimOne(db, queue)).toMatchObject({ attempt: 1 });
    const delayed = await db.engine.enqueue({ type: "t", queue, delaySeconds: 60 });
    await db.engine.cancel([delayed.id]);
    expect((await db.engine.get(delayed.id))?.attempts).toEqual([]);
    expect((await jobOf(db, delayed.id)).attempts).toBe(0);
  });
});
