import { describe, expect, it } from "vitest";
import { InvalidArgumentError } from "../../src/db/errors.js";
import type { FlowWhen, JobId } from "../../src/db/types.js";
import { defineJob } from "../../src/job/define-job.js";
import { patienceMs, sized } from "../support/large.js";
import { claimOne, enqueue, stateOf } from "../support/jobs.js";
import { useMill } from "../support/mill.js";

const test = useMill();
const work = defineJob<{ fail?: boolean; n?: number }, number>("work", { maxAttempts: 1 });
const sum = defineJob<null, number>("sum");

/** Deliver so often: what was told while notices were delivered comes with the next ones. */
async function deliver(times: number): Promise<void> {
  for (let n = 0; n < times; n += 1) await test.mill.engine.noticesDeliver();
}

/** A worker that does what its jobs' inputs say. */
async function working(queue: string, order: JobId[] = []): Promise<void> {
  const worker = test
    .worker(queue, { concurrency: 10 })
    .handle(work, (job) => {
      order.push(job.id);
      if (job.input.fail) throw new Error("it was told to");
      return job.input.n ?? 0;
    })
    .handle(sum, async (job) => {
      order.push(job.id);
      return (await job.parents(work)).reduce((total, n) => total + n, 0);
    });
  await worker.start();
}

describe("a flow", () => {
  it("runs its jobs after those they wait for, with their results, and ends with the last [#208]", async () => {
    const queue = await test.queue();
    const order: JobId[] = [];
    const flow = test.mill.flow({ name: "import-7", queue });
    const [a, b] = [1, 2].map((n) => flow.add(work, { n }, { queue }));
    const c = flow.add(sum, null, { queue, after: [a!, b!] });
    flow.add(work, { n: 3 }, { queue, after: [c] });
    const { id, jobs } = await flow.enqueue();
    expect(await stateOf(test.db, jobs[2]!)).toBe("suspended");
    await working(queue, order);
    expect(await test.mill.result(id, { timeout: "20s" })).toEqual({ succeeded: 4 });
    expect(await test.mill.result(jobs[2]!)).toBe(3);
    expect(order.slice(2)).toEqual([jobs[2], jobs[3]]);
    expect(await test.mill.engine.flowGet(id)).toMatchObject({
      name: "import-7",
      state: "succeeded",
      total: 4,
      jobs: [{ after: [] }, { after: [] }, { after: [jobs[0], jobs[1]] }, { after: [jobs[2]] }],
    });
  });

  it("is told with the jobs outside of it that it waits for, and how they have to end [#216] [#218]", async () => {
    const queue = await test.queue();
    const inner = test.mill.flow({ queue });
    inner.add(work, {}, { queue });
    const other = await inner.enqueue();
    const alone = await test.mill.enqueue(work, {}, { queue });
    const flow = test.mill.flow({ queue });
    const first = flow.add(work, {}, { queue, after: [alone.id, other.jobs[0]!] });
    flow.add(work, {}, { queue, after: [first, alone.id], when: "ended" });
    const { id, jobs } = await flow.enqueue();
    const byId = (...ids: JobId[]) => ids.toSorted((a, b) => Number(BigInt(a) - BigInt(b)));
    const told = {
      jobs: [
        { id: jobs[0], after: byId(alone.id, other.jobs[0]!), when: "succeeded" },
        { id: jobs[1], after: byId(alone.id, jobs[0]!), when: "ended" },
      ],
      others: [
        { id: other.jobs[0], type: "work", queue, flow: other.id },
        { id: alone.id, type: "work", queue, flow: null },
      ].toSorted((a, b) => Number(BigInt(a.id!) - BigInt(b.id!))),
    };
    expect(await test.mill.engine.flowGet(id)).toMatchObject(told);
    await working(queue);
    await test.mill.result(id, { timeout: "20s" });
    expect(await test.mill.engine.flowGet(id)).toMatchObject(told);
  });

  it.each<{ when: FlowWhen; fails: boolean; runs: boolean }>([
    { when: "succeeded", fails: false, runs: true },
    { when: "succeeded", fails: true, runs: false },
    { when: "failed", fails: true, runs: true },
    { when: "failed", fails: false, runs: false },
    { when: "ended", fails: true, runs: true },
    { when: "ended", fails: false, runs: true },
  ])("runs a job when $when, or cancels it: fails $fails [#210]", async ({ when, fails, runs }) => {
    const queue = await test.queue();
    const flow = test.mill.flow({ queue });
    const parents = [flow.add(work, {}, { queue }), flow.add(work, { fail: fails }, { queue })];
    const child = flow.add(work, {}, { queue, after: parents, when });
    flow.add(work, {}, { queue, after: [child] });
    const { id, jobs } = await flow.enqueue();
    await working(queue);
    await test.mill.result(id, { timeout: "20s" }).catch(() => {});
    for (const job of jobs.slice(2)) expect(await stateOf(test.db, job)).toBe(runs ? "succeeded" : "cancelled");
    expect(await stateOf(test.db, id)).toBe(fails ? "failed" : "succeeded");
    if (!runs)
      expect((await test.mill.jobs.get(jobs[2]!))!.job.lastError).toMatchObject({
        message: expect.stringContaining("waited for"),
      });
  });

  it("is stored in the caller's transaction, all of it or nothing [#208]", async () => {
    const queue = await test.queue();
    const client = await test.db.pool.connect();
    await client.query("begin");
    const flow = test.mill.flow({ queue });
    flow.add(work, {}, { queue, after: [flow.add(work, {}, { queue })] });
    const { id, jobs } = await flow.enqueue({ tx: client });
    await client.query("rollback");
    client.release();
    for (const job of [id, ...jobs]) expect(await test.mill.jobs.get(job)).toBeNull();
  });

  it("with a reference to nothing, to itself or to what comes later is refused, and leaves nothing [#208]", async () => {
    const queue = await test.queue();
    const before = await test.mill.jobs.list({ queue });
    for (const after of [[0], [1], [-1], [0.5], ["x"], [null], ["1"], [{}], "all"]) {
      await expect(
        test.mill.engine.flowEnqueue([{ type: "work", options: { queue }, after: after as never }]),
      ).rejects.toMatchObject({ code: /MR00[12]/ });
    }
    const [one, other] = [test.mill.flow({ queue }), test.mill.flow({ queue })];
    expect(() => one.add(work, {}, { after: [other.add(work, {})] })).toThrow(InvalidArgumentError);
    expect(await test.mill.jobs.list({ queue })).toEqual(before);
  });

  it("may wait for jobs that were there before, whatever their state [#218]", async () => {
    const queue = await test.queue();
    const [done, failed, waiting, running] = await test.mill.enqueueMany(work, [{}, { fail: true }, {}, {}], { queue });
    const claimed = await test.mill.engine.claim({ queues: [queue], limit: 2 });
    await test.mill.engine.complete(claimed[0]!, 1);
    await test.mill.engine.fail(claimed[1]!);
    const [held] = await test.mill.engine.claim({ queues: [queue] });
    expect([held!.id, done!.id, failed!.id]).toEqual([waiting!.id, claimed[0]!.id, claimed[1]!.id]);
    const flow = test.mill.flow({ queue });
    for (const job of [done, failed, waiting, running]) flow.add(work, {}, { queue, after: [job!.id], when: "ended" });
    const { jobs } = await flow.enqueue();
    await expect
      .poll(() => Promise.all(jobs.map((job) => stateOf(test.db, job))))
      .toEqual(["ready", "ready", "suspended", "suspended"]);
    await test.mill.engine.complete(held!, 1);
    await working(queue);
    for (const job of jobs) await test.mill.result(job, { timeout: "20s" });
  });

  it("that is added to while it runs ends with what was added [#219]", async () => {
    const queue = await test.queue();
    const add = defineJob<{ left: number }>("add");
    const worker = test.worker(queue).handle(add, async (job) => {
      if (job.input.left === 0) return;
      const more = test.mill.flow({ to: job.parent! });
      more.add(add, { left: job.input.left - 1 }, { queue });
      await more.enqueue();
    });
    await worker.start();
    const flow = test.mill.flow({ queue });
    flow.add(add, { left: 5 }, { queue });
    const { id } = await flow.enqueue();
    expect(await test.mill.result(id, { timeout: "20s" })).toEqual({ succeeded: 6 });
    const late = test.mill.flow({ to: id });
    late.add(add, { left: 0 }, { queue });
    await expect(late.enqueue()).rejects.toMatchObject({ code: "MR017" });
  });

  it("without jobs ends at once, and one that is cancelled takes its jobs with it [#207]", async () => {
    const queue = await test.queue();
    const { id: empty } = await test.mill.flow({ queue }).enqueue();
    expect(await test.mill.result(empty, { timeout: "20s" })).toEqual({});
    const flow = test.mill.flow({ queue });
    flow.add(work, {}, { queue, after: [flow.add(work, {}, { queue })] });
    const { id, jobs } = await flow.enqueue();
    await test.mill.cancel(id, { because: "no longer wanted" });
    for (const job of jobs) await expect.poll(() => stateOf(test.db, job)).toBe("cancelled");
  });

  it(
    "releases a job once when the last two it waits for end at the same instant [#209]",
    async () => {
      const queue = await test.queue();
      for (let race = 0; race < sized(100, 1000); race += 1) {
        const flow = test.mill.flow({ queue });
        const two = [flow.add("last", null, { queue }), flow.add("last", null, { queue })];
        flow.add("child", null, { queue, after: two });
        const { jobs } = await flow.enqueue();
        const claims = (
          await Promise.all([1, 2].map(() => test.mill.engine.claim({ queues: [queue], types: ["last"] })))
        ).flat();
        await Promise.all(
          claims.map(async (claim) => {
            await test.mill.engine.complete(claim);
            await test.mill.engine.noticesDeliver();
          }),
        );
        const [child, ...more] = await test.mill.engine.claim({ queues: [queue], types: ["child"], limit: 10 });
        expect([child?.id, more]).toEqual([jobs[2], []]);
        await test.mill.engine.complete(child!);
      }
    },
    patienceMs,
  );
});

describe("many jobs that wait for one", () => {
  const kinds = ["succeeded", "ended", "failed"] as const;

  it.each([false, true])(
    "begin or are cancelled together, and know what they waited for: fails %s [#210]",
    async (fail) => {
      const queue = await test.queue();
      const flow = test.mill.flow({ queue });
      const root = flow.add(work, { fail, n: 7 }, { queue });
      for (const when of kinds) for (let n = 0; n < 25; n += 1) flow.add(work, {}, { queue, after: [root], when });
      const { id, jobs } = await flow.enqueue();
      const [first, ...others] = jobs;
      const held = await test.db.connect();
      await held.query("begin");
      await held.query("select job_cancel($1)", [[others[3]]]);
      const { token } = await claimOne(test.db, queue);
      await test.mill.engine.settleAndClaim(
        [
          {
            token,
            outcome: fail ? "failed" : "succeeded",
            jobs: [first!],
            ...(fail ? { error: { message: "no" } } : {}),
          },
        ],
        [],
      );
      await held.query("rollback");
      await deliver(3);
      const runs = (i: number): boolean => (i >= 25 && i < 50 ? true : fail === i >= 50);
      for (const [i, job] of others.entries()) {
        expect(await stateOf(test.db, job), `job ${i}`).toBe(runs(i) ? "ready" : "cancelled");
        expect(await test.mill.engine.waited(job)).toMatchObject([{ id: first, state: fail ? "failed" : "succeeded" }]);
      }
      const count = async (): Promise<unknown> => ({
        ...(await test.mill.engine.queues()).find(({ name }) => name === queue),
        ...(await test.mill.engine.queueDepth(queue)),
      });
      expect(await count()).toMatchObject({ ready: 50, delayed: 1, suspended: 1 });
      await working(queue);
      await test.mill.result(id, { timeout: "20s" }).catch(() => {});
      expect(await stateOf(test.db, id)).toBe(fail ? "failed" : "succeeded");
      expect((await test.mill.jobs.get(id))!.job.result).toEqual(
        fail ? { failed: 1, succeeded: 50, cancelled: 25 } : { succeeded: 51, cancelled: 25 },
      );
      expect(await count()).toMatchObject({ ready: 0, delayed: 0, suspended: 0 });
    },
  );

  it("begin at their own time, in their order, and not into a lane that somebody purges [#210]", async () => {
    const [queue, ordered] = [await test.queue(), await test.queue({ ordered: true })];
    const flow = test.mill.flow({ queue });
    const root = flow.add("root", null, { queue });
    for (let n = 0; n < 12; n += 1) {
      flow.add("now", null, { queue, after: [root] });
      flow.add("later", null, { queue, after: [root], delay: "1h" });
      flow.add("soon", null, { queue, after: [root], ttl: "1h" });
      flow.add("group", null, { queue, after: [root], group: `g${n % 2}` });
      flow.add("order", null, { queue: ordered, after: [root], group: "o" });
    }
    await flow.enqueue();
    const purging = await test.db.connect();
    await purging.query("begin");
    const [{ lane }] = (await purging.query("select l.key as lane from lane_known l where l.type = 'now'")).rows;
    await purging.query("select pg_advisory_xact_lock(lane_entry($1))", [lane]);
    await test.mill.engine.complete(await claimOne(test.db, queue, { types: ["root"] }));
    await deliver(2);
    const claimed = async (of: string, type: string): Promise<number> =>
      (await test.mill.engine.claim({ queues: [of], types: [type], limit: 100 })).length;
    expect(await claimed(queue, "now")).toBe(0);
    await purging.query("rollback");
    expect(await claimed(queue, "now")).toBe(12);
    expect(await claimed(queue, "later")).toBe(0);
    expect(await claimed(queue, "soon")).toBe(12);
    expect(await claimed(queue, "group")).toBe(12);
    expect(await claimed(ordered, "order")).toBe(1);
  });

  it("and are told of twice do not end their flow early [#209]", async () => {
    const queue = await test.queue();
    const flow = test.mill.flow({ queue });
    for (let n = 0; n < 40; n += 1) flow.add("part", null, { queue });
    const { id } = await flow.enqueue();
    for (const limit of [20, 19, 1]) {
      expect(await stateOf(test.db, id)).toBe("suspended");
      const claims = await test.mill.engine.claim({ queues: [queue], limit });
      await test.mill.engine.completeMany(
        claims[0]!.token,
        claims.map((claim) => claim.id),
      );
      await deliver(2);
      await test.db.sql("select notices_restore()");
      await deliver(3);
    }
    expect(await stateOf(test.db, id)).toBe("succeeded");
    expect((await test.mill.jobs.get(id))!.job.result).toEqual({ succeeded: 40 });
  });
});

describe("a job of a flow does not wait for ever", () => {
  it("when somebody had it in hands as the one it waits for ended, and let it go [#210]", async () => {
    const queue = await test.queue();
    const flow = test.mill.flow({ queue });
    flow.add(work, {}, { queue, after: [flow.add(work, {}, { queue })] });
    const { jobs } = await flow.enqueue();
    const other = await test.db.connect();
    await other.query("begin");
    await other.query("select job_cancel($1)", [[jobs[1]]]);
    await test.mill.engine.complete(await claimOne(test.db, queue));
    await test.mill.engine.noticesDeliver();
    await other.query("rollback");
    await deliver(3);
    expect(await stateOf(test.db, jobs[1]!)).toBe("ready");
  });

  it("when somebody has it in hands as a report would cancel it: the report does not wait [#210]", async () => {
    const queue = await test.queue();
    const flow = test.mill.flow({ queue });
    flow.add(work, {}, { queue, after: [flow.add(work, {}, { queue })] });
    const { jobs } = await flow.enqueue();
    const other = await test.db.connect();
    await other.query("begin");
    await other.query("select job_cancel($1)", [[jobs[1]]]);
    const { id, token } = await claimOne(test.db, queue);
    await test.mill.engine.settleAndClaim([{ token, outcome: "failed", jobs: [id], error: { message: "no" } }], []);
    await other.query("rollback");
    await deliver(3);
    expect(await stateOf(test.db, jobs[1]!)).toBe("cancelled");
  });

  it.each([
    ["purged", (queue: string) => test.mill.queues.purge(queue)],
    ["shed", (queue: string) => test.mill.engine.queueShed(queue, new Date("2199-01-01"), {})],
  ] as const)("when one that was there before is %s [#210] [#218]", async (_how, drop) => {
    const [queue, elsewhere] = [await test.queue(), await test.queue()];
    const target = await enqueue(test.db, elsewhere);
    const flow = test.mill.flow({ queue });
    const wanted = ["ended", "succeeded"] as const;
    for (const when of wanted) flow.add(work, {}, { queue, after: [target], when });
    const { jobs } = await flow.enqueue();
    await deliver(3);
    await drop(elsewhere);
    await test.mill.engine.maintain();
    await deliver(3);
    expect(await stateOf(test.db, jobs[0]!)).toBe("ready");
    expect(await stateOf(test.db, jobs[1]!)).toBe("cancelled");
  });

  it("because one id is written in two ways [#208]", async () => {
    const queue = await test.queue();
    const target = await enqueue(test.db, queue);
    await expect(
      test.mill.engine.flowEnqueue([{ type: "work", options: { queue }, after: [target, `0${target}`] }]),
    ).rejects.toMatchObject({ code: "MR001" });
  });
});

describe("adding to a flow", () => {
  /** A flow with one job, and a transaction that adds another one and is still open. */
  const adding = async () => {
    const queue = await test.queue();
    const flow = test.mill.flow({ queue });
    flow.add(work, {}, { queue });
    const { id } = await flow.enqueue();
    const tx = await test.db.connect();
    await tx.query("begin");
    const more = test.mill.flow({ to: id });
    more.add(work, {}, { queue });
    const { jobs } = await more.enqueue({ tx });
    return { queue, id, tx, added: jobs[0]! };
  };
  it("keeps it from ending until the transaction has ended [#219]", async () => {
    const { queue, id, tx, added } = await adding();
    await test.mill.engine.complete(await claimOne(test.db, queue));
    await deliver(3);
    expect(await stateOf(test.db, id)).toBe("suspended");
    await tx.query("commit");
    await deliver(3);
    expect(await stateOf(test.db, id)).toBe("suspended");
    const last = await claimOne(test.db, queue);
    expect(last.id).toBe(added);
    await test.mill.engine.complete(last);
    await deliver(3);
    expect(await stateOf(test.db, id)).toBe("succeeded");
  });

  it("that is cancelled meanwhile cancels what was added, too [#207]", async () => {
    const { id, tx, added } = await adding();
    await test.mill.cancel(id);
    await deliver(3);
    await tx.query("commit");
    await deliver(3);
    expect(await stateOf(test.db, added)).toBe("cancelled");
  });
});

it("a job of a flow that must start within a time has that from when it could begin on", async () => {
  const queue = await test.queue();
  const flow = test.mill.flow({ queue });
  const first = flow.add(work, {}, { queue });
  flow.add(work, {}, { queue, after: [first], ttl: "1m" });
  const { jobs } = await flow.enqueue();
  await test.db.moveClock(61);
  await test.mill.engine.maintain();
  expect(await stateOf(test.db, jobs[1]!)).toBe("suspended");
  const [claimed] = await test.mill.engine.claim({ queues: [queue] });
  await test.mill.engine.complete(claimed!);
  await test.mill.engine.noticesDeliver();
  expect(await stateOf(test.db, jobs[1]!)).toBe("ready");
  await test.db.moveClock(61);
  expect(await stateOf(test.db, jobs[1]!)).toBe("expired");
});
