import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { defineJob } from "../../src/job/define-job.js";
import { PermanentError } from "../../src/job/permanent-error.js";
import type { Handler } from "../../src/worker/handler.js";
import { useMill } from "../support/mill.js";
import { until } from "../support/wait.js";

const test = useMill();
const patience = { timeout: "20s" } as const;
const work = defineJob("work", { retryDelay: 0 });

/** Three workers after each other, of which each is stopped when `calls` grows; then one that is left alone. */
async function stopping(handler: Handler, calls: readonly unknown[], queue: string): Promise<void> {
  for (let stopped = 0; stopped < 3; stopped += 1) {
    const worker = test.worker(queue, { grace: 0 }).handle(work, handler);
    await worker.start();
    await until("it is at work", () => calls.length > stopped);
    await worker.stop();
  }
  await test.worker(queue).handle(work, handler).start();
}

/** What obeys its signal until it was told to stop three times. */
function obedient(calls: unknown[]) {
  return async ({ signal, attempt }: { signal: AbortSignal; attempt: number }): Promise<number> => {
    calls.push(attempt);
    if (calls.length <= 3) await sleep(60_000, undefined, { signal });
    return attempt;
  };
}

describe("a worker that is stopped during a step", () => {
  it.each([1, 2])("uses none of its tries: maxAttempts %d [#124] [#192]", async (maxAttempts) => {
    const queue = await test.queue();
    const calls: unknown[] = [];
    const { id } = await test.mill.enqueue(work, null, { queue, maxAttempts: 1 });
    await stopping((_job, { step }) => step.run("long", obedient(calls), { maxAttempts }), calls, queue);
    expect(await test.mill.result(id, patience)).toBe(1);
    expect(calls).toEqual([1, 1, 1, 1]);
    const steps = await test.mill.jobs.steps(id);
    expect(steps.map(({ key, kind }) => [key, kind])).toEqual([["long", "done"]]);
    expect((await test.mill.jobs.get(id))!.job).toMatchObject({ state: "succeeded", attempts: 1 });
  });

  it("uses none when the step had failed before, and its budget counts failures only [#124] [#192]", async () => {
    const queue = await test.queue();
    const calls: unknown[] = [];
    const obey = obedient(calls);
    const { id } = await test.mill.enqueue(work, null, { queue, maxAttempts: 1 });
    let failures = 0;
    const handler: Handler = (_job, { step }) =>
      step.run("long", (context) => ((failures += 1) === 1 ? Promise.reject(new Error("once")) : obey(context)), {
        maxAttempts: 2,
        retryDelay: "1ms",
      });
    await stopping(handler, calls, queue);
    expect(await test.mill.result(id, patience)).toBe(2);
    expect(calls).toEqual([2, 2, 2, 2]);
  });

  it("undoes a step again that was being undone [#124] [#212]", async () => {
    const queue = await test.queue();
    const calls: unknown[] = [];
    const obey = obedient(calls);
    const { id } = await test.mill.enqueue(work, null, { queue, maxAttempts: 1 });
    const handler: Handler = async (_job, { step }) => {
      await step.run("one", () => 1, { undo: (_value, context) => obey(context) });
      throw new PermanentError("no");
    };
    await stopping(handler, calls, queue);
    await expect(test.mill.result(id, patience)).rejects.toMatchObject({ state: "failed" });
    expect(calls).toHaveLength(4);
    expect((await test.mill.jobs.get(id))!.job.lastError).not.toHaveProperty("notUndone");
    expect((await test.mill.jobs.get(id))!.job).toMatchObject({ attempts: 1 });
  });
});
