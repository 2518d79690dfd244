import { describe, expect, it } from "vitest";
import { defineJob } from "../../src/job/define-job.js";
import { PermanentError } from "../../src/job/permanent-error.js";
import { useMill } from "../support/mill.js";

const test = useMill();
const saga = defineJob<{ fails?: string }>("saga", { retryDelay: 0 });

describe("a job that fails for good", () => {
  it("undoes its steps, newest first, each once, with what they gave [#212]", async () => {
    const queue = await test.queue();
    const calls: string[] = [];
    const worker = test.worker(queue).handle(saga, async (_job, { step }) => {
      for (const name of ["flight", "hotel", "car"]) {
        await step.run(name, () => (calls.push(name), { name }), { undo: (value) => calls.push(`undo ${value.name}`) });
        if (name === "hotel") await step.sleep("a while", 1);
      }
      throw new PermanentError("no money");
    });
    await worker.start();
    const { id } = await test.mill.enqueue(saga, {}, { queue });
    await expect(test.mill.result(id, { timeout: "20s" })).rejects.toMatchObject({ state: "failed" });
    expect(calls).toEqual(["flight", "hotel", "car", "undo car", "undo hotel", "undo flight"]);
    expect((await test.mill.jobs.get(id))!.job.lastError).toMatchObject({ message: "no money" });
  });

  it("undoes nothing while it may be tried again, and all of it when the last attempt has failed [#212]", async () => {
    const queue = await test.queue();
    const calls: string[] = [];
    const worker = test.worker(queue).handle(saga, async (job, { step }) => {
      await step.run("charge", () => calls.push("charge"), { undo: () => calls.push("undo") });
      calls.push(`attempt ${job.attempt}`);
      throw new Error("not yet");
    });
    await worker.start();
    const { id } = await test.mill.enqueue(saga, {}, { queue, maxAttempts: 3 });
    await expect(test.mill.result(id, { timeout: "20s" })).rejects.toMatchObject({ state: "failed" });
    expect(calls).toEqual(["charge", "attempt 1", "attempt 2", "attempt 3", "undo"]);
  });

  it("lists what could not be undone, and undoes the rest [#212]", async () => {
    const queue = await test.queue();
    const calls: string[] = [];
    const worker = test.worker(queue).handle(saga, async (_job, { step }) => {
      await step.run("one", () => 1, { undo: () => calls.push("undo one") });
      await step.run("two", () => 2, {
        undo: () => {
          throw new Error("it cannot be undone");
        },
      });
      throw new PermanentError("no");
    });
    await worker.start();
    const { id } = await test.mill.enqueue(saga, {}, { queue });
    await expect(test.mill.result(id, { timeout: "20s" })).rejects.toMatchObject({ state: "failed" });
    expect(calls).toEqual(["undo one"]);
    expect((await test.mill.jobs.get(id))!.job.lastError).toMatchObject({ message: "no", notUndone: ["two"] });
  });

  it("goes on undoing elsewhere when its process is lost, at its last attempt too [#212]", async () => {
    const queue = await test.queue();
    const calls: string[] = [];
    const handle = (name: string, hangs: boolean) =>
      test.worker(queue, { name, lease: "1s", concurrency: 1 }).handle(saga, async (_job, { step }) => {
        await step.run("one", () => 1, { undo: () => calls.push(`${name} one`) });
        await step.run("two", () => 2, {
          undo: () => (calls.push(`${name} two`), hangs ? new Promise(() => {}) : undefined),
        });
        await step.run("three", () => 3, { undo: () => calls.push(`${name} three`) });
        await step.run("fails", () => {
          calls.push(`${name} fails`);
          throw new PermanentError("no");
        });
      });
    const first = handle("first", true);
    await first.start();
    const { id } = await test.mill.enqueue(saga, {}, { queue, maxAttempts: 1 });
    await expect.poll(() => calls).toEqual(["first fails", "first three", "first two"]);
    // as if the process had died: its claim is taken back, and the attempt is lost
    await test.db.sql("update claim set until = clock_now() - interval '1 second'");
    await test.mill.engine.maintain();
    await handle("second", false).start();
    await expect(test.mill.result(id, { timeout: "20s" })).rejects.toMatchObject({ state: "failed" });
    expect(calls.slice(3)).toEqual(["second two", "second one"]);
    expect((await test.mill.jobs.get(id))!.job.lastError).toMatchObject({ message: expect.stringContaining("no") });
  });
});
