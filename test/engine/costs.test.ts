import { describe, expect, it } from "vitest";
import { useDatabase } from "../support/database.js";
import { newQueue } from "../support/jobs.js";
import { invalidArgument, pagesOf } from "../support/steps.js";

const db = useDatabase();
const times = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

type Shares = Readonly<Record<string, number>>;

/**
 * Claim and finish again and again, and tell how many jobs each group had. Every claim must be full: while there is
 * work, nobody waits.
 */
async function served(queue: string, claims: number, limit = 1): Promise<Shares> {
  const shares: Record<string, number> = {};
  for (let n = 0; n < claims; n += 1) {
    const jobs = await db.engine.claim({ queues: [queue], limit });
    expect(jobs, `claim ${n}`).toHaveLength(limit);
    for (const { group } of jobs) shares[group ?? "none"] = (shares[group ?? "none"] ?? 0) + 1;
    for (const token of new Set(jobs.map((job) => job.token))) {
      await db.engine.settle([
        { token, outcome: "succeeded", jobs: jobs.filter((job) => job.token === token).map((job) => job.id) },
      ]);
    }
  }
  return shares;
}

async function queueOf(
  groups: Readonly<Record<string, { jobs: number; cost?: number; weight?: number }>>,
): Promise<string> {
  const queue = await newQueue(db);
  for (const [group, { jobs, cost, weight }] of Object.entries(groups)) {
    if (weight !== undefined) await db.engine.groupPut(queue, group, { weight });
    await db.engine.enqueueMany("t", times(jobs), {
      queue,
      ...(group === "none" ? {} : { group }),
      ...(cost === undefined ? {} : { cost }),
    });
  }
  return queue;
}

describe("groups whose jobs have costs", () => {
  it("share costs: of 220 claims a group of jobs that cost 10 has 20, one of jobs that cost 1 has 200", async () => {
    const queue = await queueOf({ dear: { jobs: 60, cost: 10 }, cheap: { jobs: 400 } });
    const shares = await served(queue, 220);
    expect(shares["dear"]).toBeGreaterThanOrEqual(19);
    expect(shares["dear"]).toBeLessThanOrEqual(22);
  });

  it("share them by weight: of 3 and 1, and 1 and 2", async () => {
    const heavy = await served(await queueOf({ dear: { jobs: 100, cost: 10, weight: 3 }, cheap: { jobs: 400 } }), 260);
    expect(heavy["dear"]! * 10).toBeGreaterThan(heavy["cheap"]! * 3 * 0.9);
    expect(heavy["dear"]! * 10).toBeLessThan(heavy["cheap"]! * 3 * 1.1);
    const light = await served(await queueOf({ dear: { jobs: 50, cost: 10 }, cheap: { jobs: 400, weight: 2 } }), 210);
    expect(light["dear"]! * 20).toBeGreaterThan(light["cheap"]! * 0.9);
    expect(light["dear"]! * 20).toBeLessThan(light["cheap"]! * 1.15);
  });

  it("share them over time when claims take many", async () => {
    const queue = await queueOf({
      dear: { jobs: 1500, cost: 10 },
      middle: { jobs: 4000, cost: 4 },
      cheap: { jobs: 12_000 },
    });
    const { dear = 0, middle = 0, cheap = 0 } = await served(queue, 100, 100);
    const fair = (dear * 10 + middle * 4 + cheap) / 3;
    for (const cost of [dear * 10, middle * 4, cheap]) {
      expect(cost).toBeGreaterThan(fair * 0.85);
      expect(cost).toBeLessThan(fair * 1.15);
    }
  });

  it("take no longer turns for it: the cheap ones are served between any two dear jobs", async () => {
    const queue = await queueOf({ dear: { jobs: 100, cost: 1000 }, b: { jobs: 200 }, c: { jobs: 200 } });
    const shares = await served(queue, 100);
    expect(shares["dear"]).toBe(1);
    expect(Math.abs(shares["b"]! - shares["c"]!)).toBeLessThanOrEqual(1);
  });

  it("are served at once when nobody else waits, whatever they owe, and owe the newcomer nothing for it", async () => {
    const queue = await queueOf({ dear: { jobs: 120, cost: 1_000_000 } });
    expect(await served(queue, 20)).toEqual({ dear: 20 });
    expect(await served(queue, 1, 50)).toEqual({ dear: 50 });
    await db.engine.enqueueMany("t", times(30), { queue, group: "new" });
    expect(await served(queue, 10), "only what was taken last counts").toEqual({ new: 10 });
    expect(await served(queue, 60)).toEqual({ new: 20, dear: 40 });

    const mild = await queueOf({ dear: { jobs: 200, cost: 20 } });
    await served(mild, 60);
    await db.engine.enqueueMany("t", times(200), { queue: mild, group: "new" });
    const shares = await served(mild, 84);
    expect(shares["dear"]).toBeGreaterThanOrEqual(3);
    expect(shares["dear"]).toBeLessThanOrEqual(5);
  });

  it("owe less while they are away: others' turns pass for them too", async () => {
    const queue = await queueOf({ away: { jobs: 1, cost: 50 }, a: { jobs: 400 }, b: { jobs: 400 } });
    expect(await served(queue, 3)).toEqual({ away: 1, a: 1, b: 1 });
    await served(queue, 60);
    await db.engine.enqueue({ type: "t", queue, group: "away", cost: 50 });
    const half = await served(queue, 20);
    expect(half["away"], "30 of 50 turns have passed").toBeUndefined();
    expect((await served(queue, 40))["away"]).toBe(1);
    await served(queue, 150);
    await db.engine.enqueue({ type: "t", queue, group: "away", cost: 50 });
    expect((await served(queue, 3))["away"], "all of them").toBe(1);
  });

  it("share among more than a claim looks at, most of which owe", { timeout: 120_000 }, async () => {
    const queue = await newQueue(db);
    const isCheap = (g: number): boolean => g % 40 === 0;
    await db.engine.enqueueEach(
      times(400).flatMap((g) =>
        times(isCheap(g) ? 400 : 20).map(() => ({ type: "t", queue, group: `g${g}`, cost: isCheap(g) ? 1 : 20 })),
      ),
    );
    const shares = await served(queue, 147, 40);
    const costs = (which: (g: number) => boolean): number[] =>
      times(400).flatMap((g) => (which(g) ? [(shares[`g${g}`] ?? 0) * (isCheap(g) ? 1 : 20)] : []));
    const mean = (all: readonly number[]): number => all.reduce((sum, one) => sum + one, 0) / all.length;
    const [cheap, dear] = [costs(isCheap), costs((g) => !isCheap(g))];
    expect(mean(cheap) / mean(dear)).toBeGreaterThan(0.8);
    expect(mean(cheap) / mean(dear)).toBeLessThan(1.15);
    for (const group of [cheap, dear]) expect(Math.max(...group) - Math.min(...group)).toBeLessThanOrEqual(40);
  });

  it("cost a claim the same however many there are, and whatever they owe", async () => {
    const pages = async (groups: number): Promise<number> => {
      const queue = await newQueue(db);
      await db.engine.enqueueEach(
        times(groups * 3).map((n) => ({ type: "t", queue, group: `g${n % groups}`, cost: 1 + ((n * 7919) % 100_000) })),
      );
      await served(queue, Math.ceil(groups / 100), 100); // everybody has had a turn, and owes
      const client = await db.connect();
      const all: number[] = [];
      for (let n = 0; n < 8; n += 1) all.push(await pagesOf(client, `select job_claim_json(array['${queue}'])`));
      return Math.min(...all);
    };
    const [some, many] = [await pages(200), await pages(4000)];
    expect(many).toBeLessThan(some * 1.5 + 50);
  });

  it("share with jobs that have no group", async () => {
    const queue = await queueOf({ none: { jobs: 60, cost: 10 }, cheap: { jobs: 400 } });
    const shares = await served(queue, 220);
    expect(shares["none"]).toBeGreaterThanOrEqual(18);
    expect(shares["none"]).toBeLessThanOrEqual(23);
    const alone = await queueOf({ none: { jobs: 60, cost: 1000 }, few: { jobs: 2 } });
    expect(await served(alone, 62)).toEqual({ none: 60, few: 2 });
  });

  it("pay for each attempt, and not for jobs that were cancelled", async () => {
    const queue = await queueOf({ failing: { jobs: 5, cost: 20 }, cheap: { jobs: 400 } });
    let attempts = 0;
    for (let n = 0; n < 210; n += 1) {
      const [job] = await db.engine.claim({ queues: [queue] });
      if (job!.group === "failing") {
        attempts += 1;
        await db.engine.retryLater(job!, { message: "no" }, 0);
      } else await db.engine.complete(job!);
    }
    expect(attempts).toBeGreaterThanOrEqual(9);
    expect(attempts).toBeLessThanOrEqual(12);

    const cancelled = await queueOf({ dear: { jobs: 40, cost: 1000 }, cheap: { jobs: 100 } });
    const dear = (await db.engine.list({ queue: cancelled, limit: 1000 })).filter((job) => job.group === "dear");
    await db.engine.cancel(dear.slice(1).map((job) => job.id));
    const shares = await served(cancelled, 50);
    expect(shares).toEqual({ dear: 1, cheap: 49 });
    await db.engine.enqueueMany("t", times(2), { queue: cancelled, group: "dear" });
    expect((await served(cancelled, 53))["dear"], "nobody else waits in the end").toBe(2);
  });

  it("are all served in the end, whatever their costs, weights, limits and pauses", { timeout: 120_000 }, async () => {
    const queue = await newQueue(db);
    await db.engine.queuePut(queue, { groupMaxRunning: 2 });
    for (const g of times(12)) await db.engine.groupPut(queue, `g${g}`, { weight: 1 + ((g * 7) % 13) });
    await db.engine.enqueueEach(
      times(600).map((n) => ({ type: "t", queue, group: `g${(n * n) % 12}`, cost: 1 + ((n * 7919) % 5000) })),
    );
    await db.engine.queuePause(queue, { group: "g1" });
    const seen = new Set<string>();
    for (let n = 0; seen.size < 600 && n < 2000; n += 1) {
      const jobs = await db.engine.claim({ queues: [queue], limit: 1 + (n % 7) });
      if (jobs.length === 0) await db.engine.queueResume(queue, { group: "g1" });
      for (const job of jobs) {
        expect(seen.has(job.id)).toBe(false);
        seen.add(job.id);
        await db.engine.complete(job);
      }
    }
    expect(seen.size).toBe(600);
  });
});

describe("a cost", () => {
  it("may be a default of the type, the queue or the cell, and is kept by copies", async () => {
    const queue = await newQueue(db);
    const dead = await newQueue(db);
    await db.engine.queuePut(queue, { cost: 3, deadLetterQueue: dead });
    await db.engine.typePut("costly", { cost: 7 });
    const cost = async (job: { id: string }): Promise<number> => (await db.engine.get(job.id))!.job.cost;
    expect(await cost(await db.engine.enqueue({ type: "t", queue }))).toBe(3);
    expect(await cost(await db.engine.enqueue({ type: "t", queue, group: "g" }))).toBe(3);
    expect(await cost(await db.engine.enqueue({ type: "costly", queue, tenant: "x" }))).toBe(7);
    expect(await cost(await db.engine.enqueue({ type: "costly", queue, cost: 1 }))).toBe(1);
    expect(await cost(await db.engine.enqueue({ type: "t" }))).toBe(1);
    const [job] = await db.engine.claim({ queues: [queue] });
    await db.engine.fail(job!, { message: "no" });
    const [copy] = await db.engine.list({ queue: dead });
    expect(copy).toMatchObject({ cost: 3 });
    await db.engine.typePut("costly", { cost: null });
  });

  it("of 0, below, of no number, not whole or above 1,000,000 is refused, and nothing is stored", async () => {
    const queue = await newQueue(db);
    for (const cost of [0, -1, 1.5, Number.NaN, Infinity, 1_000_001, "many"]) {
      const options = { queue, group: "g", cost: cost as number };
      await expect(db.engine.enqueue({ type: "t", ...options }), `${cost}`).rejects.toMatchObject(invalidArgument);
      await expect(db.engine.enqueueMany("t", [1, 2], options), `${cost}`).rejects.toMatchObject(invalidArgument);
      await expect(
        db.engine.enqueueEach([
          { type: "t", queue },
          { type: "t", ...options },
        ]),
        `${cost}`,
      ).rejects.toMatchObject(invalidArgument);
      await expect(db.engine.queuePut(queue, { cost: cost as number }), `${cost}`).rejects.toMatchObject(
        invalidArgument,
      );
    }
    for (const cost of ["0", "-1", "1.5", '"NaN"', "1000001", "1e10", "true", "[1]"]) {
      await expect(
        db.sql(`select job_enqueue('t', null, $1)`, [`{"queue": "${queue}", "cost": ${cost}}`]),
        cost,
      ).rejects.toMatchObject({ code: "MR001" });
      await expect(db.sql(`select queue_put($1, $2)`, [queue, `{"cost": ${cost}}`]), cost).rejects.toMatchObject({
        code: "MR001",
      });
    }
    expect(await db.engine.list({ queue })).toEqual([]);
  });
});
