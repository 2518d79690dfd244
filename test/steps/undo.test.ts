import { describe, expect, it } from "vitest";
import { defineJob } from "../../src/job/define-job.js";
import { PermanentError } from "../../src/job/permanent-error.js";
import type { JobOptions } from "../../src/job/job-options.js";
import type { Handler } from "../../src/worker/handler.js";
import { retryLater } from "../../src/worker/outcome.js";
import { stateOf } from "../support/jobs.js";
import { useMill } from "../support/mill.js";
import { fired, gate } from "../support/wait.js";

const test = useMill();
type EnqueueSome = Pick<JobOptions, "attemptTimeout">;
const number = {
  "~standard": {
    version: 1 as const,
    vendor: "test",
    validate: (value: unknown) => (typeof value === "number" ? { value } : { issues: [{ message: "no number" }] }),
  },
};
const anything = { "~standard": { version: 1 as const, vendor: "test", validate: (value: unknown) => ({ value }) } };
const checked = defineJob("checked", { input: anything, result: number });
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
      test.worker(queue, { name, concurrency: 1 }).handle(saga, async (_job, { step }) => {
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

describe("a job that fails for good while other steps are at work", () => {
  it("waits for them, tells them to stop, and undoes those that have ended all the same [#212] [#189]", async () => {
    const queue = await test.queue();
    const calls: string[] = [];
    const slow = gate();
    const isAborted = gate();
    const worker = test.worker(queue).handle(saga, (_job, { step }) =>
      Promise.all([
        step.run("stubborn", () => slow.opened.then(() => calls.push("stubborn")), {
          undo: () => calls.push("undo stubborn"),
        }),
        step.run(
          "obedient",
          ({ signal }) => fired(signal).then((reason) => (isAborted.open(), Promise.reject(reason))),
          {
            undo: () => calls.push("undo obedient"),
          },
        ),
        step.run("fails", () => {
          throw new PermanentError("no");
        }),
      ]),
    );
    await worker.start();
    const { id } = await test.mill.enqueue(saga, {}, { queue });
    await isAborted.opened;
    expect(await stateOf(test.db, id)).toBe("running");
    slow.open();
    await expect(test.mill.result(id, { timeout: "20s" })).rejects.toMatchObject({ state: "failed" });
    expect(calls).toEqual(["stubborn", "undo stubborn"]);
    const { lastError } = (await test.mill.jobs.get(id))!.job;
    expect(lastError).toMatchObject({ message: expect.stringContaining("no") });
    expect(lastError).not.toHaveProperty("notUndone");
  });

  it("goes on undoing all of them when its process is lost, though a new step comes before them [#212]", async () => {
    const queue = await test.queue();
    const calls: string[] = [];
    const handle = (name: string, hangs: boolean) =>
      test.worker(queue, { name, concurrency: 1 }).handle(saga, async (_job, { step }) => {
        const all = (["a", "b"] as const).map((key) =>
          step.run(key, () => key, {
            undo: () => (calls.push(`${name} ${key}`), hangs ? new Promise(() => {}) : null),
          }),
        );
        if (hangs) await Promise.all(all);
        else await Promise.all([step.run("new", () => calls.push("new")), ...all]);
        throw new PermanentError("no");
      });
    await handle("first", true).start();
    const { id } = await test.mill.enqueue(saga, {}, { queue, maxAttempts: 1 });
    await expect.poll(() => calls).toEqual(["first b"]);
    await test.db.sql("update claim set until = clock_now() - interval '1 second'");
    await test.mill.engine.maintain();
    // its new step is called before the others
    await handle("second", false).start();
    await expect(test.mill.result(id, { timeout: "20s" })).rejects.toMatchObject({ state: "failed" });
    expect(calls.slice(1)).toEqual(["second b", "second a"]);
    expect((await test.mill.jobs.get(id))!.job.lastError).not.toHaveProperty("notUndone");
  });
});

describe("steps are undone however the job has failed for good", () => {
  const ways: readonly (readonly [string, EnqueueSome, Handler<{ fails?: string }>])[] = [
    ["its attempt took too long", { attemptTimeout: "200ms" }, (_job, { signal }) => fired(signal)],
    ["and it never ends", { attemptTimeout: "200ms" }, () => new Promise(() => {})],
    ["and it obeys", { attemptTimeout: "200ms" }, (_job, { signal }) => fired(signal).then((r) => Promise.reject(r))],
    ["it asked for another attempt after the last one", {}, () => retryLater("1h")],
    ["its result does not fit", {}, () => "not a number"],
    [
      "a timer of it threw",
      {},
      () =>
        new Promise(() => {
          setTimeout(() => {
            throw new Error("stray");
          }, 1);
        }),
    ],
  ];
  it.each(ways)("%s [#212]", async (_way, options, end) => {
    const queue = await test.queue();
    const calls: unknown[] = [];
    const worker = test.worker(queue, { concurrency: 1 }).handle(checked, async (job, context) => {
      await context.step.run("one", () => 1, { undo: (_value, { signal }) => calls.push(["undo", signal.aborted]) });
      return end(job as never, context);
    });
    await worker.start();
    const { id } = await test.mill.enqueue(checked, null, { queue, maxAttempts: 1, ...options });
    await expect(test.mill.result(id, { timeout: "20s" })).rejects.toMatchObject({ state: "failed" });
    expect(calls).toEqual([["undo", false]]);
    expect((await test.mill.jobs.get(id))!.job.lastError).not.toHaveProperty("notUndone");
  });

  it("and those that its last call did not come to are listed [#212]", async () => {
    const queue = await test.queue();
    const calls: string[] = [];
    const worker = test.worker(queue).handle(saga, async (job, { step }) => {
      if (job.attempt === 2) throw new PermanentError("too late");
      await step.run("one", () => 1, { undo: () => calls.push("undo") });
      await step.run("two", () => 2);
      throw new Error("not yet");
    });
    await worker.start();
    const { id } = await test.mill.enqueue(saga, {}, { queue, maxAttempts: 3 });
    await expect(test.mill.result(id, { timeout: "20s" })).rejects.toMatchObject({ state: "failed" });
    expect(calls).toEqual([]);
    expect((await test.mill.jobs.get(id))!.job.lastError).toMatchObject({ message: "too late", notUndone: ["one"] });
  });

  it("and work that does not obey when the attempt has timed out is listed [#212]", async () => {
    const queue = await test.queue();
    const calls: string[] = [];
    const worker = test.worker(queue).handle(saga, async (_job, { step }) => {
      await step.run("one", () => 1, { undo: () => calls.push("undo one") });
      await step.run("hangs", () => new Promise(() => {}), { undo: () => calls.push("undo hangs") });
    });
    await worker.start();
    const { id } = await test.mill.enqueue(saga, {}, { queue, maxAttempts: 1, attemptTimeout: "200ms" });
    await expect(test.mill.result(id, { timeout: "20s" })).rejects.toMatchObject({ state: "failed" });
    expect(calls).toEqual(["undo one"]);
    expect((await test.mill.jobs.get(id))!.job.lastError).toMatchObject({ timeout: true, notUndone: ["hangs"] });
  });

  it("and what undoes may take as long as an attempt [#212]", async () => {
    const queue = await test.queue();
    const calls: string[] = [];
    const worker = test.worker(queue).handle(saga, async (_job, { step }) => {
      await step.run("one", () => 1, { undo: () => calls.push("undo one") });
      await step.run("hangs", () => 2, { undo: () => new Promise(() => {}) });
      throw new PermanentError("no");
    });
    await worker.start();
    const { id } = await test.mill.enqueue(saga, {}, { queue, attemptTimeout: "300ms" });
    await expect(test.mill.result(id, { timeout: "20s" })).rejects.toMatchObject({ state: "failed" });
    expect(calls).toEqual(["undo one"]);
    expect((await test.mill.jobs.get(id))!.job.lastError).toMatchObject({ message: "no", notUndone: ["hangs"] });
  });
});
