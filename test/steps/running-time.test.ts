import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { defineJob } from "../../src/job/define-job.js";
import { stateOf } from "../support/jobs.js";
import { useMill } from "../support/mill.js";
import { until } from "../support/wait.js";

const test = useMill();
const patience = { timeout: "20s" } as const;
const work = defineJob("work", { retryDelay: 0 });

/** What was noted of how long calls ran, and the transactions in which it was written. */
const ran = (id: string) =>
  test.db.sql<{ about: string; seconds: number; xmin: string }>(
    "select about, seconds, xmin::text from step where job_id = $1 and key = '#ran' order by id",
    [id],
  );

describe("the attempt timeout of a run", () => {
  it("counts the running time of all its calls in one attempt, and the next attempt has all of it again [#195]", async () => {
    const queue = await test.queue();
    const calls = { 1: 0, 2: 0 };
    const worker = test.worker(queue).handle(work, async (job, { step }) => {
      calls[job.attempt as 1 | 2] += 1;
      for (let i = 0; i < (job.attempt === 1 ? 30 : 1); i += 1) {
        await step.run(`work ${job.attempt} ${i}`, () => pause(300));
        await step.sleep(`nap ${job.attempt} ${i}`, "1ms");
      }
      return job.attempt;
    });
    await worker.start();
    const { id } = await test.mill.enqueue(work, null, { queue, attemptTimeout: "1500ms", maxAttempts: 2 });
    expect(await test.mill.result(id, patience)).toBe(2);
    const { attempts } = (await test.mill.jobs.get(id))!;
    expect(attempts.find(({ attempt }) => attempt === 1)).toMatchObject({ error: { timeout: true } });
    expect(calls[1]).toBeLessThanOrEqual(5);
    const noted = await ran(id);
    expect(noted.filter(({ about }) => about === "1")).toHaveLength(calls[1] - 1);
    for (const { seconds } of noted) expect(seconds).toBeGreaterThan(0.15);
  });

  it("is over when nothing of it is left, whatever the handler does before it asks for a step [#195]", async () => {
    const queue = await test.queue();
    let calls = 0;
    const worker = test.worker(queue).handle(work, async (_job, { step }) => {
      calls += 1;
      await step.sleep("nap", "1ms");
      if (calls > 1) await new Promise(() => {});
    });
    await worker.start();
    const { id } = await test.mill.enqueue(work, null, { queue, attemptTimeout: "1h", maxAttempts: 1 });
    await test.db.sql(
      `insert into step (job_id, slot, key, kind, n, at, about, seconds)
       select $1, job_slot($1), '#ran', 'done', i, clock_now(), '1', 1800 from generate_series(1, 2) i`,
      [id],
    );
    await until("it has timed out", async () => (await stateOf(test.db, id)) === "failed");
    expect((await test.mill.jobs.get(id))!.job.lastError).toMatchObject({ timeout: true });
  });

  it("costs one record of a long call, in the commit that suspends it; none without one, or for short calls [#195] [#211]", async () => {
    const queue = await test.queue();
    const worker = test.worker(queue).handle(work, async (_job, { step }) => {
      await pause(50);
      await step.sleep("nap", "1ms");
      await step.sleep("other nap", "1ms");
    });
    await worker.start();
    const run = async (options: { attemptTimeout?: "4s" | "1h" }): Promise<string> => {
      const { id } = await test.mill.enqueue(work, null, { queue, ...options });
      await test.mill.result(id, patience);
      return id;
    };
    expect(await ran(await run({}))).toEqual([]);
    expect(await ran(await run({ attemptTimeout: "1h" }))).toEqual([]);
    const id = await run({ attemptTimeout: "4s" });
    const noted = await ran(id);
    const naps = await test.db.sql<{ xmin: string }>(
      "select xmin::text from step where job_id = $1 and kind = 'due' order by id",
      [id],
    );
    expect(noted.map(({ xmin }) => xmin)).toEqual(naps.map(({ xmin }) => xmin));
    expect(noted).toHaveLength(2);
  });
});
