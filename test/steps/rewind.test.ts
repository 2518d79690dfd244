import { describe, expect, it } from "vitest";
import { defineJob } from "../../src/job/define-job.js";
import { PermanentError } from "../../src/job/permanent-error.js";
import { stateOf } from "../support/jobs.js";
import { useMill } from "../support/mill.js";

const test = useMill();
const order = defineJob<null>("order");
const child = defineJob<{ n: number }, number>("child");

describe("a rewind", () => {
  it("voids what was done from a step on, by a mark, and the run does it again [#214]", async () => {
    const queue = await test.queue();
    const calls: string[] = [];
    const worker = test
      .worker(queue)
      .handle(order, async (_job, { step }) => {
        await step.run("prepare", () => calls.push("prepare"));
        for (const n of [1, 2]) await step.run("charge", () => (calls.push(`charge ${n}`), n));
        const packed = await step.map("pack", child, [{ n: 1 }, { n: 2 }], { queue });
        return { packed, by: await step.waitFor("approved") };
      })
      .handle(child, (job) => (calls.push(`pack ${job.input.n}`), job.input.n));
    await worker.start();
    const { id } = await test.mill.enqueue(order, null, { queue });
    const waits = async () => (await test.mill.jobs.get(id))!.job.waits?.signals;
    await expect.poll(waits).toEqual(["approved"]);
    await test.mill.jobs.rewind(id, { to: "charge#2", by: "ann", because: "the price was wrong" });
    await expect.poll(() => calls.length).toBe(8);
    await expect.poll(waits).toEqual(["approved"]);
    await test.mill.jobs.rewind(id, { to: "pack" });
    await expect.poll(() => calls.length).toBe(10);
    await test.mill.tell(id, "approved", "ann");
    expect(await test.mill.result(id, { timeout: "20s" })).toEqual({ packed: [1, 2], by: "ann" });
    expect(calls.filter((call) => !call.startsWith("pack"))).toEqual(["prepare", "charge 1", "charge 2", "charge 2"]);
    const records = (await test.mill.engine.stepsGet([id])).get(id)!;
    expect(records.filter(({ kind }) => kind === "rewind")).toMatchObject([
      { about: "charge#2", value: { by: "ann", because: "the price was wrong" } },
      { about: "pack" },
    ]);
    expect((await test.mill.jobs.get(id))!.job.attempts).toBe(1);
  });

  it("of a job that has failed, and was undone, gives it another attempt, which is undone again [#214]", async () => {
    const queue = await test.queue();
    const calls: string[] = [];
    const worker = test.worker(queue).handle(order, async (_job, { step }) => {
      await step.run("book", () => calls.push("book"), { undo: () => calls.push("undo") });
      throw new PermanentError("no");
    });
    await worker.start();
    const { id } = await test.mill.enqueue(order, null, { queue });
    await expect(test.mill.result(id, { timeout: "20s" })).rejects.toMatchObject({ state: "failed" });
    await test.mill.jobs.rewind(id, { to: "book" });
    await expect.poll(() => calls).toEqual(["book", "undo", "book", "undo"]);
    await expect.poll(() => stateOf(test.db, id)).toBe("failed");
  });

  it("to a step after one that was undone is refused, and names that one [#214]", async () => {
    const queue = await test.queue();
    const calls: string[] = [];
    const worker = test.worker(queue).handle(order, async (_job, { step }) => {
      await step.run("flight", () => calls.push("flight"), { undo: () => calls.push("cancel flight") });
      await step.run("pay", () => calls.push("pay"));
      if (calls.length < 4) throw new PermanentError("no");
    });
    await worker.start();
    const { id } = await test.mill.enqueue(order, null, { queue });
    await expect(test.mill.result(id, { timeout: "20s" })).rejects.toMatchObject({ state: "failed" });
    await expect(test.mill.jobs.rewind(id, { to: "pay" })).rejects.toMatchObject({
      code: "MR001",
      message: expect.stringContaining('rewind to "flight"'),
    });
    expect(await stateOf(test.db, id)).toBe("failed");
    await test.mill.jobs.rewind(id, { to: "flight" });
    await expect.poll(() => stateOf(test.db, id)).toBe("succeeded");
    expect(calls).toEqual(["flight", "pay", "cancel flight", "flight", "pay"]);
    await expect(test.mill.jobs.rewind(id, { to: "flight" })).rejects.toMatchObject({ code: "MR017" });
  });

  it("cancels the children that are not wanted any more", async () => {
    const queue = await test.queue();
    const elsewhere = await test.queue();
    const worker = test
      .worker(queue)
      .handle(order, async (_job, { step }) => step.call("label", child, { n: 1 }, { queue: elsewhere }));
    await worker.start();
    const { id } = await test.mill.enqueue(order, null, { queue });
    await expect.poll(() => stateOf(test.db, id)).toBe("suspended");
    await test.mill.jobs.rewind(id, { to: "label" });
    const states = async () => (await test.mill.jobs.list({ queue: elsewhere })).map(({ state }) => state).toSorted();
    await expect.poll(states).toEqual(["cancelled", "ready"]);
    const [claimed] = await test.mill.engine.claim({ queues: [elsewhere] });
    await test.mill.engine.complete(claimed!, 7);
    await test.mill.engine.noticesDeliver();
    expect(await test.mill.result(id, { timeout: "20s" })).toBe(7);
  });

  it("is refused while the job runs, when it has succeeded, and for a step that it has not done [#214]", async () => {
    const queue = await test.queue();
    const { id } = await test.mill.enqueue(order, null, { queue });
    await expect(test.mill.jobs.rewind(id, { to: "charge" })).rejects.toMatchObject({ code: "MR001" });
    const [claimed] = await test.mill.engine.claim({ queues: [queue] });
    await test.mill.engine.stepsPut([{ ...claimed!, job: id, steps: [{ key: "charge", kind: "done" }] }]);
    await expect(test.mill.jobs.rewind(id, { to: "charge" })).rejects.toThrow(/is running/);
    await test.mill.engine.complete(claimed!);
    await expect(test.mill.jobs.rewind(id, { to: "charge" })).rejects.toMatchObject({ code: "MR017" });
  });

  it("is refused for a flow, on which nobody works", async () => {
    const queue = await test.queue();
    const flow = test.mill.flow({ queue });
    flow.add(child, { n: 1 }, { queue });
    const { id } = await flow.enqueue();
    await expect(test.mill.jobs.rewind(id, { to: "job" })).rejects.toMatchObject({ code: "MR001" });
    expect(await stateOf(test.db, id)).toBe("suspended");
  });
});
