import { describe, expect, it } from "vitest";
import { defineJob, inProcesses, inThreads } from "../../src/index.js";
import { stateOf } from "../support/jobs.js";
import { useMill } from "../support/mill.js";
import { until } from "../support/wait.js";

const test = useMill();
const module = new URL("../support/isolated/steps.mjs", import.meta.url);
const act = defineJob<{ act: string; queue: string }>("act", { maxAttempts: 1 });
const child = defineJob<number>("child", { maxAttempts: 1, version: 2, upcast: { 1: (input) => input } });
const patience = { timeout: "30s" } as const;

describe.each([
  ["threads", inThreads],
  ["processes", inProcesses],
] as const)("steps of handlers in %s", (_, isolated) => {
  async function withWorker<T>(
    work: (run: (what: string) => Promise<string>, queue: string) => Promise<T>,
  ): Promise<T> {
    const queue = await test.queue();
    const handler = isolated(module, { size: 1, killAfter: "100ms" });
    const worker = test
      .worker(queue)
      .handle(act, handler)
      .handle(child, (job) => {
        if (job.input < 0) throw new Error("negative");
        return job.input * 10;
      });
    await worker.start();
    const run = async (what: string) => (await test.mill.enqueue(act, { act: what, queue }, { queue })).id;
    try {
      return await work(run, queue);
    } finally {
      await worker.stop();
      await handler.close();
    }
  }

  it("are done once, wait, are told, and have children [#183] [#193] [#196] [#202] [#205]", async () => {
    await withWorker(async (run) => {
      const id = await run("all");
      await test.mill.tell(id, "told", 2);
      const done = (name: string, value: number) => ({
        value,
        key: `${id}:${name}`,
        sameKey: true,
        attempt: 1,
        isAborted: false,
      });
      expect(await test.mill.result(id, patience)).toEqual({
        first: done("first", 1),
        both: [done("left", 2), done("right", 3)],
        tokenIs: "mrt_",
        told: 2,
        late: null,
        one: 40,
        many: [50, 60],
        outcomes: [
          ["fulfilled", null, null],
          ["rejected", "JobFailedError", "MR013"],
        ],
        free: "string",
      });
      const { job } = (await test.mill.jobs.get(id))!;
      expect(job.attempts).toBe(1);
      const calls = (await test.mill.jobs.steps(id)).filter(({ key, kind }) => key === "first" && kind === "done");
      expect(calls).toHaveLength(1);
    });
  });

  it("wait only when the handler has gone on as far as it can [#189]", async () => {
    await withWorker(async (run) => {
      for (let n = 0; n < 10; n += 1)
        expect(await test.mill.result(await run("race"), patience)).toMatchObject({ value: 1 });
    });
  });

  it("hold no thread while they wait, and what an abandoned call returns is nobody's [#194]", async () => {
    await withWorker(async (run) => {
      const waiting = await run("late");
      await until("it waits", async () => (await stateOf(test.db, waiting)) === "suspended");
      expect(await test.mill.result(await run("plain"), patience)).toBe("plain");
      for (let n = 0; n < 5; n += 1) expect(await test.mill.result(await run("plain"), patience)).toBe("plain");
      expect(await test.mill.result(waiting, patience)).toBeNull();
    });
  });

  it("are timed out by the running time of all their calls [#195]", async () => {
    const queue = await test.queue();
    const handler = isolated(module, { size: 1, killAfter: "100ms" });
    await test.worker(queue).handle(act, handler).start();
    const options = { queue, attemptTimeout: "1s" } as const;
    const { id } = await test.mill.enqueue(act, { act: "calls", queue }, options);
    await until("it has timed out", async () => (await stateOf(test.db, id)) === "failed");
    await handler.close();
    const { job } = (await test.mill.jobs.get(id))!;
    expect(job.lastError).toMatchObject({ timeout: true });
  });

  it("are tried again by themselves, and fail with an error that tells of it [#192]", async () => {
    await withWorker(async (run) => {
      expect(await test.mill.result(await run("retry"), patience)).toEqual({
        failed: { name: "StepFailedError", code: "MR018", of: "flaky", attempts: 3, cause: "try 3" },
      });
    });
  });

  it.each(["obey", "resist"])(
    "use no try, and no attempt, when the worker is stopped: %s [#124] [#192]",
    async (what) => {
      const queue = await test.queue();
      const handler = isolated(module, { killAfter: what === "obey" ? "20s" : "50ms" });
      const worker = test.worker(queue, { grace: 0 }).handle(act, handler);
      await worker.start();
      const { id } = await test.mill.enqueue(act, { act: what, queue }, { queue });
      const steps = () => test.mill.jobs.steps(id);
      await until("it is at its long step", async () => (await steps()).some(({ key }) => key === "before"));
      await worker.stop();
      await handler.close();
      expect((await steps()).map(({ key, kind }) => [key, kind])).toEqual([["before", "done"]]);
      expect((await test.mill.jobs.get(id))!.job).toMatchObject({ state: "ready", attempts: 0 });
    },
  );

  it("refuse what cannot be done there, with what to do instead", async () => {
    await withWorker(async (run) => {
      const told = (await test.mill.result(await run("refused"), patience)) as [string, string][];
      expect(told).toEqual([
        ["MR001", expect.stringContaining("use step.run with its key")],
        ["MR001", expect.stringContaining("cannot be undone")],
        ["MR001", expect.stringContaining("not the name of a step")],
        ["MR018", expect.stringContaining("could not be cloned")],
        [null, expect.stringContaining("could not be cloned")],
        ["E_NUMBER", "not a number"],
        ["MR001", expect.stringContaining("inside the work of a step")],
        ["MR018", expect.stringContaining("inside of the work of another step")],
      ]);
    });
  });
});
