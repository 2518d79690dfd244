import { describe, expect, it } from "vitest";
import { useDatabase } from "../support/database.js";
import { claimOne, enqueue, newQueue } from "../support/jobs.js";

const db = useDatabase();

describe("jobs of equal priority", () => {
  it("go to one consumer in the order they were enqueued [#18]", async () => {
    const queue = await newQueue(db);
    const enqueued: string[] = [];
    for (let i = 0; i < 100; i += 1) enqueued.push(await enqueue(db, queue, { input: i }));
    expect(await drain(queue)).toEqual(enqueued);
  });

  it("keep that order when they come in batches, alone, and from several sessions in turn [#18]", async () => {
    const queue = await newQueue(db);
    const sessions = [await db.connect(), await db.connect(), await db.connect()];
    const enqueued: string[] = [];
    for (let i = 0; i < 30; i += 1) {
      const tx = sessions[i % 3]!;
      if (i % 5 === 0)
        enqueued.push(...(await db.engine.enqueueMany("work", [1, 2, 3], { queue }, { tx })).map((job) => job.id));
      else enqueued.push(await enqueue(db, queue, {}, { tx }));
    }
    expect(await drain(queue)).toEqual(enqueued);
  });

  it("keep that order across types, for a worker that takes them all [#18]", async () => {
    const queue = await newQueue(db);
    const enqueued: string[] = [];
    for (let i = 0; i < 30; i += 1) enqueued.push(await enqueue(db, queue, { type: ["a", "b", "c"][i % 3]! }));
    expect(await drain(queue)).toEqual(enqueued);
  });

  it("go before younger ones again, when they are given back or tried again at once [#18]", async () => {
    const queue = await newQueue(db);
    const enqueued: string[] = [];
    for (let i = 0; i < 10; i += 1) enqueued.push(await enqueue(db, queue));
    const jobs = await db.engine.claim({ queues: [queue], limit: 4 });
    await db.engine.release(jobs[0]!);
    await db.engine.retryLater(jobs[1]!, undefined, 0);
    await db.engine.release(jobs[2]!);
    await db.engine.retryLater(jobs[3]!, undefined, 0);
    expect(await drain(queue)).toEqual(enqueued);
  });
});

describe("a worker that handles only some types", () => {
  it("gets only those, oldest first, then nothing, though others are older [#35]", async () => {
    const queue = await newQueue(db);
    const older = await enqueue(db, queue, { type: "A" });
    const wanted: string[] = [];
    for (let i = 0; i < 10; i += 1) {
      wanted.push(await enqueue(db, queue, { type: "B" }));
      await enqueue(db, queue, { type: "A" });
    }
    expect(await drain(queue, ["B"])).toEqual(wanted);
    expect(await db.engine.claim({ queues: [queue], types: ["B"], limit: 100 })).toEqual([]);
    expect((await claimOne(db, queue, { types: ["A"] })).id).toBe(older);
  });
});

/** Claim one by one until there is nothing left. */
async function drain(queue: string, types?: readonly string[]): Promise<string[]> {
  const ids: string[] = [];
  for (;;) {
    const [job] = await db.engine.claim({ queues: [queue], ...(types ? { types } : {}) });
    if (!job) return ids;
    ids.push(job.id);
  }
}
