import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineJob } from "../../src/job/define-job.js";
import type { Codec, Middleware } from "../../src/job/middleware.js";
import { Middlewares } from "../../src/job/middleware.js";
import { failed } from "../../src/worker/outcome.js";
import { useMill } from "../support/mill.js";

const test = useMill();
const invalid = { code: "MR001" };

/** Stores a value as a list of itself, and tells what it met. */
function boxing(tag: string): Codec {
  return {
    write: async (value, kind) => ({ [tag]: kind, value }),
    read: (value, kind) => {
      const boxed = value as Record<string, unknown>;
      return boxed[tag] === kind ? boxed["value"] : value;
    },
  };
}

describe("a middleware", () => {
  it("is around enqueues and runs, the first outermost, and adds headers", async () => {
    const queue = await test.queue();
    const told: string[] = [];
    const layer = (name: string): Middleware => ({
      async enqueue(call, next) {
        told.push(`${name} before ${call.type} ${JSON.stringify(call.inputs)}`);
        call.headers[name] = told.length;
        await next();
        told.push(`${name} after`);
      },
      async run({ jobs }, next) {
        told.push(`${name} runs ${jobs.map((job) => JSON.stringify(job.headers)).join()}`);
        return [name, await next()];
      },
    });
    const mill = test.open().use(layer("a")).use(layer("b"));
    const job = defineJob<number>("job");
    const worker = test.worker(queue, { concurrency: 1 }, mill).handle(job, ({ input }) => input + 1);
    await worker.start();
    const one = await mill.enqueue(job, 1, { queue, headers: { own: true } });
    expect(await mill.result(one, { timeout: "20s" })).toEqual(["a", ["b", 2]]);
    expect(told).toEqual([
      "a before job [1]",
      "b before job [1]",
      "b after",
      "a after",
      'a runs {"a":1,"b":2,"own":true}',
      'b runs {"a":1,"b":2,"own":true}',
    ]);
    told.length = 0;
    const many = await mill.enqueueMany(job, [5, 6], { queue });
    expect(told.slice(0, 2)).toEqual(["a before job [5,6]", "b before job [5,6]"]);
    expect(await Promise.all(many.map((made) => mill.result(made, { timeout: "20s" })))).toEqual([
      ["a", ["b", 6]],
      ["a", ["b", 7]],
    ]);
  });

  it("sees what a handler throws, may let nothing through, and may not go on twice", async () => {
    const queue = await test.queue();
    const seen: unknown[] = [];
    const mill = test.open().use({
      async enqueue({ inputs }, next) {
        if (inputs.includes("twice")) await next();
        if (!inputs.includes("nothing")) await next();
      },
      async run(_call, next) {
        try {
          return await next();
        } catch (error) {
          seen.push(error);
          throw error;
        }
      },
    });
    const job = defineJob<string>("job", { maxAttempts: 1 });
    const thrown = new TypeError("boom");
    await test
      .worker(queue, {}, mill)
      .handle(job, () => {
        throw thrown;
      })
      .start();
    const made = await mill.enqueue(job, "some", { queue });
    await expect(mill.result(made, { timeout: "20s" })).rejects.toMatchObject({
      message: expect.stringContaining("boom"),
    });
    expect(seen).toEqual([thrown]);
    await expect(mill.enqueue(job, "nothing", { queue })).rejects.toMatchObject(invalid);
    await expect(mill.enqueue(job, "twice", { queue })).rejects.toMatchObject(invalid);
    expect(() => mill.use({ enqueu: () => {} } as object)).toThrow('unknown option "enqueu"');
    expect(() => mill.use({ run: 1 } as object)).toThrow("not a function");
    expect(() => mill.use({ codec: {} } as object)).toThrow("no read or no write");
  });

  it("costs nothing when there is none: no promise is made for a run", () => {
    const none = new Middlewares();
    expect([none.isForJobs, none.isForRuns, none.hasCodec]).toEqual([false, false, false]);
  });
});

describe("a codec", () => {
  it("changes how inputs and results are stored, by every way in and out", async () => {
    const queue = await test.queue();
    const mill = test
      .open()
      .use({ codec: boxing("inner") })
      .use({ codec: boxing("outer") });
    const stored = async (id: string) => (await test.mill.jobs.get(id))!.job;
    const child = defineJob("child", { queue, input: z.object({ n: z.number() }), result: z.number() });
    const parent = defineJob<number>("parent", { queue });
    const last = defineJob<null>("last", { queue });
    const batch = defineJob<number, number>("batch", { queue, maxAttempts: 1 });
    const own = defineJob<number, number>("own", { queue });
    await test
      .worker(queue, {}, mill)
      .handle(child, ({ input }) => input.n * 2)
      .handle(parent, async ({ input }, { step }) => [
        await step.call("one", child, { n: input }),
        await step.map("more", child, [{ n: 10 }, { n: 20 }]),
      ])
      .handle(last, (job) => job.parents(child))
      .handleBatch(batch, (jobs) => jobs.map(({ input }) => (input === 0 ? failed(new Error("zero")) : -input)))
      .handle(own, async (job) => {
        const client = await test.db.pool.connect();
        try {
          await client.query("begin");
          const result = await job.complete(job.input + 100, { tx: client });
          await client.query("commit");
          return result;
        } finally {
          client.release();
        }
      })
      .start();
    const box = (kind: string, value: unknown) => ({ outer: kind, value: { inner: kind, value } });

    const one = await mill.enqueue(child, { n: 4 });
    expect(await mill.result(one, { timeout: "20s" })).toBe(8);
    expect(await stored(one.id)).toMatchObject({ input: box("input", { n: 4 }), result: box("result", 8) });
    await expect(mill.enqueue(child, { n: "4" } as never)).rejects.toMatchObject({ code: "MR011" });

    const steps = await mill.enqueue(parent, 3);
    expect(await mill.result(steps, { timeout: "20s" })).toEqual([6, [20, 40]]);

    const flow = mill.flow();
    const first = flow.add(child, { n: 1 });
    flow.add(last, null, { after: [first] });
    const { jobs } = await flow.enqueue();
    expect(await mill.result(jobs[1]!, { timeout: "20s" })).toEqual([2]);

    const [two, zero] = await mill.enqueueMany(batch, [2, 0]);
    expect(await mill.result(two!, { timeout: "20s" })).toBe(-2);
    await expect(mill.result(zero!, { timeout: "20s" })).rejects.toMatchObject({ cause: { message: "zero" } });

    const completed = await mill.enqueue(own, 5);
    expect(await mill.result(completed, { timeout: "20s" })).toBe(105);
    expect(await stored(completed.id)).toMatchObject({ result: box("result", 105) });

    const byOthers = await test.mill.enqueue("child", { n: 7 }, { queue });
    expect(await mill.result(byOthers, { timeout: "20s" })).toBe(14);
  });
});
