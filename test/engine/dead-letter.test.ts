import { describe, expect, it } from "vitest";
import type { ClaimedJob } from "../../src/db/types.js";
import { useDatabase } from "../support/database.js";
import { claimOne, jobOf, newQueue } from "../support/jobs.js";
import { claimAll, invalidArgument, queueNotFound } from "../support/steps.js";

const db = useDatabase();

/** A queue and the one its failed jobs are copied to. */
async function withDeadLetters(): Promise<{ queue: string; letters: string }> {
  const letters = await newQueue(db);
  return { queue: await newQueue(db, { deadLetterQueue: letters, retry: 0 }), letters };
}

const exhaust = async (queue: string, message: string): Promise<void> => {
  for (const job of await claimAll(db, queue)) await db.engine.retryLater(job, { message });
};

describe("an exhausted job", () => {
  it("is failed, and its copy in the dead-letter queue says where it came from and why [#99]", async () => {
    const { queue, letters } = await withDeadLetters();
    const payload = new Uint8Array([0, 255, 1]);
    const { id } = await db.engine.enqueue({
      type: "mail",
      queue,
      input: { to: "a" },
      headers: { h: 1 },
      tenant: "acme",
      priority: 2,
      maxAttempts: 2,
      payload,
      contentType: "x/y",
    });
    await exhaust(queue, "first");
    expect(await claimAll(db, letters)).toEqual([]);
    await exhaust(queue, "second");

    expect(await jobOf(db, id)).toMatchObject({ state: "failed", reason: "exhausted", attempts: 2 });
    const letter = await claimOne(db, letters);
    expect(letter).toMatchObject({
      type: "mail",
      input: { to: "a" },
      headers: { h: 1 },
      tenant: "acme",
      priority: 2,
      attempt: 1,
      payload,
      contentType: "x/y",
      source: { id, queue, attempts: 2, error: { message: "second" } },
    });
    expect(letter.id).not.toBe(id);
  });

  it("whose last attempt was lost is copied too [#99] [#136]", async () => {
    const { queue, letters } = await withDeadLetters();
    const { id } = await db.engine.enqueue({ type: "t", queue, maxAttempts: 1 });
    await claimOne(db, queue, { leaseSeconds: 5 });
    await db.moveClock(5);
    await db.engine.maintain();
    expect(await jobOf(db, id)).toMatchObject({ state: "failed", reason: "lost" });
    expect((await claimOne(db, letters)).source).toMatchObject({ id, queue, attempts: 1 });
  });

  it("has its large payload copied with it [#99]", async () => {
    const { queue, letters } = await withDeadLetters();
    const payload = Uint8Array.from({ length: 1_100_000 }, (_, i) => i % 251);
    await db.engine.enqueue({ type: "t", queue, payload, maxAttempts: 1 });
    await exhaust(queue, "no");
    const letter = await claimOne(db, letters);
    const pieces: Uint8Array[] = [];
    for await (const piece of db.engine.payloadStream(letter.id)) pieces.push(piece);
    expect(Buffer.concat(pieces).equals(payload)).toBe(true);
  });

  it.each([
    ["NUL", "exit 1: \0\0"],
    ["a lone surrogate", "exit 1: \ud800"],
  ])("is copied whatever its error says: %s [#99]", async (_, message) => {
    const { queue, letters } = await withDeadLetters();
    const { id } = await db.engine.enqueue({ type: "t", queue, maxAttempts: 1 });
    await exhaust(queue, message);
    expect((await jobOf(db, id)).state).toBe("failed");
    // What PostgreSQL's text cannot hold may have been replaced; the report must not fail for it.
    expect((await claimOne(db, letters)).source).toMatchObject({
      id,
      error: { message: expect.stringMatching(/^exit 1: ./) },
    });
  });

  it("and its copy appear together: both or neither [#99]", async () => {
    const { queue, letters } = await withDeadLetters();
    const { id } = await db.engine.enqueue({ type: "t", queue, maxAttempts: 1 });
    const job = await claimOne(db, queue);
    const tx = await db.connect();
    await tx.query("begin");
    await db.engine.retryLater(job, { message: "no" }, undefined, { tx });
    expect((await jobOf(db, id)).state).toBe("running");
    expect(await claimAll(db, letters)).toEqual([]);
    await tx.query("rollback");
    expect((await jobOf(db, id)).state).toBe("running");
    expect(await claimAll(db, letters)).toEqual([]);

    await db.engine.retryLater(job, { message: "no" });
    expect((await jobOf(db, id)).state).toBe("failed");
    expect((await claimOne(db, letters)).source).toMatchObject({ id });
  });
});

describe("other ends", () => {
  it.each([
    ["a permanent failure", (job: ClaimedJob) => db.engine.fail(job, { message: "bad input" }), 1],
    ["a success", (job: ClaimedJob) => db.engine.complete(job), 0],
    ["a cancellation", (job: ClaimedJob) => db.engine.cancel([job.id]), 0],
  ])("%s leaves the right number of letters [#99]", async (_, end, expected) => {
    const { queue, letters } = await withDeadLetters();
    await db.engine.enqueue({ type: "t", queue });
    await end(await claimOne(db, queue));
    expect(await claimAll(db, letters)).toHaveLength(expected);
  });

  it("a worker may choose the target itself [#99]", async () => {
    const queue = await newQueue(db);
    const poison = await newQueue(db);
    const { id } = await db.engine.enqueue({ type: "t", queue, input: 7 });
    await db.engine.deadLetter(await claimOne(db, queue), poison, { message: "poison" });
    expect(await jobOf(db, id)).toMatchObject({ state: "failed", reason: "permanent" });
    expect(await claimOne(db, poison)).toMatchObject({
      input: 7,
      source: { id, queue, attempts: 1, error: { message: "poison" } },
    });
  });

  it("an unknown target is refused, and the lease stays [#99]", async () => {
    const queue = await newQueue(db);
    const { id } = await db.engine.enqueue({ type: "t", queue });
    const job = await claimOne(db, queue);
    await expect(db.engine.deadLetter(job, "nowhere")).rejects.toMatchObject(queueNotFound);
    await expect(db.engine.queuePut(queue, { deadLetterQueue: "nowhere" })).rejects.toMatchObject(queueNotFound);
    expect((await jobOf(db, id)).state).toBe("running");
  });
});

describe("redrive", () => {
  it("returns letters to the queue each came from, with a fresh budget [#99]", async () => {
    const letters = await newQueue(db);
    const queues = [
      await newQueue(db, { deadLetterQueue: letters, retry: 0 }),
      await newQueue(db, { deadLetterQueue: letters, retry: 0 }),
    ] as const;
    for (const queue of queues) {
      await db.engine.enqueue({ type: "t", queue, input: `of ${queue}`, maxAttempts: 1 });
      await exhaust(queue, "no");
    }
    expect(await db.engine.queueRedrive(letters)).toBe(2);
    expect(await claimAll(db, letters)).toEqual([]);
    for (const queue of queues)
      expect(await claimOne(db, queue)).toMatchObject({ input: `of ${queue}`, attempt: 1, maxAttempts: 1 });
  });

  it("goes to another queue when told, at most as many as told [#99]", async () => {
    const { queue, letters } = await withDeadLetters();
    const target = await newQueue(db);
    await db.engine.enqueueMany("t", [1, 2, 3], { queue, maxAttempts: 1 });
    await exhaust(queue, "no");
    expect(await db.engine.queueRedrive(letters, { target, limit: 2 })).toBe(2);
    expect(await claimAll(db, target)).toHaveLength(2);
    expect(await claimAll(db, letters)).toHaveLength(1);
    expect(await claimAll(db, queue)).toEqual([]);
  });

  it("leaves jobs that are no letters where they are, ready as before [#99]", async () => {
    const { letters } = await withDeadLetters();
    const { id } = await db.engine.enqueue({ type: "t", queue: letters });
    expect(await db.engine.queueRedrive(letters)).toBe(0);
    expect(await claimOne(db, letters)).toMatchObject({ id, attempt: 1 });
  });

  it("brings a letter back again when it fails again [#99]", async () => {
    const { queue, letters } = await withDeadLetters();
    await db.engine.enqueue({ type: "t", queue, maxAttempts: 1, input: "stubborn" });
    await exhaust(queue, "no");
    for (let round = 0; round < 3; round += 1) {
      expect(await db.engine.queueRedrive(letters)).toBe(1);
      await exhaust(queue, "still no");
    }
    expect(await claimOne(db, letters)).toMatchObject({
      input: "stubborn",
      source: { queue, error: { message: "still no" } },
    });
  });

  it("happens wholly or not at all [#99]", async () => {
    const { queue, letters } = await withDeadLetters();
    await db.engine.enqueue({ type: "t", queue, maxAttempts: 1 });
    await exhaust(queue, "no");
    const tx = await db.connect();
    await tx.query("begin");
    await db.engine.queueRedrive(letters, {}, { tx });
    await tx.query("rollback");
    expect(await claimAll(db, queue)).toEqual([]);
    expect(await claimAll(db, letters)).toHaveLength(1);
  });

  it("refuses a limit of 0 [#99]", async () => {
    const { letters } = await withDeadLetters();
    await expect(db.engine.queueRedrive(letters, { limit: 0 })).rejects.toMatchObject(invalidArgument);
  });
});
