import { describe, expect, it } from "vitest";
import { useDatabase } from "../support/database.js";
import { claimOne, jobOf, newQueue } from "../support/jobs.js";
import { claimAll } from "../support/steps.js";

const db = useDatabase();

describe("job types", () => {
  it("go to a worker that handles them, oldest first, and to no other [#78]", async () => {
    const queue = await newQueue(db);
    for (let n = 0; n < 3; n += 1)
      for (const type of ["mail", "resize", "report"]) await db.engine.enqueue({ type, queue, input: `${type} ${n}` });
    const claimed = await claimAll(db, queue, { types: ["resize"] });
    expect(claimed.map((job) => job.input)).toEqual(["resize 0", "resize 1", "resize 2"]);
    const batch = await db.engine.claim({ queues: [queue], types: ["mail", "unheard-of"], limit: 10 });
    expect(batch.map((job) => job.input)).toEqual(["mail 0", "mail 1", "mail 2"]);
  });

  it("come to a worker that names none whatever they are [#78]", async () => {
    const queue = await newQueue(db);
    await db.engine.enqueue({ type: "anything", queue });
    expect((await claimOne(db, queue)).type).toBe("anything");
  });

  it("come to nobody when a worker handles no type at all [#78]", async () => {
    const queue = await newQueue(db);
    await db.engine.enqueue({ type: "anything", queue });
    expect(await claimAll(db, queue, { types: [] })).toEqual([]);
  });

  it("unknown to all workers wait untouched, are listed and counted, and run when one comes that knows them [#78]", async () => {
    const queue = await newQueue(db);
    const { id } = await db.engine.enqueue({ type: "from-the-future", queue });
    const before = await jobOf(db, id);
    for (let n = 0; n < 5; n += 1)
      expect(await db.engine.claim({ queues: [queue], types: ["mail", "resize"], limit: 10 })).toEqual([]);
    await db.moveClock(86_400);
    await db.engine.maintain();

    expect(await jobOf(db, id)).toEqual(before);
    expect(before).toMatchObject({ state: "ready", attempts: 0, worker: null });
    expect((await db.engine.list({ type: "from-the-future" })).map((job) => job.id)).toEqual([id]);
    expect((await db.engine.queueDepth(queue)).ready).toBe(1);
    expect(await db.sql("select waiting::int from types where type = 'from-the-future'")).toEqual([{ waiting: 1 }]);

    expect(await claimOne(db, queue, { types: ["from-the-future"] })).toMatchObject({ id, attempt: 1 });
  });
});
