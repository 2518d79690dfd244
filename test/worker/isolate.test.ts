import { describe, expect, it } from "vitest";
import { type IsolatedHandler, defineJob, inProcesses, inThreads } from "../../src/index.js";
import { useMill } from "../support/mill.js";

const mill = useMill();
const module = new URL("../support/isolated/handler.mjs", import.meta.url);
const act = defineJob<{ act: string }>("act", { maxAttempts: 1 });

async function outcomeOf(handler: IsolatedHandler, input: { act: string }, options = {}) {
  const worker = mill.mill.worker({ pollInterval: 50 });
  worker.handle(act, handler);
  await worker.start();
  const job = await mill.mill.enqueue(act, input, options);
  const result = await mill.mill.result(job, { timeout: "30s" }).catch((error: Error) => error.message);
  await worker.stop();
  await handler.close();
  return { result, details: (await mill.mill.jobs.get(job.id))! };
}

describe.each([
  ["threads", inThreads],
  ["processes", inProcesses],
] as const)("handlers in %s", (_, isolated) => {
  const run = (input: { act: string }, options = {}) =>
    outcomeOf(isolated(module, { size: 2, killAfter: "100ms" }), input, options);

  it("return, see their attempt, and leave progress", async () => {
    expect((await run({ act: "return" })).result).toEqual({ attempt: 1, last: true });
    expect((await run({ act: "progress" })).details.progress).toEqual({ half: true });
  });

  it.each([1, 3])("have one of %d to themselves, also when many begin in one turn", async (size) => {
    const queue = await mill.queue();
    const handler = isolated(module, { size });
    const worker = mill.worker(queue, { concurrency: 10 }).handle(act, handler);
    const made = await mill.mill.enqueueMany(
      act,
      Array.from({ length: 10 }, () => ({ act: "count" })),
      { queue },
    );
    await worker.start();
    const told = await Promise.all(
      made.map((job) => mill.mill.result<{ host: string; other: boolean }>(job.id, { timeout: "30s" })),
    );
    await worker.stop();
    await handler.close();
    expect(told.filter(({ other }) => other)).toEqual([]);
    expect(new Set(told.map(({ host }) => host)).size).toBe(size);
  });

  it("cannot wait for another job's result, which would hold their slot [#204]", async () => {
    expect((await run({ act: "result" })).result).toEqual(["MR001", expect.stringContaining("use step.call")]);
  });

  it("fail with message, stack and log; permanently when they say so [#6] [#27]", async () => {
    const { details } = await run({ act: "log" });
    expect(details.job.lastError).toMatchObject({
      message: "failed as asked",
      stack: expect.stringContaining("handler.mjs"),
      log: [expect.stringContaining("about to fail")],
    });
    expect((await run({ act: "permanent" }, { maxAttempts: 5 })).details.job).toMatchObject({
      state: "failed",
      reason: "permanent",
      attempts: 1,
    });
  });

  it("are told by their signal, and stopped for good when they block past their attempt timeout [#127] [#134]", async () => {
    for (const input of [{ act: "wait" }, { act: "block" }]) {
      const { details } = await run(input, { attemptTimeout: "200ms" });
      expect(details.job).toMatchObject({ state: "failed", lastError: { timeout: true } });
    }
  });
});

it("a thread that cannot begin fails its attempt, and so do the others of its module; the worker goes on [#141]", async () => {
  const queue = await mill.queue();
  const handler = inThreads(module, { size: 3 });
  const missing = inThreads(new URL("../support/isolated/missing.mjs", import.meta.url), { size: 3 });
  const worker = mill.worker(queue, { concurrency: 10 }).handle(act, handler).handle(defineJob("missing"), missing);
  await worker.start();
  const options = { queue, maxAttempts: 1 };
  const [good, bad] = await Promise.all([
    mill.mill.enqueueMany(
      act,
      Array.from({ length: 6 }, () => ({ act: "count" })),
      options,
    ),
    mill.mill.enqueueMany(
      "missing",
      Array.from({ length: 6 }, () => null),
      options,
    ),
  ]);
  for (const { id } of bad)
    await expect(mill.mill.result(id, { timeout: "30s" })).rejects.toMatchObject({ state: "failed" });
  for (const { id } of good) expect(await mill.mill.result(id, { timeout: "30s" })).toMatchObject({ other: false });
  await worker.stop();
  await Promise.all([handler.close(), missing.close()]);
});

it("a handler whose process dies fails its attempt, and the worker goes on [#141]", async () => {
  const { details } = await outcomeOf(inProcesses(module), { act: "crash" });
  expect(details.job.lastError?.message).toContain("process ended");
  expect((await outcomeOf(inProcesses(module), { act: "return" })).result).toEqual({ attempt: 1, last: true });
});
