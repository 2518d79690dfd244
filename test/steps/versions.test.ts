import { describe, expect, it } from "vitest";
import { InvalidArgumentError } from "../../src/db/errors.js";
import { defineJob } from "../../src/job/define-job.js";
import type { Handler } from "../../src/worker/handler.js";
import { stateOf } from "../support/jobs.js";
import { useMill } from "../support/mill.js";

const test = useMill();
const first = defineJob<{ n: number }>("order");
const second = defineJob<{ n: number; more: true }>("order", {
  version: 2,
  upcast: { 1: (input: { n: number }) => ({ ...input, more: true }) },
});

const handler =
  (version: number): Handler<{ n: number }> =>
  async (job, { step }) => {
    const began = await step.run("begin", () => version);
    await step.waitFor("go");
    return { began, ended: version, input: job.input };
  };

describe("a run", () => {
  it("ends with the version of the handler that it began with [#213]", async () => {
    const queue = await test.queue();
    const old = test.worker(queue).handle(first, handler(1));
    await old.start();
    const one = await test.mill.enqueue(first, { n: 1 }, { queue });
    await expect.poll(() => stateOf(test.db, one.id)).toBe("suspended");
    await old.stop();
    const both = test.worker(queue).handle(second, handler(1), { version: 1 }).handle(second, handler(2));
    await both.start();
    const two = await test.mill.enqueue(first, { n: 2 }, { queue });
    await test.mill.tell(two, "go");
    await test.mill.tell(one, "go");
    expect(await test.mill.result(one, { timeout: "20s" })).toEqual({ began: 1, ended: 1, input: { n: 1 } });
    expect(await test.mill.result(two, { timeout: "20s" })).toEqual({
      began: 2,
      ended: 2,
      input: { n: 2, more: true },
    });
  });

  it("of a version that nobody handles waits, unharmed, for somebody who does [#213]", async () => {
    const queue = await test.queue();
    const old = test.worker(queue).handle(first, handler(1));
    await old.start();
    const { id } = await test.mill.enqueue(first, { n: 1 }, { queue });
    await expect.poll(() => stateOf(test.db, id)).toBe("suspended");
    await old.stop();
    const young = test.worker(queue).handle(second, handler(2));
    await young.start();
    await test.mill.tell(id, "go");
    await expect.poll(() => stateOf(test.db, id)).toBe("delayed");
    expect((await test.mill.engine.stepsGet([id])).get(id)).toContainEqual(
      expect.objectContaining({ key: "#version", kind: "try", n: "1" }),
    );
    expect(await test.db.sql("select problem, job_id, about from waits_audit()")).toEqual([
      { problem: "unhandled", job_id: id, about: "1" },
    ]);
    await young.stop();
    await test.db.moveClock(61);
    const both = test.worker(queue).handle(second, handler(2)).handle(second, handler(1), { version: 1 });
    await both.start();
    expect(await test.mill.result(id, { timeout: "20s" })).toMatchObject({ ended: 1 });
    expect((await test.mill.jobs.get(id))!.job.attempts).toBe(1);
  });

  it("of a newer version is not gone on with by a worker that knows the older one only [#213]", async () => {
    const queue = await test.queue();
    const young = test.worker(queue).handle(second, handler(2));
    await young.start();
    // enqueued by the older release, so that its input is readable for both
    const { id } = await test.mill.enqueue(first, { n: 1 }, { queue });
    await expect.poll(() => stateOf(test.db, id)).toBe("suspended");
    await young.stop();
    const calls: string[] = [];
    const old = test.worker(queue).handle(first, async (_job, { step }) => {
      calls.push("call");
      await step.run("begin", () => calls.push("begin"));
      calls.push("after");
    });
    await old.start();
    await test.mill.tell(id, "go");
    await expect.poll(() => stateOf(test.db, id)).toBe("delayed");
    expect(calls).toEqual(["call"]);
    expect(await test.db.sql("select problem, job_id, about from waits_audit()")).toContainEqual({
      problem: "unhandled",
      job_id: id,
      about: "2",
    });
    await old.stop(); // without waiting for a call that goes on nowhere
    await test.db.moveClock(61);
    await test.worker(queue).handle(second, handler(2)).start();
    expect(await test.mill.result(id, { timeout: "20s" })).toMatchObject({ began: 2, ended: 2 });
    expect((await test.mill.jobs.get(id))!.job.attempts).toBe(1);
  });

  it("of a job that waited for others begins with the newest version: that they have ended is nothing it did [#213]", async () => {
    const queue = await test.queue();
    const flow = test.mill.flow();
    const parent = flow.add("parent", null, { queue });
    flow.add(second, { n: 1, more: true }, { queue, after: [parent] });
    const { id } = await flow.enqueue();
    const worker = test
      .worker(queue)
      .handle(defineJob("parent"), () => null)
      .handle(second, (_job, { step }) => step.run("one", () => 1));
    await worker.start();
    expect(await test.mill.result(id, { timeout: "20s" })).toMatchObject({ succeeded: 2 });
  });

  it("handlers of versions that cannot be are refused", async () => {
    const queue = await test.queue();
    const worker = test.worker(queue);
    for (const version of [0, 3, 1.5])
      expect(() => worker.handle(second, handler(1), { version })).toThrow(InvalidArgumentError);
    worker.handle(second, handler(1), { version: 1 });
    expect(() => worker.handle(second, handler(1), { version: 1 })).toThrow(InvalidArgumentError);
    await expect(worker.start()).rejects.toThrow(/has no handlers|older versions only/);
  });
});
