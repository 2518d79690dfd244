import { Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import { defineJob } from "../../src/job/define-job.js";
import { useMill } from "../support/mill.js";
import { Unfit, schemaOf } from "../support/schemas.js";
import { invalidArgument } from "../support/steps.js";

const test = useMill();
const work = defineJob<number>("work");
const count = async (queue: string): Promise<number> => (await test.mill.queues.depth(queue)).ready;

describe("enqueueMany", () => {
  it("takes an array as a whole, and returns one id each, in order [#2 #43]", async () => {
    const queue = await test.queue();
    const made = await test.mill.enqueueMany(
      work,
      Array.from({ length: 2500 }, (_, n) => n),
      { queue },
    );
    expect(new Set(made.map((job) => job.id)).size).toBe(2500);
    expect(await count(queue)).toBe(2500);
    expect((await test.mill.jobs.get(made[1234]!.id))!.job.input).toBe(1234);
    expect(made.map((job) => BigInt(job.id))).toEqual(
      made.map((job) => BigInt(job.id)).toSorted((a, b) => (a < b ? -1 : 1)),
    );
  });

  it("of nothing makes nothing", async () => {
    const queue = await test.queue();
    expect(await test.mill.enqueueMany(work, [], { queue })).toEqual([]);
    expect(await test.mill.enqueueMany(work, new Set<number>(), { queue })).toEqual({ count: 0 });
    expect(await count(queue)).toBe(0);
  });

  it("takes whatever can be iterated: sets, generators, streams [#2]", async () => {
    const queue = await test.queue();
    function* some() {
      yield* [1, 2, 3];
    }
    expect(await test.mill.enqueueMany(work, new Set([1, 2]), { queue })).toEqual({ count: 2 });
    expect(await test.mill.enqueueMany(work, some(), { queue })).toEqual({ count: 3 });
    expect(await test.mill.enqueueMany(work, Readable.from([1, 2, 3, 4]) as AsyncIterable<number>, { queue })).toEqual({
      count: 4,
    });
    expect(await count(queue)).toBe(9);
  });

  it("reads a stream as it goes, commits by the thousand, and keeps what was stored when the stream breaks [#151]", async () => {
    const queue = await test.queue();
    const seen: number[] = [];
    async function* inputs() {
      for (let n = 0; n < 2600; n += 1) {
        if (n === 1500) seen.push(await count(queue));
        if (n === 2500) throw new Error("the stream broke");
        yield n;
      }
    }
    await expect(test.mill.enqueueMany(work, inputs(), { queue })).rejects.toThrow("the stream broke");
    expect(seen).toEqual([1000]);
    expect(await count(queue)).toBe(2000);
  });

  it("in a transaction is all or nothing, also from a stream [#152 #117]", async () => {
    const queue = await test.queue();
    const tx = await test.db.connect();
    async function* inputs() {
      for (let n = 0; n < 1500; n += 1) yield n;
    }
    await tx.query("begin");
    expect(await test.mill.enqueueMany(work, inputs(), { queue, tx })).toEqual({ count: 1500 });
    expect(await count(queue)).toBe(0);
    await tx.query("rollback");
    expect(await count(queue)).toBe(0);
    await tx.query("begin");
    await test.mill.enqueueMany(work, inputs(), { queue, tx });
    await tx.query("commit");
    expect(await count(queue)).toBe(1500);
  });

  it("checks every input: one that does not fit refuses the array, or the rest of a stream [#79]", async () => {
    const queue = await test.queue();
    const even = defineJob("even", {
      input: schemaOf<number>((value) => {
        if (Number(value) % 2 !== 0) throw new Unfit("must be even");
        return Number(value);
      }),
    });
    await expect(test.mill.enqueueMany(even, [2, 4, 5], { queue })).rejects.toMatchObject({ code: "MR011" });
    expect(await count(queue)).toBe(0);
    const inputs = Array.from({ length: 1200 }, (_, n) => (n === 1100 ? 1 : 2));
    await expect(test.mill.enqueueMany(even, inputs.values(), { queue })).rejects.toMatchObject({ code: "MR011" });
    expect(await count(queue)).toBe(1000);
  });

  it("shares its options among all, and refuses those that cannot be shared [#34]", async () => {
    const queue = await test.queue();
    const [one] = await test.mill.enqueueMany(work, [1], {
      queue,
      priority: 1,
      tenant: "t",
      delay: "1h",
      headers: { a: 1 },
    });
    expect((await test.mill.jobs.get(one!.id))!.job).toMatchObject({
      priority: 1,
      tenant: "t",
      state: "delayed",
      headers: { a: 1 },
    });
    await expect(test.mill.enqueueMany(work, [1], { queue, payload: new Uint8Array(3) })).rejects.toMatchObject(
      invalidArgument,
    );
    await expect(test.mill.enqueueMany(work, [1], { queue, prio: 1 } as object)).rejects.toMatchObject(invalidArgument);
  });
});
