import { describe, expect, it } from "vitest";
import { claimOne, enqueue } from "../support/jobs.js";
import { useMill } from "../support/mill.js";

const test = useMill();

/** All jobs of a queue that are cancelled now. */
async function cancelled(queue: string): Promise<number> {
  return (await test.mill.jobs.list({ queue, state: "cancelled", limit: 1000 })).length;
}

describe("what ends with a job when it is cancelled", () => {
  it("is counted beforehand: children, those of children, and who waits for success [#207] [#216]", async () => {
    const queue = await test.queue();
    const { engine } = test.db;
    const options = { queue };
    const top = await enqueue(test.db, queue, { type: "top" });
    const job = await claimOne(test.db, queue, { types: ["top"] });
    const [child] = await engine.stepStart(job, "call", [
      { type: "child", queue },
      { type: "child", queue },
    ]);
    await engine.stepStart(job, "own", [{ type: "alone", queue }], { detached: true });
    const nested = await claimOne(test.db, queue, { types: ["child"] });
    await engine.stepStart(nested, "more", [{ type: "grandchild", queue }]);
    await engine.flowEnqueue(
      [
        { type: "success", options, after: [child!, top] },
        { type: "then", options, after: [0] },
        { type: "otherwise", options, after: [top], when: "failed" },
        { type: "always", options, after: [top], when: "ended" },
        { type: "beside", options },
      ],
      { queue },
    );
    // two children, a grandchild, and of the flow the one that waits for success with the one after it
    expect(await engine.below(top)).toEqual({ count: 5, isExact: true });
    expect(await engine.cancel([top])).toBe(1);
    await engine.noticesDeliver();
    expect(await cancelled(queue)).toBe(1 + 5);
    expect(await engine.below(top)).toEqual({ count: 0, isExact: true });
  });

  it("is a flow's jobs that have not ended, each once, however many ways lead to it [#216]", async () => {
    const queue = await test.queue();
    const { engine } = test.db;
    const options = { queue };
    const { id } = await engine.flowEnqueue(
      [
        { type: "done", options },
        { type: "a", options, after: [0] },
        { type: "b", options, after: [0] },
        { type: "c", options, after: [1, 2] },
        { type: "d", options, after: [0, 3] },
      ],
      { queue },
    );
    await engine.complete(await claimOne(test.db, queue, { types: ["done"] }));
    await engine.noticesDeliver();
    expect(await engine.below(id)).toEqual({ count: 4, isExact: true });
    await engine.cancel([id]);
    await engine.noticesDeliver();
    expect(await cancelled(queue)).toBe(1 + 4);
  });

  it("is counted up to ten thousand, and a job that is not there is refused [#216]", async () => {
    const queue = await test.queue();
    const { engine } = test.db;
    const { id } = await engine.flowEnqueue([], { queue });
    for (let part = 0; part < 3; part += 1)
      await engine.flowEnqueue(
        Array.from({ length: 4000 }, () => ({ type: "one", options: { queue } })),
        { flow: id },
      );
    expect(await engine.below(id)).toEqual({ count: 10_000, isExact: false });
    await expect(engine.below("1")).rejects.toMatchObject({ code: "MR002" });
  }, 30_000);
});
