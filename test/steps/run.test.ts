import { describe, expect, it } from "vitest";
import { defineJob } from "../../src/job/define-job.js";
import { useMill } from "../support/mill.js";

const test = useMill();

describe("a run", () => {
  it("does each step once, whatever it waits for, and gives back what each gave [#183] [#204]", async () => {
    const queue = await test.queue({ maxRunning: 1 });
    const order = defineJob<{ n: number }>("order");
    const label = defineJob<{ id: number }, { printed: number }>("label");
    const calls: string[] = [];
    const worker = test
      .worker(queue, { concurrency: 1 })
      .handle(order, async (job, { step }) => {
        const paid = await step.run("charge", () => (calls.push("charge"), { id: job.input.n }));
        await step.sleep("cool-off", "20ms");
        const by = await step.waitFor<{ by: string }>("approved");
        const one = await step.call("label", label, { id: paid.id }, { queue });
        const many = await step.map("pack", label, [{ id: 1 }, { id: 2 }, { id: 3 }], { queue });
        const none = await step.map("none", label, [], { queue });
        return { paid, by, one, many, none };
      })
      .handle(label, (job) => ({ printed: job.input.id }));
    await worker.start();
    const { id } = await test.mill.enqueue(order, { n: 7 }, { queue });
    await test.mill.tell(id, "approved", { by: "ann" });
    expect(await test.mill.result(id, { timeout: "20s" })).toEqual({
      paid: { id: 7 },
      by: { by: "ann" },
      one: { printed: 7 },
      many: [{ printed: 1 }, { printed: 2 }, { printed: 3 }],
      none: [],
    });
    expect(calls).toEqual(["charge"]);
    expect((await test.mill.jobs.get(id))!.job).toMatchObject({ state: "succeeded", attempts: 1 });
    await worker.stop();
  });
});
