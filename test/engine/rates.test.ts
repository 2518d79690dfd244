import { describe, expect, it } from "vitest";
import { useDatabase } from "../support/database.js";
import { newQueue } from "../support/jobs.js";
import { claimAll, invalidArgument } from "../support/steps.js";

const db = useDatabase();
const times = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

/** How many can be claimed now, in the end, and after each of so many seconds. */
async function claimsAfter(queue: string, ...seconds: number[]): Promise<number[]> {
  const counts = [];
  for (const pause of seconds) {
    if (pause > 0) await db.moveClock(pause);
    const jobs = await claimAll(db, queue);
    for (const job of jobs) await db.engine.complete(job);
    counts.push(jobs.length);
  }
  return counts;
}

describe("a rate", () => {
  it("of a queue lets a burst go, then so many a second, and never more than a burst at once", async () => {
    const queue = await newQueue(db, { rate: { perSecond: 0.01, burst: 5 } });
    await db.engine.enqueueMany("t", times(50), { queue });
    expect(await claimsAfter(queue, 0, 0, 99, 2, 200, 10_000)).toEqual([5, 0, 0, 1, 2, 5]);
  });

  it("of a type holds in all queues, and without a burst a second's worth may come at once", async () => {
    await db.engine.typePut("rated", { rate: { perSecond: 3 } });
    const [one, two] = [await newQueue(db), await newQueue(db)];
    for (const queue of [one, two]) await db.engine.enqueueMany("rated", times(10), { queue });
    await db.engine.enqueueMany("other", times(4), { queue: two });
    const jobs = await db.engine.claim({ queues: [one, two], limit: 100 });
    expect(jobs.filter(({ type }) => type === "rated")).toHaveLength(3);
    expect(jobs.filter(({ type }) => type === "other")).toHaveLength(4);
  });

  it("of a resource counts units", async () => {
    await db.engine.resourcePut("api", { rate: { perSecond: 0.01, burst: 6 } });
    const queue = await newQueue(db);
    await db.engine.enqueueMany("t", times(10), { queue, resources: { api: 2 } });
    expect(await claimsAfter(queue, 0, 101, 100)).toEqual([3, 0, 1]);
  });

  it("of each group holds for each alone, and a group may have its own", async () => {
    const queue = await newQueue(db, { groupRate: { perSecond: 0.01, burst: 2 } });
    await db.engine.groupPut(queue, "c", { rate: { perSecond: 0.01, burst: 4 } });
    for (const group of ["a", "b", "c"]) await db.engine.enqueueMany("t", times(10), { queue, group });
    await db.engine.enqueueMany("t", times(3), { queue });
    const count = async (): Promise<string> => {
      const jobs = await claimAll(db, queue);
      for (const job of jobs) await db.engine.complete(job);
      return ["a", "b", "c", undefined].map((group) => jobs.filter((job) => job.group === group).length).join(" ");
    };
    expect(await count()).toBe("2 2 4 3");
    expect(await count()).toBe("0 0 0 0");
    await db.moveClock(101);
    expect(await count()).toBe("1 1 1 0");
    await db.moveClock(1000);
    expect(await count()).toBe("2 2 4 0");
    await db.engine.queuePut(queue, { groupRate: null });
    expect(await count()).toBe("5 5 0 0"); // what is left of those that had no rate of their own
    await db.engine.groupPut(queue, "c", { rate: null });
    expect(await count()).toBe("0 0 1 0");
  });

  it.each([
    ["of each group", { groupRate: { perSecond: 0.01, burst: 2 } }],
    ["of one group", {}],
  ])("%s holds for jobs too whose lease ended, however often [#77]", async (_, defaults) => {
    const queue = await newQueue(db, defaults);
    if (!("groupRate" in defaults)) await db.engine.groupPut(queue, "g", { rate: { perSecond: 0.01, burst: 2 } });
    await db.engine.enqueueMany("t", times(10), { queue, group: "g", maxAttempts: 100 });
    const started = async (): Promise<number> => {
      for (let n = 0; ;) {
        const jobs = await db.engine.claim({ queues: [queue], limit: 50, leaseSeconds: 5 });
        if (jobs.length === 0) return n;
        n += jobs.length;
      }
    };
    expect(await started()).toBe(2);
    for (const _ of times(3)) {
      await db.moveClock(6); // all leases have ended
      expect(await started()).toBe(0);
    }
    await db.moveClock(100);
    expect(await started()).toBe(1);
  });

  it("can be changed while jobs wait", async () => {
    const queue = await newQueue(db, { rate: { perSecond: 0.01, burst: 1 } });
    await db.engine.enqueueMany("t", times(20), { queue });
    expect(await claimsAfter(queue, 0)).toEqual([1]);
    await db.engine.queuePut(queue, { rate: { perSecond: 1, burst: 10 } });
    expect(await claimsAfter(queue, 0, 5)).toEqual([0, 5]);
    await db.engine.queuePut(queue, { rate: null });
    expect(await claimsAfter(queue, 0)).toEqual([14]);
  });

  it("is kept together by sessions that claim as fast as they can", async () => {
    const queue = await newQueue(db, { rate: { perSecond: 50, burst: 10 } });
    await db.engine.enqueueMany("t", times(2000), { queue });
    const startedAt = performance.now();
    let started = 0;
    let tooMany = "";
    await Promise.all(
      times(8).map(async () => {
        while (performance.now() - startedAt < 3000) {
          const jobs = await db.engine.claim({ queues: [queue], limit: 3 });
          started += jobs.length;
          const allowed = 10 + (50 * (performance.now() - startedAt)) / 1000;
          if (started > allowed + 1) tooMany ||= `${started} of ${allowed}`;
        }
      }),
    );
    expect(tooMany).toBe("");
    expect(started).toBeGreaterThan(100); // 160 were possible; a busy machine may lose some
  });

  it("tells when it will allow for more", async () => {
    const queue = await newQueue(db, { rate: { perSecond: 0.1, burst: 1 } });
    await db.engine.enqueueMany("t", times(3), { queue });
    const [, last] = (await db.sql("select millrace.job_claim_json(array[$1], p_limit => 5) as claims", [queue]))[0]![
      "claims"
    ] as { waitSeconds: number }[];
    expect(last!.waitSeconds).toBeGreaterThan(9);
    expect(last!.waitSeconds).toBeLessThanOrEqual(10);
  });

  it("of 0, of nothing, or with a burst below 1 is refused", async () => {
    const queue = await newQueue(db);
    const bad = [
      { perSecond: 0 },
      { perSecond: -1 },
      { perSecond: Number.NaN },
      {},
      { burst: 2 },
      { perSecond: 1, burst: 0 },
      { perSecond: 1, per: 2 },
      7,
    ];
    for (const rate of bad) {
      await expect(db.engine.queuePut(queue, { rate: rate as never }), JSON.stringify(rate)).rejects.toMatchObject(
        invalidArgument,
      );
      await expect(db.engine.groupPut(queue, "g", { rate: rate as never }), JSON.stringify(rate)).rejects.toMatchObject(
        invalidArgument,
      );
    }
    await expect(db.engine.cellPut({ rate: { perSecond: 1 } })).rejects.toMatchObject(invalidArgument);
    await expect(db.engine.typePut("t", { groupRate: { perSecond: 1 } })).rejects.toMatchObject(invalidArgument);
  });
});
