import { describe, expect, it } from "vitest";
import { InputError } from "../../src/db/errors.js";
import { defineJob } from "../../src/job/define-job.js";
import { PermanentError } from "../../src/job/permanent-error.js";
import { isLarge, patienceMs, sized } from "../support/large.js";
import { useMill } from "../support/mill.js";
import { until } from "../support/wait.js";

const test = useMill();
const work = defineJob("work", { retryDelay: 0 });
const patience = { timeout: "20s" } as const;

describe("names", () => {
  it("of a loop are numbered in the order of calls, in each call of the handler the same [#188]", async () => {
    const queue = await test.queue();
    const seen: string[] = [];
    const worker = test.worker(queue).handle(work, async (_job, { step }) => {
      const values: number[] = [];
      for (let i = 0; i < 3; i += 1) {
        values.push(await step.run("part", ({ key }) => (seen.push(key), i)));
        await step.sleep("pause", "1ms");
      }
      return values;
    });
    await worker.start();
    const { id } = await test.mill.enqueue(work, null, { queue });
    expect(await test.mill.result(id, patience)).toEqual([0, 1, 2]);
    expect(seen).toEqual([`${id}:part`, `${id}:part#2`, `${id}:part#3`]);
  });

  it("used twice at once are refused in the first call already, whatever kind of step they name [#188]", async () => {
    const queue = await test.queue();
    const worker = test.worker(queue).handle(work, async (_job, { step }) => {
      const both = await Promise.allSettled([step.run("a", () => 1), step.sleep("a", "1h")]);
      return both.map((one) => (one.status === "fulfilled" ? one.value : (one.reason as Error).name));
    });
    await worker.start();
    const job = await test.mill.enqueue(work, null, { queue });
    expect(await test.mill.result(job, patience)).toEqual([1, "InvalidArgumentError"]);
  });

  it.each(["", "a#2", "\0", "x".repeat(201)])("%j is not one [#188]", async (name) => {
    const queue = await test.queue();
    const worker = test
      .worker(queue)
      .handle(work, (_job, { step }) => step.run(name, () => 1).catch((error: Error) => error.name));
    await worker.start();
    const job = await test.mill.enqueue(work, null, { queue });
    expect(await test.mill.result(job, patience)).toBe("InvalidArgumentError");
  });

  it("may be as long in any script [#188]", async () => {
    const queue = await test.queue();
    const name = "𝄞".repeat(200);
    const worker = test.worker(queue).handle(work, async (_job, { step }) => {
      await step.run(name, () => 1);
      await step.sleep("then", "1ms");
      return step.run(name, () => 2);
    });
    await worker.start();
    const job = await test.mill.enqueue(work, null, { queue });
    expect(await test.mill.result(job, patience)).toBe(2);
  });
});

describe("steps at the same time", () => {
  it("give the same after a wait, whatever order they ended in [#189]", async () => {
    const queue = await test.queue();
    const calls: string[] = [];
    const worker = test.worker(queue).handle(work, async (_job, { step }) => {
      const ends: (() => void)[] = [];
      const late = (name: string) =>
        step.run(name, () => new Promise((resolve) => ends.push(() => (calls.push(name), resolve(name)))));
      const all = Promise.all(["a", "b", "c"].map(late));
      while (calls.length === 0 && ends.length < 3) await new Promise((resolve) => setImmediate(resolve));
      for (const end of ends.toReversed()) end();
      const values = await all;
      await step.sleep("between", "1ms");
      return values;
    });
    await worker.start();
    const job = await test.mill.enqueue(work, null, { queue });
    expect(await test.mill.result(job, patience)).toEqual(["a", "b", "c"]);
    expect(calls).toEqual(["c", "b", "a"]);
  });

  it("go on beside a wait: the job is not suspended before they have ended [#189]", async () => {
    const queue = await test.queue();
    let calls = 0;
    const worker = test.worker(queue).handle(work, (_job, { step }) =>
      Promise.all([
        step.sleep("nap", "30ms").then(() => "slept"),
        step.run("slow", async () => {
          calls += 1;
          await new Promise((resolve) => setTimeout(resolve, 100));
          return calls;
        }),
      ]),
    );
    await worker.start();
    const job = await test.mill.enqueue(work, null, { queue });
    expect(await test.mill.result(job, patience)).toEqual(["slept", 1]);
  });
});

describe("a handler that waits for another job", () => {
  const other = defineJob("other");
  it("is told to use step.call, unless it means to hold its slot [#204]", async () => {
    const queue = await test.queue();
    const worker = test
      .worker(queue, { concurrency: 2 })
      .handle(work, async (_job, { step }) => {
        const job = await test.mill.enqueue(other, null, { queue });
        const told = async (reason: Error) => [reason.name, reason.message];
        return [
          await test.mill.result(job).catch(told),
          await step.run("inside", () => test.mill.result(job).catch(told)),
          await test.mill.result(job, { ...patience, holdSlot: true }),
        ];
      })
      .handle(other, () => "held");
    await worker.start();
    const refused = ["InvalidArgumentError", expect.stringContaining("use step.call")];
    const job = await test.mill.enqueue(work, null, { queue });
    expect(await test.mill.result(job, patience)).toEqual([refused, refused, "held"]);
  });
});

describe("a step inside of another", () => {
  const child = defineJob("child");
  it("is refused, and the job waits without a slot when it goes on after it [#204]", async () => {
    const queue = await test.queue({ maxRunning: 1 });
    const worker = test
      .worker(queue, { concurrency: 1 })
      .handle(work, async (_job, { step }) => {
        const inside: readonly ((name: string) => Promise<unknown>)[] = [
          (name) => step.sleep(name, "1h"),
          (name) => step.sleepUntil(name, new Date(8e12)),
          (name) => step.waitFor(name),
          (name) => step.call(name, child, null, { queue }),
          (name) => step.map(name, child, [null], { queue }),
          (name) => step.run(name, () => 1),
          async (name) => {
            await new Promise((resolve) => setImmediate(resolve));
            return step.token(name);
          },
        ];
        const told: string[] = [];
        for (const [i, inner] of inside.entries()) {
          const error: Error = await step
            .run(`outer${i}`, () => inner(`inner${i}`))
            .then(
              () => expect.fail("it was done"),
              (reason: Error) => reason,
            );
          told.push((error.cause as Error).message);
        }
        await step.call("after", child, null, { queue });
        return told;
      })
      .handle(child, () => null);
    await worker.start();
    const job = await test.mill.enqueue(work, null, { queue });
    const told = await test.mill.result<string[]>(job, patience);
    expect(told).toEqual(
      Array.from({ length: 7 }, (_, i) => expect.stringContaining(`"inner${i}" is inside of the work of another step`)),
    );
    expect(told[0]).toContain("let that work end");
  });

  it("is another job's own when that runs because of what the work did [#204]", async () => {
    const queue = await test.queue();
    const worker = test
      .worker(queue, { concurrency: 2 })
      .handle(work, async (_job, { step }) => {
        return step.run("outer", async () => {
          const other = await test.mill.enqueue(child, null, { queue });
          return test.mill.result(other, { ...patience, holdSlot: true });
        });
      })
      .handle(child, async (_job, { step }) => {
        await step.sleep("inner", "1ms");
        return step.run("work", () => "done");
      });
    await worker.start();
    expect(await test.mill.result(await test.mill.enqueue(work, null, { queue }), patience)).toBe("done");
  });
});

describe("values", () => {
  const values: readonly (readonly [string, unknown])[] = [
    ["nothing", undefined],
    ["null", null],
    ["an object", { a: [1, { b: "ü𝄞\n" }], c: false }],
    ["a member that is undefined", { a: 1, b: undefined }],
    ["an empty list", []],
    ["__proto__ as a name", JSON.parse('{"__proto__": 1}')],
    ["minus zero", { n: -0 }],
  ];
  it.each(values)("are the same in the first call and in a later one: %s [#190]", async (_what, value) => {
    const queue = await test.queue();
    const seen: unknown[] = [];
    const worker = test.worker(queue).handle(work, async (_job, { step }) => {
      seen.push(await step.run("value", () => value));
      await step.sleep("then", "1ms");
    });
    await worker.start();
    await test.mill.result(await test.mill.enqueue(work, null, { queue }), patience);
    expect(seen).toHaveLength(2);
    expect(seen[1]).toStrictEqual(seen[0]);
  });

  it.each([
    ["a date", new Date(0)],
    ["a map", new Map([[1, 2]])],
    ["a big integer", 1n],
    ["not a number", Number.NaN],
    ["a function", { f: () => 1 }],
    ["U+0000", { text: "a\0b" }],
    ["half a character", "\ud800"],
    [
      "itself",
      (() => {
        const ring: unknown[] = [];
        ring.push(ring);
        return ring;
      })(),
    ],
    ["more than a megabyte", "x".repeat(1_048_577)],
  ])("that JSON cannot carry are refused: %s [#190]", async (_what, value) => {
    const queue = await test.queue();
    const worker = test.worker(queue).handle(work, async (_job, { step }) => {
      const error = await step.run("value", () => value).catch((reason: Error) => reason);
      const { name, code } = (error as Error).cause as { name: string; code: string };
      await step.sleep("then", "1ms");
      return [(error as Error).name, name, code];
    });
    await worker.start();
    const told = await test.mill.result(await test.mill.enqueue(work, null, { queue }), patience);
    expect(told).toEqual(["StepFailedError", expect.any(String), expect.stringMatching(/^MR00[14]$/)]);
  });
});

describe("a step with retries of its own", () => {
  it("gives up its slot meanwhile, uses its own budget, and ends with an error that can be caught [#192]", async () => {
    const queue = await test.queue({ maxRunning: 1 });
    const ran: string[] = [];
    const worker = test
      .worker(queue, { concurrency: 1 })
      .handle(work, async (_job, { step }) => {
        const error = await step
          .run("flaky", ({ attempt }) => Promise.reject(new Error(`try ${attempt}`)), {
            maxAttempts: 2,
            retryDelay: "4s", // longer than another job takes, however busy the machine is
          })
          .catch((reason: Error) => reason);
        await step.sleep("then", "1ms");
        return [error.name, (error.cause as Error).message];
      })
      .handle(defineJob("other"), () => void ran.push("other"));
    await worker.start();
    const { id } = await test.mill.enqueue(work, null, { queue });
    await until("it is suspended", async () => (await test.mill.jobs.get(id))!.job.state === "suspended");
    await test.mill.result(await test.mill.enqueue("other", null, { queue }), patience);
    expect(await test.mill.jobs.get(id)).toMatchObject({ job: { state: "suspended" } });
    expect(await test.mill.result(id, patience)).toEqual(["StepFailedError", "try 2"]);
    const steps = (await test.db.engine.stepsGet([id])).get(id)!;
    expect(steps.filter(({ kind }) => kind === "try").map(({ n }) => n)).toEqual(["1"]);
    expect((await test.mill.jobs.get(id))!.job).toMatchObject({ state: "succeeded", attempts: 1 });
  });

  it("is over at once with a PermanentError [#192]", async () => {
    const queue = await test.queue();
    let tries = 0;
    const worker = test
      .worker(queue)
      .handle(work, (_job, { step }) =>
        step
          .run("flaky", () => ((tries += 1), Promise.reject(new PermanentError("never"))), { maxAttempts: 9 })
          .catch((error: Error) => error.name),
      );
    await worker.start();
    expect(await test.mill.result(await test.mill.enqueue(work, null, { queue }), patience)).toBe("StepFailedError");
    expect(tries).toBe(1);
  });

  it("without them fails the attempt, and the next begins with it; what was done before stays [#183] [#192]", async () => {
    const queue = await test.queue();
    const calls: string[] = [];
    const worker = test.worker(queue).handle(work, async (job, { step }) => {
      await step.run("first", () => void calls.push("first"));
      return step.run("second", () => {
        calls.push(`second ${job.attempt}`);
        if (job.attempt < 3) throw new Error("not yet");
        return job.attempt;
      });
    });
    await worker.start();
    const job = await test.mill.enqueue(work, null, { queue, maxAttempts: 5 });
    expect(await test.mill.result(job, patience)).toBe(3);
    expect(calls).toEqual(["first", "second 1", "second 2", "second 3"]);
  });
});

describe("the error of a step", () => {
  class Declined extends Error {
    override readonly name = "Declined";
    readonly code = "E_DECLINED";
  }
  const told = (error: Error) => {
    const { name, message, cause } = error as { name: string; message: string; cause: Error };
    const { attempts } = error as { attempts?: number };
    return [name, message, attempts, cause?.name, (cause as { code?: string })?.code, cause instanceof Declined];
  };

  it.each([1, 2])(
    "is the same in the first call and in a later one: maxAttempts %d [#190] [#192]",
    async (maxAttempts) => {
      const queue = await test.queue();
      const seen: unknown[] = [];
      const worker = test.worker(queue).handle(work, async (_job, { step }) => {
        const error = await step
          .run("pay", () => Promise.reject(new Declined("no")), { maxAttempts, retryDelay: "1ms" })
          .catch((reason: Error) => reason);
        seen.push(told(error));
        await step.sleep("then", "1ms");
      });
      await worker.start();
      await test.mill.result(await test.mill.enqueue(work, null, { queue }), patience);
      const one = ["StepFailedError", 'step "pay" failed: no', maxAttempts, "Declined", "E_DECLINED", false];
      expect(seen).toEqual([one, one]);
    },
  );

  it("of an input that does not fit is permanent in later calls too [#190] [#192]", async () => {
    const queue = await test.queue();
    const attempts: number[] = [];
    const worker = test.worker(queue).handle(work, async (job, { step }) => {
      attempts.push(job.attempt);
      const error = await step
        .run("check", () => Promise.reject(new InputError("the order", [])), { maxAttempts: 3 })
        .catch((reason: Error) => reason);
      await step.sleep("then", "1ms");
      throw error;
    });
    await worker.start();
    const { id } = await test.mill.enqueue(work, null, { queue, maxAttempts: 5 });
    await expect(test.mill.result(id, patience)).rejects.toMatchObject({ state: "failed" });
    expect(attempts).toEqual([1, 1]);
    expect((await test.mill.jobs.get(id))!.job).toMatchObject({ reason: "permanent", attempts: 1 });
  });
});

describe("many steps", () => {
  it(
    "cost the same at the end as at the beginning, and a resume reads them once [#186]",
    async () => {
      const queue = await test.queue();
      const many = sized(2000, 10_000);
      let times: number[] = [];
      let calls = 0;
      const worker = test.worker(queue, { lease: "60s" }).handle(work, async (_job, { step }) => {
        for (let i = 0; i < many; i += 1) {
          const beganAt = performance.now();
          await step.run("one", () => void (calls += 1));
          if (times.length < many) times.push(performance.now() - beganAt);
        }
        await step.sleep("then", "1ms");
      });
      await worker.start();
      const median = (list: readonly number[]): number => list.toSorted((a, b) => a - b)[list.length >> 1]!;
      // The least of three runs: others use this machine too, some of them just at the end. What grows does so in each.
      const ratios: number[] = [];
      while (ratios.length < 3 && !ratios.some((ratio) => ratio < 1.5)) {
        [times, calls] = [[], 0];
        await test.mill.result(await test.mill.enqueue(work, null, { queue }), { timeout: isLarge ? "20m" : "40s" });
        expect(calls).toBe(many);
        ratios.push(median(times.slice(-100)) / median(times.slice(0, 100)));
      }
      expect(Math.min(...ratios)).toBeLessThan(1.5);
    },
    patienceMs,
  );

  it("are read once by each call of the handler, however many there are [#186]", async () => {
    const queue = await test.queue();
    const mill = test.open();
    const read: string[] = [];
    const { engine } = mill;
    const runsGet = engine.runsGet.bind(engine);
    engine.runsGet = (jobs, maxBytes, call) => (read.push(...jobs), runsGet(jobs, maxBytes, call));
    let calls = 0;
    const worker = test.worker(queue, {}, mill).handle(work, async (_job, { step }) => {
      calls += 1;
      for (let i = 0; i < 50; i += 1) await step.run("one", () => i);
      await Promise.all([step.sleep("a", "1ms"), step.run("b", () => 1)]);
      await step.sleep("c", "1ms");
    });
    await worker.start();
    const { id } = await test.mill.enqueue(work, null, { queue });
    await test.mill.result(id, patience);
    expect(calls).toBe(3);
    expect(read).toEqual([id, id, id]);
  });

  it("of many jobs share their commits [#187]", async () => {
    const queue = await test.queue();
    const worker = test.worker(queue, { concurrency: 100 }).handle(work, async (_job, { step }) => {
      for (let i = 0; i < 20; i += 1) await step.run("one", () => i);
    });
    const made = await test.mill.enqueueMany(
      work,
      Array.from({ length: 100 }, () => null),
      { queue },
    );
    await worker.start();
    await Promise.all(made.map((job) => test.mill.result(job, patience)));
    // of the transactions that wrote anything of these jobs; others use this server too
    const [row] = await test.db.sql<{ steps: number; commits: number }>(
      `select count(*) filter (where log = 'step')::int as steps, count(distinct xid)::int as commits from (
         select 'step' as log, xmin::text as xid from step where job_id = any ($1)
         union all select 'attempt', xmin::text from attempt where job_id = any ($1)) written`,
      [made.map(({ id }) => id)],
    );
    expect(row!.steps).toBe(2000);
    expect(row!.commits / row!.steps).toBeLessThan(0.2);
  });
});

describe("what was noted", () => {
  it("of a map over nothing is nothing, also after a wait [#206]", async () => {
    const queue = await test.queue();
    const worker = test.worker(queue).handle(work, async (_job, { step }) => {
      const none = await step.map("none", work, [], { queue });
      await step.sleep("then", "1ms");
      return none;
    });
    await worker.start();
    expect(await test.mill.result(await test.mill.enqueue(work, null, { queue }), patience)).toEqual([]);
  });
});
