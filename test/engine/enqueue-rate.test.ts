import { describe, expect, it } from "vitest";
import { QueueFullError } from "../../src/db/errors.js";
import { useDatabase } from "../support/database.js";
import { newQueue } from "../support/jobs.js";
import { claimAll, invalidArgument } from "../support/steps.js";

const db = useDatabase();
const times = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

describe("enqueueRate", () => {
  it("refuses what a tenant enqueues too much, in every way to enqueue, tells when to try again, and writes nothing", async () => {
    const queue = await newQueue(db, { enqueueRate: { perSecond: 0.1, burst: 5 } });
    await db.engine.enqueue({ type: "t", queue, tenant: "acme" });
    await db.engine.enqueueMany("t", times(3), { queue, tenant: "acme" });
    for (const tooMuch of [
      () => db.engine.enqueueMany("t", times(2), { queue, tenant: "acme" }),
      () => db.engine.enqueueEach(times(2).map(() => ({ type: "t", queue, tenant: "acme" }))),
    ]) {
      const error: unknown = await tooMuch().catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(QueueFullError);
      expect((error as QueueFullError).retryAfterSeconds).toBeGreaterThan(5);
      expect((error as QueueFullError).retryAfterSeconds).toBeLessThanOrEqual(10);
    }
    await db.engine.enqueueEach([{ type: "t", queue, tenant: "acme", fingerprint: "f" }]);
    await expect(db.engine.enqueue({ type: "t", queue, tenant: "acme" })).rejects.toBeInstanceOf(QueueFullError);
    await db.engine.enqueueMany("t", times(5), { queue, tenant: "other" });
    await db.engine.enqueueMany("t", times(20), { queue });
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 30 });
    await db.moveClock(31);
    await db.engine.enqueueMany("t", times(3), { queue, tenant: "acme" });
    await expect(db.engine.enqueueMany("t", times(6), { queue, tenant: "acme" })).rejects.toMatchObject(
      invalidArgument,
    ); // never possible
  });

  it("with spillPriority lets what is too much go to a slower lane", async () => {
    const queue = await newQueue(db, { enqueueRate: { perSecond: 0.01, burst: 3, spillPriority: 9 } });
    await db.engine.enqueueEach([
      ...times(5).map((input) => ({ type: "t", queue, tenant: "acme", input })),
      ...times(2).map((input) => ({ type: "t", queue, tenant: "other", input: 10 + input })),
      { type: "t", queue, tenant: "acme", fingerprint: "f", input: 20 },
    ]);
    await db.engine.enqueueMany(
      "t",
      times(2).map((n) => 30 + n),
      { queue, tenant: "other" },
    ); // one is left: all of them spill over
    await db.engine.enqueueMany("t", [40], { queue, tenant: "other" });
    const jobs = await claimAll(db, queue);
    expect(jobs.map(({ input, priority }) => `${Number(input)}:${priority}`)).toEqual([
      "0:5",
      "1:5",
      "2:5",
      "10:5",
      "11:5",
      "40:5",
      "3:9",
      "4:9",
      "20:9",
      "30:9",
      "31:9",
    ]);
  });

  it("is kept by sessions that enqueue at the same time", async () => {
    const queue = await newQueue(db, { enqueueRate: { perSecond: 0.001, burst: 50 } });
    const outcomes = await Promise.allSettled(
      times(80).map(() => db.engine.enqueue({ type: "t", queue, tenant: "acme" })),
    );
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(50);
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 50 });
  });

  it("is kept by transactions on twenty connections, of which those that are refused roll back", async () => {
    const queue = await newQueue(db, { enqueueRate: { perSecond: 0.001, burst: 10 } });
    const accepted = await Promise.all(
      times(20).map(async () => {
        const tx = await db.connect();
        let n = 0;
        for (const _ of times(3)) {
          await tx.query("begin");
          const isAccepted = await db.engine.enqueue({ type: "t", queue, tenant: "acme" }, { tx }).then(
            () => true,
            () => false,
          );
          await tx.query(isAccepted ? "commit" : "rollback");
          if (isAccepted) n += 1;
        }
        return n;
      }),
    );
    expect(accepted.reduce((a, b) => a + b)).toBe(10);
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 10 });
  });

  it("that is not one is refused", async () => {
    const queue = await newQueue(db);
    for (const enqueueRate of [{ perSecond: 0 }, { perSecond: 1, spillPriority: 11 }, { spillPriority: 3 }]) {
      await expect(
        db.engine.queuePut(queue, { enqueueRate: enqueueRate as never }),
        JSON.stringify(enqueueRate),
      ).rejects.toMatchObject(invalidArgument);
    }
    await expect(
      db.engine.queuePut(queue, { rate: { perSecond: 1, spillPriority: 3 } as never }),
    ).rejects.toMatchObject(invalidArgument);
  });
});
