import { expect, it } from "vitest";
import { useDatabase } from "../support/database.js";
import { claimIds, claimOne, enqueue, newQueue, stateOf } from "../support/jobs.js";
import { isBlocked } from "../support/sessions.js";
import { jobNotFound, miscounts } from "../support/steps.js";
import { until } from "../support/wait.js";

const db = useDatabase();
const day = 86_400;

it("a job that is committed long after it was enqueued is not lost with its day", async () => {
  await db.engine.cellPut({ retentionSucceededSeconds: 60 });
  // Whoever empties a day waits 200 ms for those who use it: tried until it did not give up.
  for (let rotated = 0, tries = 0; rotated < 3; tries += 1) {
    expect(tries).toBeLessThan(30);
    await db.engine.enqueue({ type: "old" });
    const [old] = await db.engine.claim({ types: ["old"] });
    await db.engine.complete(old!);
    const slow = await db.connect();
    await slow.query("begin");
    const late = await db.engine.enqueue({ type: "late" }, { tx: slow });
    await db.moveClock(3 * day);
    let worked: number | undefined;
    const rotating = db.sql<{ n: number }>("select millrace.job_rotate() as n").then(([row]) => (worked = row!.n));
    await until("somebody waits for it", async () => {
      const [waits] = await db.sql<{ n: number }>(
        "select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock' and query like '%job_rotate%' and pid <> pg_backend_pid()",
      );
      return waits!.n > 0 || worked !== undefined;
    });
    await slow.query("commit");
    rotated += await rotating;
    const [found] = await db.engine.claim({ types: ["late"] });
    expect(found?.id).toBe(late.id);
    await db.engine.complete(found!);
  }
});

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
  expect(await db.engine.addRetries(1, { ids: [id] }, { tx })).toBe(1);
  const rotating = db.sql("select job_rotate()");
  await isBlocked(db, rotating, tx); // it may wait for a moment, or leave the day for later
  await tx.query("commit");
  await rotating;
  expect(await stateOf(db, id)).toBe("ready");
  expect((await claimOne(db, queue)).id).toBe(id);
});

it.each([
  ["commit", "gone"],
  ["rollback", "retried"],
])("a retry that waits for the rotation of the job's day finds after its %s that it is %s [#83] [#133]", async (end, found) => {
  const { queue, id } = await pastRetention();
  const rotation = await db.connect();
  await rotation.query("begin");
  const isRotated = async (): Promise<boolean> => (await rotation.query("select from job where id = $1", [id])).rowCount === 0;
  await until("its day is rotated", async () => {
    await rotation.query("select job_rotate()"); // one day at a time
    return isRotated();
  });
  const retrying = db.engine.addRetries(1, { ids: [id] });
  const outcome = retrying.catch((error: unknown) => error);
  expect(await isBlocked(db, retrying, rotation)).toBe(true);
  await rotation.query(end);
  if (found === "gone") expect(await outcome).toMatchObject(jobNotFound);
  else expect(await outcome).toBe(1);
  expect(await claimIds(db, queue)).toEqual(found === "gone" ? [] : [id]);
  expect(await miscounts(db, queue)).toEqual([]);
});
