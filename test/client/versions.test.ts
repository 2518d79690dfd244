import { describe, expect, it } from "vitest";
import { defineJob } from "../../src/job/define-job.js";
import { useMill } from "../support/mill.js";
import { Unfit, schemaOf } from "../support/schemas.js";
import { until } from "../support/wait.js";

const test = useMill();

const first = defineJob<{ name: string }>("greet");
const second = defineJob<{ first: string; last: string }>("greet", {
  version: 2,
  upcast: {
    1: ({ name }: { name: string }) => {
      const [first, last] = name.split(" ");
      return { first, last };
    },
  },
});
const third = defineJob<{ names: string[] }>("greet", {
  version: 3,
  upcast: {
    1: ({ name }: { name: string }) => ({ first: name.split(" ")[0], last: name.split(" ")[1] }),
    2: ({ first, last }: { first: string; last: string }) => ({ names: [first, last] }),
  },
});

describe("a job in flight while its definition changes", () => {
  it("reaches the handler in the handler's version, through every step in between [#79]", async () => {
    const queue = await test.queue();
    const made = [
      await test.mill.enqueue(first, { name: "Ada Lovelace" }, { queue }),
      await test.mill.enqueue(second, { first: "Grace", last: "Hopper" }, { queue, headers: { kept: "yes" } }),
      await test.mill.enqueue(third, { names: ["Mary", "Shelley"] }, { queue }),
      await test.mill.enqueue("greet", { name: "Emmy Noether" }, { queue }),
      ...(await test.mill.enqueueMany(second, [{ first: "Maria", last: "Mitchell" }], { queue })),
    ];
    await test
      .worker(queue)
      .handle(third, ({ input, headers }) => [...input.names, headers?.["kept"] ?? null])
      .start();
    expect(await Promise.all(made.map((job) => test.mill.result(job)))).toEqual([
      ["Ada", "Lovelace", null],
      ["Grace", "Hopper", "yes"],
      ["Mary", "Shelley", null],
      ["Emmy", "Noether", null],
      ["Maria", "Mitchell", null],
    ]);
  });

  it("waits, when it was written by a newer release, for a worker that knows its version; no attempt is used [#45 #78]", async () => {
    const queue = await test.queue();
    const seen: unknown[] = [];
    const released: string[] = [];
    const old = test.worker(queue).handle(first, ({ input }) => void seen.push(input));
    old.on("released", (job) => released.push(job.id));
    await old.start();
    const { id } = await test.mill.enqueue(second, { first: "Grace", last: "Hopper" }, { queue, maxAttempts: 1 });
    await until("the old worker has given it back", () => released.length > 0);
    await old.stop();
    expect((await test.mill.jobs.get(id))!.job).toMatchObject({ state: "delayed", attempts: 0 });
    await test.db.moveClock(61);
    await test
      .worker(queue)
      .handle(second, ({ input, attempt }) => [input.last, attempt])
      .start();
    expect(await test.mill.result(id)).toEqual(["Hopper", 1]);
    expect([seen, released]).toEqual([[], [id]]);
  });

  it("of a batch is brought up or given back one by one [#116]", async () => {
    const queue = await test.queue();
    const made = [
      await test.mill.enqueue(first, { name: "Ada Lovelace" }, { queue }),
      await test.mill.enqueue(third, { names: ["Mary", "Shelley"] }, { queue }),
      await test.mill.enqueue(second, { first: "Grace", last: "Hopper" }, { queue }),
    ];
    await test
      .worker(queue)
      .handleBatch(second, (jobs) => jobs.map(({ input }) => input.last))
      .start();
    expect(await test.mill.result(made[0]!)).toBe("Lovelace");
    expect(await test.mill.result(made[2]!)).toBe("Hopper");
    expect((await test.mill.jobs.get(made[1]!.id))!.job).toMatchObject({ state: "delayed", attempts: 0 });
  });

  it("is checked after it was brought up; what an upcast throws is retried [#6 #31]", async () => {
    const queue = await test.queue();
    let calls = 0;
    const strict = defineJob("strict", {
      version: 2,
      input: schemaOf<{ n: number }>((value) => {
        if (typeof (value as { n: unknown }).n !== "number") throw new Unfit("must be a number", ["n"]);
        return value as { n: number };
      }),
      upcast: {
        1: (input: { text: string }) => {
          calls += 1;
          if (calls === 1) throw new Error("not now");
          return { n: input.text === "" ? "none" : Number(input.text) };
        },
      },
    });
    await test
      .worker(queue)
      .handle(strict, ({ input }) => input.n)
      .start();
    expect(await test.mill.result(await test.mill.enqueue("strict", { text: "42" }, { queue, retryDelay: 0 }))).toBe(
      42,
    );
    const bad = await test.mill.enqueue("strict", { text: "" }, { queue });
    await expect(test.mill.result(bad)).rejects.toMatchObject({
      state: "failed",
      message: expect.stringContaining("n: must be a number"),
    });
  });
});
