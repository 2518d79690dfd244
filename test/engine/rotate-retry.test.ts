import { expect, it } from "vitest";
import { day } from "../support/clock.js";
import { useDatabase } from "../support/database.js";
import { claimIds, claimOne, enqueue, newQueue, stateOf } from "../support/jobs.js";
import { isBlocked } from "../support/sessions.js";
import { jobNotFound, miscounts } from "../support/steps.js";
import { until } from "../support/wait.js";

const db = useDatabase();

/** A job that failed, and whose retention has passed. */
async function pastRetention(): Promise<{ queue: string; id: string }> {
  const queue = await newQueue(db);
  const id = await enqueue(db, queue);
  await db.engine.fail(await claimOne(db, queue));
  await db.moveClock(31 * day);
  return { queue, id };
}

it("a job past its retention that is being retried is not lost with its day [#83] [#133]", async () => {
  const { queue, id } = await pastRetention();
  const tx = await db.connect();
  await tx.query("begin");
  expect(await db.engine.retry(1, { ids: [id] }, { tx })).toBe(1);
  const rotating = db.sql("select job_rotate()");
  await isBlocked(db, rotating, tx); // it may wait for the retry, for a moment, or leave the day for later
  await tx.query("commit");
  await rotating;
  expect(await stateOf(db, id)).toBe("ready");
  const job = await claimOne(db, queue);
  expect(job).toMatchObject({ id, attempt: 2 });
  await db.engine.complete(job);
});

it.each([
  ["commit", "gone"],
  ["rollback", "retried"],
])(
  "a retry that waits for the rotation of the job's day finds after its %s that it is %s [#83] [#133]",
  async (end, found) => {
    const { queue, id } = await pastRetention();
    const rotation = await db.connect();
    await rotation.query("begin");
    await until("its day is rotated", async () => {
      await rotation.query("select job_rotate()"); // one day at a time
      return (await rotation.query("select from job where id = $1", [id])).rowCount === 0;
    });
    const retrying = db.engine.retry(1, { ids: [id] });
    const outcome = retrying.catch((error: unknown) => error);
    expect(await isBlocked(db, retrying, rotation)).toBe(true);
    await rotation.query(end);
    if (found === "gone") expect(await outcome).toMatchObject(jobNotFound);
    else expect(await outcome).toBe(1);
    expect(await claimIds(db, queue)).toEqual(found === "gone" ? [] : [id]);
    expect(await miscounts(db, queue)).toEqual([]);
  },
);
