import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { ClaimedJob, JobId } from "../../src/db/types.js";
import { defineJob } from "../../src/job/define-job.js";
import { PermanentError } from "../../src/job/permanent-error.js";
import { isLarge, patienceMs, sized } from "../support/large.js";
import { claimIds, claimOne, enqueue, idsOf, stateOf } from "../support/jobs.js";
import { useMill } from "../support/mill.js";
import { miscounts } from "../support/steps.js";
import { isBlocked } from "../support/sessions.js";
import { until } from "../support/wait.js";

const test = useMill();
const patience = { timeout: "20s" } as const;
const parent = defineJob<{ queue: string; count?: number }>("parent");
const child = defineJob("child", { maxAttempts: 1 });

/** A parent that tells how its only child ended. */
function callOne(queue: string) {
  return test.worker(queue).handle(parent, async (job, { step }) =>
    step.call("one", child, null, { queue: job.input.queue }).then(
      () => "succeeded",
      (error: { name: string; state: string }) => `${error.name} ${error.state}`,
    ),
  );
}

async function suspendedWithChild(): Promise<{ id: string; childQueue: string; childId: string }> {
  const [queue, childQueue] = [await test.queue(), await test.queue()];
  await callOne(queue).start();
  const { id } = await test.mill.enqueue(parent, { queue: childQueue }, { queue });
  await until("it waits for its child", async () => (await stateOf(test.db, id)) === "suspended");
  const [made] = await test.mill.jobs.list({ queue: childQueue });
  return { id, childQueue, childId: made!.id };
}

describe("a child that does not succeed is a typed error of its parent", () => {
  it.each([
    ["failed", "failed", (job) => test.db.engine.fail(job, { message: "no" })],
    ["dead-lettered", "failed", (job) => test.db.engine.deadLetter(job, "default", { message: "no" })],
    ["cancelled while it ran", "cancelled", ({ id }) => test.db.engine.cancel([id])],
  ] as readonly (readonly [string, string, (job: { id: string; token: string }) => Promise<unknown>])[])(
    "%s [#205]",
    async (_how, state, end) => {
      await test.db.engine.queuePut("default");
      const { id, childQueue } = await suspendedWithChild();
      await end(await claimOne(test.db, childQueue));
      expect(await test.mill.result(id, patience)).toBe(`JobFailedError ${state}`);
    },
  );

  it("lost [#205]", async () => {
    const { id, childQueue } = await suspendedWithChild();
    await claimOne(test.db, childQueue, { leaseSeconds: 0.1 });
    await until("it is reaped", async () => {
      await test.db.engine.maintain();
      return (await test.mill.jobs.list({ queue: childQueue, state: "failed" })).length === 1;
    });
    expect(await test.mill.result(id, patience)).toBe("JobFailedError failed");
  });

  it("cancelled while it waited [#205]", async () => {
    const { id, childId } = await suspendedWithChild();
    await test.mill.cancel(childId);
    expect(await test.mill.result(id, patience)).toBe("JobFailedError cancelled");
  });

  it("expired while it waited, and while it ran [#205]", async () => {
    const [queue, childQueue] = [await test.queue(), await test.queue({ ttlSeconds: 0.2 })];
    await callOne(queue).start();
    const { id } = await test.mill.enqueue(parent, { queue: childQueue }, { queue });
    await until("the sweep has seen it", async () => {
      await test.db.engine.maintain();
      return (await test.mill.jobs.list({ queue: childQueue, state: "expired" })).length === 1;
    });
    expect(await test.mill.result(id, patience)).toBe("JobFailedError expired");
  });

  it.each([
    ["purged", (queue) => test.mill.queues.purge(queue)],
    ["shed", (queue) => test.db.engine.queueShed(queue, new Date("2199-01-01"), {})],
  ] as readonly (readonly [string, (queue: string) => Promise<unknown>])[])("%s [#205]", async (_how, drop) => {
    const { id, childQueue } = await suspendedWithChild();
    await drop(childQueue);
    await test.db.engine.maintain();
    expect(await test.mill.result(id, patience)).toBe("JobFailedError cancelled");
  });

  it("purged while its parent still ran [#205]", async () => {
    const [queue, childQueue] = [await test.queue(), await test.queue()];
    const id = await enqueue(test.db, queue, { type: "parent" });
    const job = await claimOne(test.db, queue);
    const [childId] = await test.db.engine.stepStart(job, "one", [{ type: "child", queue: childQueue }]);
    await test.mill.queues.purge(childQueue);
    await test.db.engine.maintain();
    const settlement = { token: job.token, outcome: "suspended", jobs: [id], steps: [] } as const;
    await test.db.engine.settle([{ ...settlement, waits: [{ key: "one", children: 1 }] }]);
    await test.db.engine.noticesDeliver();
    await test.db.engine.noticesDeliver();
    expect(await stateOf(test.db, id)).toBe("ready");
    const steps = (await test.db.engine.stepsGet([id])).get(id)!;
    expect(steps.at(-1)).toMatchObject({ kind: "ended", other: childId, about: "cancelled" });
  });

  it("purged by a transaction that commits after others have looked [#205]", async () => {
    const { id, childQueue } = await suspendedWithChild();
    const late = await test.db.connect();
    await late.query("begin");
    await late.query("select queue_purge($1)", [childQueue]);
    const other = await test.queue();
    await enqueue(test.db, other);
    await test.mill.queues.purge(other);
    await test.db.engine.maintain();
    await late.query("commit");
    await test.db.engine.maintain();
    expect(await test.mill.result(id, patience)).toBe("JobFailedError cancelled");
  });
});

describe("a parent that ends", () => {
  it.each([
    ["is cancelled", (id) => test.mill.cancel(id)],
    ["is purged", (_id, queue) => test.mill.queues.purge(queue)],
    [
      "passes its deadline",
      async (id) => {
        await test.db.moveClock(3600);
        // upkeep passes over a lane that a claim of the worker has in hand just then
        await until("upkeep has ended it", async () => {
          await test.db.engine.maintain();
          return (await stateOf(test.db, id)) === "expired";
        });
      },
    ],
  ] as readonly (readonly [string, (id: string, queue: string) => Promise<unknown>])[])(
    "%s while it is suspended: at once, and what is below it too, unless detached [#207] [#195]",
    async (_how, end) => {
      const [queue, below] = [await test.queue(), await test.queue()];
      const worker = test
        .worker(queue)
        .handle(parent, async (_job, { step }) => {
          await step.start("free", child, "free", { queue: below });
          await step.call("middle", "middle", null, { queue });
        })
        .handle(defineJob("middle"), (_job, { step }) => step.call("low", child, "low", { queue: below }));
      await worker.start();
      const { id } = await test.mill.enqueue(parent, { queue }, { queue, deadline: new Date(Date.now() + 1_800_000) });
      await until("all are there", async () => (await test.mill.jobs.list({ queue: below })).length === 2);
      await until("both wait", async () => (await test.mill.jobs.list({ queue, state: "suspended" })).length === 2);
      await end(id, queue);
      expect(["cancelled", "expired"]).toContain(await stateOf(test.db, id));
      await until("what is below has ended", async () => {
        await test.db.engine.noticesDeliver();
        return (await test.mill.jobs.list({ queue: below, state: "cancelled" })).length === 1;
      });
      const [left] = await test.mill.jobs.list({ queue: below, state: "ready" });
      expect(left).toMatchObject({ input: "free" });
      expect(await test.mill.jobs.list({ queue, state: "suspended" })).toEqual([]);
    },
  );

  it("tells all outcomes of many where none of them is to be an error, also after a crash [#205]", async () => {
    const queue = await test.queue();
    const worker = test
      .worker(queue)
      .handle(parent, async (_job, { step }) => {
        const all = await step.mapSettled("all", child, [1, "fail", 3], { queue, maxAttempts: 1 });
        await step.sleep("nap", "5ms");
        return all.map((one) =>
          one.status === "fulfilled" ? one.value : [one.status, (one.reason as { code: string }).code],
        );
      })
      .handle(child, (job) => {
        if (job.input === "fail") throw new PermanentError("it was told to");
        return job.input;
      });
    await worker.start();
    const { id } = await test.mill.enqueue(parent, { queue }, { queue });
    expect(await test.mill.result(id, patience)).toEqual([1, ["rejected", "MR013"], 3]);
    const children = await test.mill.jobs.children(id);
    expect(children.map(({ state }) => state)).toEqual(["succeeded", "failed", "succeeded"]);
    expect(await test.mill.jobs.children(id, { after: children[0]!.id, limit: 1 })).toEqual([children[1]]);
    expect((await test.mill.jobs.steps({ id }, { key: "nap" })).map(({ kind }) => kind)).toEqual(["due"]);
    await expect(test.mill.jobs.steps(id, { kye: "x" } as never)).rejects.toMatchObject({ code: "MR001" });
  });

  it("with a failure cancels thousands of children, in parts, without holding up others for long [#207]", async () => {
    const [queue, below] = [await test.queue(), await test.queue()];
    const worker = test.worker(queue).handle(parent, async (_job, { step }) => {
      await Promise.race([
        step.map(
          "all",
          child,
          Array.from({ length: 2500 }, () => null),
          { queue: below },
        ),
        step.sleep("nap", "300ms"),
      ]);
      throw new PermanentError("enough");
    });
    await worker.start();
    const { id } = await test.mill.enqueue(parent, { queue }, { queue });
    await expect(test.mill.result(id, patience)).rejects.toMatchObject({ name: "JobFailedError" });
    await until("all are cancelled", async () => {
      await test.db.engine.noticesDeliver();
      return (await test.db.engine.queueDepth(below)).ready === 0;
    });
    expect(
      (await test.db.sql("select count(*)::int as n from jobs where queue = $1 and state = 'cancelled'", [below]))[0],
    ).toEqual({ n: 2500 });
  });
});

describe("children", () => {
  it(
    "thousands: their parent resumes once, with all results in order, and soon [#206]",
    async () => {
      const queue = await test.queue();
      const count = sized(2000, 10_000);
      let calls = 0;
      let lastEndedAt = 0;
      const worker = test
        .worker(queue, { concurrency: 100 })
        .handle(parent, async (job, { step }) => {
          calls += 1;
          const results = await step.map(
            "all",
            child,
            Array.from({ length: job.input.count! }, (_, i) => i),
            { queue },
          );
          return { results, afterMs: performance.now() - lastEndedAt };
        })
        .handle(child, (job) => ((lastEndedAt = performance.now()), job.input));
      await worker.start();
      const { id } = await test.mill.enqueue(parent, { queue, count }, { queue });
      const { results, afterMs } = (await test.mill.result(id, { timeout: isLarge ? "20m" : "40s" })) as {
        results: number[];
        afterMs: number;
      };
      expect(results).toEqual(Array.from({ length: count }, (_, i) => i));
      expect(calls).toBe(2);
      expect(afterMs).toBeLessThan(5000); // bench/workflows says how soon
    },
    patienceMs,
  );

  it("two that end at one instant, beside several who deliver: the parent goes on, once [#206]", async () => {
    const [queue, below] = [await test.queue(), await test.queue()];
    const ids = (
      await test.db.engine.enqueueMany(
        "parent",
        Array.from({ length: 100 }, () => null),
        { queue },
      )
    ).map(({ id }) => id);
    for (const job of await test.db.engine.claim({ queues: [queue], limit: 100, leaseSeconds: 100 })) {
      await test.db.engine.stepStart(job, "two", [
        { type: "child", queue: below },
        { type: "child", queue: below },
      ]);
      const settlement = { token: job.token, outcome: "suspended", jobs: [job.id], steps: [] } as const;
      await test.db.engine.settle([{ ...settlement, waits: [{ key: "two", children: 2 }] }]);
    }
    const children = new Map<string, ClaimedJob[]>();
    for (const job of await test.db.engine.claim({ queues: [below], limit: 200, leaseSeconds: 100 }))
      children.set(job.parent!, [...(children.get(job.parent!) ?? []), job]);
    const resumed: JobId[] = [];
    for (const [a, b] of children.values()) {
      await Promise.all([
        test.db.engine.complete(a!, "a"),
        test.db.engine.complete(b!, "b"),
        test.db.engine.noticesDeliver(),
        test.db.engine.noticesDeliver(),
        test.db.engine
          .claim({ queues: [queue], limit: 10, leaseSeconds: 100 })
          .then((jobs) => resumed.push(...idsOf(jobs))),
      ]);
    }
    await test.db.engine.noticesDeliver();
    resumed.push(...(await claimIds(test.db, queue, { leaseSeconds: 100 })));
    expect(resumed.toSorted()).toEqual(ids.toSorted());
    expect(await miscounts(test.db, queue)).toEqual([]);
  });

  it("of two steps that end in one delivery are both counted [#206]", async () => {
    const [queue, below] = [await test.queue(), await test.queue()];
    const worker = test
      .worker(queue)
      .handle(parent, (_job, { step }) =>
        Promise.race([
          step.map("a", child, [1, 2], { queue: below }).then(() => "a"),
          step.map("b", child, [1, 2], { queue: below }).then(() => "b"),
        ]),
      );
    await worker.start();
    const { id } = await test.mill.enqueue(parent, { queue }, { queue });
    await until("it waits", async () => (await stateOf(test.db, id)) === "suspended");
    await test.db.engine.noticesDeliver();
    const steps = (await test.db.engine.stepsGet([id])).get(id)!;
    const started = new Map(steps.filter(({ kind }) => kind === "started").map(({ key, jobs }) => [key, jobs!]));
    const claimed = await test.db.engine.claim({ queues: [below], limit: 4 });
    const complete = async (ids: readonly string[]) => {
      for (const job of claimed.filter((one) => ids.includes(one.id))) await test.db.engine.complete(job, 1);
      await test.db.engine.noticesDeliver();
    };
    await complete([started.get("a")![0]!, started.get("b")![0]!]);
    expect(await stateOf(test.db, id)).toBe("suspended");
    await complete([started.get("b")![1]!]);
    expect(await test.mill.result(id, patience)).toBe("b");
  });

  it("of jobs of one claim are started at the same time, beside a report: nobody waits in a circle [#203]", async () => {
    const queue = await test.queue();
    for (let i = 0; i < 3; i += 1) await enqueue(test.db, queue, { type: "parent" });
    const [a, b, c] = await test.db.engine.claim({ queues: [queue], limit: 3 });
    expect(new Set([a!.token, b!.token, c!.token])).toHaveLength(1);
    const first = await test.db.connect();
    await first.query("begin");
    await test.db.engine.stepStart(a!, "one", [{ type: "child", queue }], { tx: first });
    const report = test.db.engine.complete(c!);
    expect(await isBlocked(test.db, report, first)).toBe(true);
    const second = test.db.engine.stepStart(b!, "one", [{ type: "child", queue }]);
    await Promise.race([second, sleep(200)]);
    await first.query("commit");
    await Promise.all([report, second]);
  });

  it("are started once, whoever asks again [#203]", async () => {
    const queue = await test.queue();
    await enqueue(test.db, queue, { type: "parent" });
    const job = await claimOne(test.db, queue);
    const start = () =>
      test.db.engine.stepStart(job, "key", [
        { type: "child", queue },
        { type: "child", queue },
      ]);
    const asked = await Promise.all(Array.from({ length: 8 }, start));
    expect(new Set(asked.map((ids) => ids.join()))).toHaveLength(1);
    await test.db.engine.cancel([job.id]);
    await expect(start()).rejects.toMatchObject({ name: "LeaseLostError" });
    expect(await test.mill.jobs.list({ queue, type: "child" })).toHaveLength(2);
  });
});

describe("a child in the order of its parent", () => {
  it.each([
    ["its ordered group", { ordered: true }, "a"],
    ["its serial queue", { ordered: true, maxRunning: 1 }, undefined],
  ] as const)("is refused at once, because it would wait for ever: %s [#204]", async (_where, options, group) => {
    const queue = await test.queue(options);
    const of = group === undefined ? {} : { group };
    const worker = test
      .worker(queue)
      .handle(parent, (_job, { step }) =>
        step.call("one", child, null, { queue, ...of }).catch((error: Error) => error.name),
      );
    await worker.start();
    const job = await test.mill.enqueue(parent, { queue }, { queue, ...of });
    expect(await test.mill.result(job, patience)).toBe("InvalidArgumentError");
    expect(await test.mill.jobs.list({ queue, type: "child" })).toEqual([]);
  });
});

describe("children that were refused", () => {
  it("stay refused for this attempt, so that a handler that caught it goes the same way after a wait [#183] [#205]", async () => {
    const queue = await test.queue();
    let checks = 0;
    const refusing = {
      "~standard": {
        version: 1 as const,
        vendor: "test",
        // what it accepts may change while the job waits
        validate: (value: unknown) =>
          (checks += 1) <= 3 ? { issues: [{ message: "not that" }] } : { value: value as null },
      },
    };
    const picky = defineJob("picky", { input: refusing, maxAttempts: 1 });
    const seen: unknown[] = [];
    const worker = test.worker(queue).handle(parent, async (job, { step }) => {
      const told = (work: Promise<unknown>): Promise<unknown> =>
        work.then(
          () => "done",
          (error: Error) => [error.name, (error as { code?: string }).code, error.message],
        );
      const all = [
        await told(step.start("start", picky, null, { queue })),
        await told(step.call("call", picky, null, { queue })),
        await told(step.map("map", picky, [null], { queue })),
      ];
      seen.push(all);
      await step.sleep("then", "1ms");
      return job.attempt;
    });
    await worker.start();
    const { id } = await test.mill.enqueue(parent, { queue }, { queue });
    expect(await test.mill.result(id, patience)).toBe(1);
    const refused = ["InputError", "MR011", expect.stringContaining("not that")];
    expect(seen).toEqual([
      [refused, refused, refused],
      [refused, refused, refused],
    ]);
    expect((await test.mill.jobs.steps(id)).filter(({ kind }) => kind === "started")).toEqual([]);
  });
});
