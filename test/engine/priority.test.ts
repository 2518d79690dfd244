import { describe, expect, it } from "vitest";
import { useDatabase } from "../support/database.js";
import { claimOne, jobOf, newQueue } from "../support/jobs.js";
import { claimAll, invalidArgument } from "../support/steps.js";

const db = useDatabase();

describe("priority", () => {
  it("hands out the lower number first, whatever the order of enqueueing [#65]", async () => {
    const queue = await newQueue(db);
    for (const priority of [5, 10, 0, 7, 3, 1, 9, 4, 8, 2, 6])
      await db.engine.enqueue({ type: "t", queue, priority, input: priority });
    expect((await claimAll(db, queue)).map((job) => job.input)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });

  it("fills one claim with the urgent ones first, across types [#65]", async () => {
    const queue = await newQueue(db);
    await db.engine.enqueueMany("calm", ["c1", "c2", "c3"], { queue, priority: 6 });
    await db.engine.enqueueMany("urgent", ["u1", "u2"], { queue, priority: 0 });
    const claimed = await db.engine.claim({ queues: [queue], limit: 4 });
    expect(claimed.map((job) => job.input)).toEqual(["u1", "u2", "c1", "c2"]);
  });

  it("keeps the order of enqueueing within equal priority [#65]", async () => {
    const queue = await newQueue(db);
    const inputs = Array.from({ length: 40 }, (_, i) => i);
    for (const input of inputs) await db.engine.enqueue({ type: "t", queue, priority: input % 2, input });
    const order = (await claimAll(db, queue)).map((job) => job.input);
    expect(order).toEqual([...inputs.filter((i) => i % 2 === 0), ...inputs.filter((i) => i % 2 === 1)]);
  });

  it("keeps a retried job's place within its priority, before younger ones [#65]", async () => {
    const queue = await newQueue(db);
    for (const input of ["first", "second"]) await db.engine.enqueue({ type: "t", queue, input });
    await db.engine.retryLater(await claimOne(db, queue), { message: "again" }, 0);
    expect((await claimAll(db, queue)).map((job) => job.input)).toEqual(["first", "second"]);
  });

  it.each([undefined, "g"])(
    "with agingSeconds rises by one for each time that a job has waited, so that a stream of urgent ones never starves it (group %s) [#65]",
    async (group) => {
      const queue = await newQueue(db, { agingSeconds: 60 });
      const urgent = () =>
        db.engine.enqueue({ type: "t", queue, priority: 2, input: "urgent", ...(group && { group }) });
      await db.engine.enqueue({ type: "t", queue, priority: 5, input: "calm", ...(group && { group }) });
      await db.engine.enqueue({
        type: "t",
        queue,
        priority: 0,
        input: "late",
        delaySeconds: 150,
        ...(group && { group }),
      });
      const next = async (): Promise<unknown> => {
        const job = await claimOne(db, queue);
        await db.engine.complete(job);
        return job.input;
      };
      await urgent();
      await db.moveClock(100);
      expect(await next()).toBe("urgent"); // 5 - 1 is still less urgent than 2 - 1
      await db.moveClock(100);
      await urgent();
      expect(await next()).toBe("late"); // it waits since 50 s only: 0 against 5 - 3 and 2
      expect(await next()).toBe("calm"); // 5 - 3 equals 2, and it is older
      expect(await next()).toBe("urgent");
    },
  );

  it("is 5 unless given [#65]", async () => {
    const queue = await newQueue(db);
    const { id } = await db.engine.enqueue({ type: "t", queue });
    expect((await jobOf(db, id)).priority).toBe(5);
  });

  it.each([-1, 11, 2.5, Number.NaN, Number.POSITIVE_INFINITY])(
    "refuses %d, and writes nothing [#65]",
    async (priority) => {
      const queue = await newQueue(db);
      await expect(db.engine.enqueue({ type: "t", queue, priority })).rejects.toMatchObject(invalidArgument);
      await expect(db.engine.enqueueMany("t", [1, 2], { queue, priority })).rejects.toMatchObject(invalidArgument);
      await expect(
        db.engine.enqueueEach([
          { type: "t", queue },
          { type: "t", queue, priority },
        ]),
      ).rejects.toMatchObject(invalidArgument);
      expect(await db.engine.list({ queue })).toEqual([]);
    },
  );

  it.each([-1, 11, 2.5, Number.NaN, Number.POSITIVE_INFINITY])(
    "refuses %d as a queue's default, and keeps the one it had [#65]",
    async (priority) => {
      const queue = await newQueue(db, { priority: 3 });
      await expect(db.engine.queuePut(queue, { priority })).rejects.toMatchObject(invalidArgument);
      const { id } = await db.engine.enqueue({ type: "t", queue });
      expect((await jobOf(db, id)).priority).toBe(3);
    },
  );

  it("says which end is urgent when it refuses [#65]", async () => {
    const refusal = db.sql("select job_enqueue('t', null, $1)", ['{"priority": 11}']);
    await expect(refusal).rejects.toMatchObject({ hint: expect.stringContaining("0 is the most urgent") });
  });

  it.each(["-1", "11", "2.5", '"NaN"', '"high"', "true"])(
    "is refused by the SQL function when it is %s [#65]",
    async (priority) => {
      await expect(db.sql("select job_enqueue('t', null, $1)", [`{"priority": ${priority}}`])).rejects.toMatchObject({
        code: "MR001",
      });
    },
  );
});
