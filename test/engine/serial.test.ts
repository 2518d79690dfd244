import { describe, expect, it } from "vitest";
import { useDatabase } from "../support/database.js";
import { newQueue } from "../support/jobs.js";
import { claimAll } from "../support/steps.js";

const db = useDatabase();
const times = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

/** A queue that runs one job at a time, with jobs of several types. */
async function serialQueue(jobs: number, options: object = {}): Promise<{ queue: string; ids: string[] }> {
  const queue = await newQueue(db, { maxRunning: 1, ...options });
  const ids: string[] = [];
  for (const n of times(jobs)) ids.push((await db.engine.enqueue({ type: `t${n % 3}`, queue, input: n })).id);
  return { queue, ids };
}

describe("a queue that runs one job at a time", () => {
  it("starts its jobs in the order in which they came, whatever their types, for ten sessions that claim as fast as they can [#158]", async () => {
    const { queue, ids } = await serialQueue(60);
    const started: string[] = [];
    let running = 0;
    let most = 0;
    await Promise.all(
      times(10).map(async () => {
        while (started.length < ids.length) {
          for (const job of await db.engine.claim({ queues: [queue], limit: 5 })) {
            started.push(job.id);
            most = Math.max(most, (running += 1));
            await new Promise((resolve) => setTimeout(resolve, 2));
            running -= 1;
            await db.engine.complete(job);
          }
        }
      }),
    );
    expect(most).toBe(1);
    expect(started).toEqual(ids);
  });

  it("is not held up by a job that is due tomorrow [#159]", async () => {
    const { queue, ids } = await serialQueue(0);
    await db.engine.enqueue({ type: "t0", queue, delaySeconds: 86_400 });
    ids.push((await db.engine.enqueue({ type: "t1", queue })).id);
    expect((await claimAll(db, queue)).map((job) => job.id)).toEqual(ids);
  });

  it("runs an interrupted job next, before more urgent ones that came later, and passes over cancelled ones in order [#161] [#162]", async () => {
    const { queue, ids } = await serialQueue(6);
    const [first] = await claimAll(db, queue);
    expect(first!.id).toBe(ids[0]);
    await db.engine.enqueue({ type: "urgent", queue, priority: 0, input: "urgent" });
    await db.engine.cancel([ids[1]!]);
    await db.moveClock(60);
    const order = [];
    for (let i = 0; i < 20 && order.length < 6; i += 1) {
      for (const job of await claimAll(db, queue)) {
        order.push(`${JSON.stringify(job.input)} ${job.attempt}`);
        await db.engine.complete(job);
      }
    }
    expect(order).toEqual(["0 2", '"urgent" 1', "2 1", "3 1", "4 1", "5 1"]);
  });

  it("goes on while a failed job waits for its retry; an ordered one waits for it [#162]", async () => {
    for (const ordered of [false, true]) {
      const { queue, ids } = await serialQueue(3, { ordered });
      const [first] = await claimAll(db, queue);
      await db.engine.retryLater(first!, { message: "later" }, 600);
      const meanwhile = await claimAll(db, queue);
      expect(meanwhile.map((job) => job.id)).toEqual(ordered ? [] : [ids[1]]);
      for (const job of meanwhile) await db.engine.complete(job);
      await db.moveClock(601);
      expect((await claimAll(db, queue)).map(({ id, attempt }) => [id, attempt])).toEqual([[ids[0], 2]]);
    }
  });

  it("hands out a fence that rises with every job, so that a former holder can be told from its successor [#163]", async () => {
    const { queue } = await serialQueue(4);
    const fences: number[] = [];
    for (let i = 0; i < 4; i += 1) {
      const [job] = await claimAll(db, queue);
      fences.push(job!.fence!);
      if (i % 2 === 0) await db.engine.complete(job!);
      else await db.moveClock(60);
    }
    expect([...fences].sort((a, b) => a - b)).toEqual(fences);
    expect(new Set(fences).size).toBe(4);
    const open = await newQueue(db);
    await db.engine.enqueue({ type: "t", queue: open });
    expect((await claimAll(db, open))[0]).not.toHaveProperty("fence");
  });

  it("that is busy elsewhere costs a poll the same whatever waits in it [#160]", async () => {
    const touched = async (queue: string): Promise<number> => {
      const client = await db.pool.connect();
      try {
        const claim = `select millrace.job_claim_json(array['${queue}'], p_limit => 5)`;
        for (let i = 0; i < 3; i += 1) await client.query(claim);
        const { rows } = await client.query(`explain (analyze, buffers, format json) ${claim}`);
        const { Plan } = (rows[0] as { "QUERY PLAN": { Plan: Record<string, number> }[] })["QUERY PLAN"][0]!;
        return Plan["Shared Hit Blocks"]! + Plan["Shared Read Blocks"]!;
      } finally {
        client.release();
      }
    };
    const cost = [];
    for (const jobs of [10, 5000]) {
      const { queue } = await serialQueue(1);
      expect(await claimAll(db, queue)).toHaveLength(1);
      await db.engine.enqueueMany("t0", times(jobs), { queue });
      cost.push(await touched(queue));
    }
    expect(cost[1]!).toBeLessThan(cost[0]! * 1.5 + 20);
  });
});
