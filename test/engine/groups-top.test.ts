import { describe, expect, it } from "vitest";
import type { GroupDepth } from "../../src/db/types.js";
import { useDatabase } from "../support/database.js";
import { newQueue } from "../support/jobs.js";
import { pagesOf } from "../support/steps.js";

const db = useDatabase();
const times = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

/** Jobs of as many groups as asked for, `each` for every one, a thousand tickets to a call. */
async function fill(queue: string, groups: number, each: number): Promise<void> {
  for (let from = 0; from < groups; from += 1000) {
    const jobs = times(Math.min(1000, groups - from)).flatMap((n) =>
      times(each).map(() => ({ type: "t", queue, group: `small-${from + n}` })),
    );
    await db.engine.enqueueEach(jobs);
  }
}

const named = (groups: readonly GroupDepth[], name: string | null): GroupDepth =>
  groups.find((one) => one.group === name)!;

describe("the groups of a long backlog", () => {
  it(
    "are estimated from a sample: the dominant first, by their share, with exact ages and what runs [#37]",
    { timeout: 120_000 },
    async () => {
      const queue = await newQueue(db);
      const start = Date.now();
      await db.engine.enqueueMany("t", times(2000), { queue, group: "early" });
      await db.moveClock(600);
      for (let n = 0; n < 20; n += 1) {
        await db.engine.enqueueMany("t", times(1500), { queue, group: "half" });
        await db.engine.enqueueMany("t", times(600), { queue, group: "fifth" });
        await db.engine.enqueueMany("t", times(300), { queue });
        await fill(queue, 300, 1);
      }
      await db.engine.enqueueMany("t", times(400), { queue, group: "later", delaySeconds: 3600 });
      await db.moveClock(100);
      const claimed = await db.engine.claim({ queues: [queue], limit: 20, leaseSeconds: 3600 });
      // of those delayed, the newest
      await db.engine.cancel((await db.engine.list({ queue, limit: 10 })).map((job) => job.id));

      const groups = await db.engine.queueGroups(queue, 400);
      const total = 2000 + 20 * 2700 - 20;
      expect(groups.every((one) => one.estimated)).toBe(true);
      expect(groups.slice(0, 3).map((one) => one.group)).toEqual(["half", "fifth", null]);
      const expected = { half: 30_000, fifth: 12_000, none: 6000, early: 2000 };
      for (const [name, jobs] of Object.entries(expected)) {
        const { waiting, share } = named(groups, name === "none" ? null : name);
        expect(share, name).toBeCloseTo(waiting / total, 2);
        expect(Math.abs(waiting - jobs), `${name} ${waiting}`).toBeLessThan(total * 0.08);
      }
      const early = named(groups, "early");
      const elapsed = (Date.now() - start) / 1000;
      expect(early.oldestAgeSeconds).toBeGreaterThanOrEqual(700);
      expect(early.oldestAgeSeconds).toBeLessThan(701 + elapsed);
      for (const name of ["half", "fifth", null]) {
        expect(named(groups, name).oldestAgeSeconds).toBeGreaterThanOrEqual(100);
        expect(named(groups, name).oldestAgeSeconds).toBeLessThan(101 + elapsed);
      }
      expect(named(groups, "later")).toMatchObject({ waiting: 0, delayed: 390, oldestAgeSeconds: null });
      for (const name of ["half", "fifth", null])
        expect(named(groups, name).running).toBe(claimed.filter((job) => (job.group ?? null) === name).length);
      expect(groups.reduce((sum, one) => sum + one.running, 0)).toBeGreaterThan(0);
    },
  );

  it("are within a tenth of the truth when batches differ in size [#37]", { timeout: 120_000 }, async () => {
    const queue = await newQueue(db);
    const truth = new Map<string, number>();
    // A third of the groups came in one batch, a third in a few, and a third one by one.
    for (let n = 0; n < 24; n += 1) {
      const [group, jobs] = [`group-${n}`, 400 + n * 60];
      truth.set(group, jobs);
      if (n % 3 === 0) await db.engine.enqueueMany("t", times(jobs), { queue, group });
      else if (n % 3 === 1)
        for (const part of [0.7, 0.2, 0.1]) await db.engine.enqueueMany("t", times(jobs * part), { queue, group });
      else await db.engine.enqueueEach(times(jobs).map((i) => ({ type: "t", queue, group, input: i })));
    }
    const total = [...truth.values()].reduce((sum, jobs) => sum + jobs, 0);
    await db.engine.claim({ queues: [queue], limit: 5 });
    for (let n = 0; n < 3; n += 1) {
      const groups = await db.engine.queueGroups(queue, 100);
      expect(groups.every((one) => one.estimated)).toBe(true);
      for (const [group, jobs] of truth) {
        expect(jobs).toBeGreaterThan(total * 0.01);
        expect(Math.abs((named(groups, group)?.waiting ?? 0) / jobs - 1), `${group}, ${jobs}`).toBeLessThan(0.1);
      }
    }
  });

  it(
    "are read at a cost that depends neither on how much waits nor on how many groups there are",
    { timeout: 180_000 },
    async () => {
      const client = await db.connect();
      const pages = async (queue: string): Promise<number> => {
        const least: number[] = [];
        for (let n = 0; n < 3; n += 1) least.push(await pagesOf(client, `select * from queue_groups('${queue}', 20)`));
        return Math.min(...least);
      };
      const queue = await newQueue(db);
      await fill(queue, 20_000, 1);
      await db.engine.claim({ queues: [queue], limit: 500 });
      const small = await pages(queue);
      await fill(queue, 60_000, 1);
      for (let n = 0; n < 20; n += 1) await db.engine.enqueueMany("t", times(10_000), { queue, group: "large" });
      await db.engine.claim({ queues: [queue], limit: 500 });
      const large = await pages(queue);
      console.log(`pages read: ${small} of 20,000 jobs in as many groups, ${large} of 280,000 in 60,000`);
      expect(large).toBeLessThan(small * 1.5 + 1000);
      expect((await db.engine.queueGroups(queue, 1))[0]).toMatchObject({ group: "large", estimated: true });
    },
  );
});
