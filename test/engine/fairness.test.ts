import { describe, expect, it } from "vitest";
import { useDatabase } from "../support/database.js";
import { newQueue } from "../support/jobs.js";

const db = useDatabase();
const times = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

/** Claim one at a time, finish each, and tell whose they were. */
async function claimed(queue: string, claims: number, limit = 1): Promise<string[]> {
  const groups: string[] = [];
  for (let n = 0; n < claims; n += 1) {
    for (const job of await db.engine.claim({ queues: [queue], limit })) {
      groups.push(job.group ?? "none");
      await db.engine.complete(job);
    }
  }
  return groups;
}

const count = (groups: readonly string[], group: string): number => groups.filter((one) => one === group).length;

describe("groups of a queue", () => {
  it("take turns: a newcomer is served next although another has 10,000 waiting [#66]", async () => {
    const queue = await newQueue(db);
    await db.engine.enqueueMany("t", times(10_000), { queue, group: "a" });
    expect(await claimed(queue, 3)).toEqual(["a", "a", "a"]);
    await db.engine.enqueue({ type: "t", queue, group: "b" });
    expect(await claimed(queue, 2)).toContain("b");
    expect(await claimed(queue, 2)).toEqual(["a", "a"]);
  });

  it("take turns also when the 10,000 were enqueued one by one [#66]", async () => {
    const queue = await newQueue(db);
    await db.sql(
      `select millrace.job_enqueue('t', null, json_build_object('queue', $1::text, 'group', 'a')) from generate_series(1, 10000)`,
      [queue],
    );
    await db.engine.enqueue({ type: "t", queue, group: "b" });
    expect(await claimed(queue, 2)).toEqual(["a", "b"]);
    expect(await claimed(queue, 3)).toEqual(["a", "a", "a"]);
  });

  it("without a group a newcomer is last [#66]", async () => {
    const queue = await newQueue(db);
    await db.engine.enqueueMany("t", times(50), { queue });
    const { id } = await db.engine.enqueue({ type: "t", queue });
    const order: string[] = [];
    for (let n = 0; n < 51; n += 1) order.push((await db.engine.claim({ queues: [queue] }))[0]!.id);
    expect(order.at(-1)).toBe(id);
  });

  it("share a claim of many evenly, and fill it when few have much [#66]", async () => {
    const queue = await newQueue(db);
    for (const group of ["a", "b", "c", "d"]) await db.engine.enqueueMany("t", times(500), { queue, group });
    for (const group of ["e", "f"]) await db.engine.enqueueMany("t", times(2), { queue, group });
    const shares = await claimed(queue, 1, 100);
    expect(shares).toHaveLength(100);
    for (const group of ["a", "b", "c", "d"]) expect(count(shares, group)).toBeGreaterThanOrEqual(16);
    for (const group of ["e", "f"]) expect(count(shares, group)).toBe(2);
  });

  it("share with jobs that have no group, whoever has more [#66]", async () => {
    const queue = await newQueue(db);
    await db.engine.enqueueMany("t", times(100), { queue });
    await db.engine.enqueueMany("t", times(100), { queue, group: "a" });
    await db.engine.enqueueMany("t", times(100), { queue, group: "b" });
    const shares = await claimed(queue, 60);
    for (const group of ["a", "b", "none"]) expect(count(shares, group)).toBe(20);
  });

  it("share across types: who floods one does not delay another [#66]", async () => {
    const queue = await newQueue(db);
    await db.engine.enqueueMany("flooded", times(1000), { queue, group: "a" });
    expect(await claimed(queue, 1)).toEqual(["a"]);
    await db.engine.enqueue({ type: "other", queue, group: "b" });
    expect(await claimed(queue, 2)).toContain("b");
  });

  it("retry in their own turn: who fails much does not delay the retries of others [#66]", async () => {
    const queue = await newQueue(db);
    await db.engine.enqueueMany("t", times(300), { queue, group: "a" });
    const failing = await db.engine.claim({ queues: [queue], limit: 300 });
    await db.engine.enqueue({ type: "t", queue, group: "b" });
    const [b] = await db.engine.claim({ queues: [queue] });
    for (const token of new Set(failing.map((job) => job.token))) {
      await db.engine.settle([{ token, outcome: "retry", jobs: failing.filter((job) => job.token === token).map((job) => job.id), delaySeconds: 0, error: { message: "no" } }]);
    }
    await db.engine.retry(b!, { message: "no" }, 0);
    expect(await claimed(queue, 2)).toContain("b");
  });

  it("keep their order, each within itself, and strictly between priorities", async () => {
    const queue = await newQueue(db);
    for (const input of times(20)) for (const group of ["a", "b"]) await db.engine.enqueue({ type: "t", queue, group, input });
    for (const input of times(5)) await db.engine.enqueue({ type: "t", queue, group: "urgent", priority: 0, input });
    const seen: { group: string; input: number }[] = [];
    for (let n = 0; n < 45; n += 1) {
      const [job] = await db.engine.claim({ queues: [queue] });
      seen.push({ group: job!.group!, input: Number(job!.input) });
    }
    expect(seen.slice(0, 5).map((one) => one.group)).toEqual(Array(5).fill("urgent"));
    for (const group of ["a", "b"]) expect(seen.filter((one) => one.group === group).map((one) => one.input)).toEqual(times(20));
  });

  it("cost a claim the same however many there are [#66]", async () => {
    const buffers = async (groups: number): Promise<number> => {
      const queue = await newQueue(db);
      await db.engine.enqueueEach(times(groups * 2).map((n) => ({ type: "t", queue, group: `g${n % groups}` })));
      await claimed(queue, 5);
      const client = await db.connect();
      const least: number[] = [];
      for (let n = 0; n < 4; n += 1) {
        const { rows } = await client.query(`explain (analyze, buffers, format json) select * from job_claim(array['${queue}'])`);
        const plan = rows[0]["QUERY PLAN"][0].Plan as Record<string, number>;
        least.push(plan["Shared Hit Blocks"]! + plan["Shared Read Blocks"]!);
      }
      return Math.min(...least);
    };
    const [few, many] = [await buffers(10), await buffers(5000)];
    expect(many).toBeLessThan(few * 1.5 + 20);
  });
});
