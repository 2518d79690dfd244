import { describe, expect, it } from "vitest";
import { useDatabase } from "../support/database.js";
import { newQueue } from "../support/jobs.js";
import { invalidArgument, queueNotFound } from "../support/steps.js";

// while a transaction of others is open that is older than a lane, entries of its groups count twice, and shares are
// not exact
const db = useDatabase({ ownServer: true });
const times = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

/** Claim one at a time, finish each, and tell whose they were. */
async function claimed(queue: string, claims: number, limit = 1): Promise<string[]> {
  const groups: string[] = [];
  for (let n = 0; n < claims; n += 1) {
    for (const job of await db.engine.claim({ queues: [queue], limit })) {
      groups.push(job.group ?? "none");
      await db.engine.complete(job);
    }
  }
  return groups;
}

const count = (groups: readonly string[], group: string): number => groups.filter((one) => one === group).length;

describe("groups of a queue", () => {
  it("take turns: a newcomer is served next although another has 10,000 waiting [#66]", async () => {
    const queue = await newQueue(db);
    await db.engine.enqueueMany("t", times(10_000), { queue, group: "a" });
    expect(await claimed(queue, 3)).toEqual(["a", "a", "a"]);
    await db.engine.enqueue({ type: "t", queue, group: "b" });
    expect(await claimed(queue, 2)).toContain("b");
    expect(await claimed(queue, 2)).toEqual(["a", "a"]);
  });

  it("take turns also when thousands were enqueued one by one [#66]", async () => {
    const queue = await newQueue(db);
    await db.sql(
      `select millrace.job_enqueue('t', null, json_build_object('queue', $1::text, 'group', 'a')) from generate_series(1, 4000)`,
      [queue],
    );
    await db.engine.enqueue({ type: "t", queue, group: "b" });
    expect(await claimed(queue, 2)).toEqual(["a", "b"]);
    expect(await claimed(queue, 3)).toEqual(["a", "a", "a"]);
  });

  it("without a group a newcomer is last [#66]", async () => {
    const queue = await newQueue(db);
    await db.engine.enqueueMany("t", times(50), { queue });
    const { id } = await db.engine.enqueue({ type: "t", queue });
    const order: string[] = [];
    for (let n = 0; n < 51; n += 1) order.push((await db.engine.claim({ queues: [queue] }))[0]!.id);
    expect(order.at(-1)).toBe(id);
  });

  it("share a claim of many evenly, and fill it when few have much [#66]", async () => {
    const queue = await newQueue(db);
    for (const group of ["a", "b", "c", "d"]) await db.engine.enqueueMany("t", times(500), { queue, group });
    for (const group of ["e", "f"]) await db.engine.enqueueMany("t", times(2), { queue, group });
    const shares = await claimed(queue, 1, 100);
    expect(shares).toHaveLength(100);
    for (const group of ["a", "b", "c", "d"]) expect(count(shares, group)).toBeGreaterThanOrEqual(16);
    for (const group of ["e", "f"]) expect(count(shares, group)).toBe(2);
  });

  it("share with jobs that have no group, whoever has more [#66]", async () => {
    const queue = await newQueue(db);
    await db.engine.enqueueMany("t", times(100), { queue });
    await db.engine.enqueueMany("t", times(100), { queue, group: "a" });
    await db.engine.enqueueMany("t", times(100), { queue, group: "b" });
    const shares = await claimed(queue, 60);
    for (const group of ["a", "b", "none"]) expect(count(shares, group)).toBe(20);
  });

  it("share across types: who floods one does not delay another [#66]", async () => {
    const queue = await newQueue(db);
    await db.engine.enqueueMany("flooded", times(1000), { queue, group: "a" });
    expect(await claimed(queue, 1)).toEqual(["a"]);
    await db.engine.enqueue({ type: "other", queue, group: "b" });
    expect(await claimed(queue, 2)).toContain("b");
  });

  it("retry in their own turn: who fails much does not delay the retries of others [#66]", async () => {
    const queue = await newQueue(db);
    await db.engine.enqueueMany("t", times(300), { queue, group: "a" });
    const failing = await db.engine.claim({ queues: [queue], limit: 300 });
    await db.engine.enqueue({ type: "t", queue, group: "b" });
    const [b] = await db.engine.claim({ queues: [queue] });
    for (const token of new Set(failing.map((job) => job.token))) {
      await db.engine.settle([
        {
          token,
          outcome: "retryLater",
          jobs: failing.filter((job) => job.token === token).map((job) => job.id),
          delaySeconds: 0,
          error: { message: "no" },
        },
      ]);
    }
    await db.engine.retryLater(b!, { message: "no" }, 0);
    expect(await claimed(queue, 2)).toContain("b");
  });

  it("keep their order, each within itself, and strictly between priorities", async () => {
    const queue = await newQueue(db);
    for (const input of times(20))
      for (const group of ["a", "b"]) await db.engine.enqueue({ type: "t", queue, group, input });
    for (const input of times(5)) await db.engine.enqueue({ type: "t", queue, group: "urgent", priority: 0, input });
    const seen: { group: string; input: number }[] = [];
    for (let n = 0; n < 45; n += 1) {
      const [job] = await db.engine.claim({ queues: [queue] });
      seen.push({ group: job!.group!, input: Number(job!.input) });
    }
    expect(seen.slice(0, 5).map((one) => one.group)).toEqual(Array(5).fill("urgent"));
    for (const group of ["a", "b"])
      expect(seen.filter((one) => one.group === group).map((one) => one.input)).toEqual(times(20));
  });

  it("cost a claim the same however many there are [#66]", async () => {
    const buffers = async (groups: number): Promise<number> => {
      const queue = await newQueue(db);
      await db.engine.enqueueEach(times(groups * 2).map((n) => ({ type: "t", queue, group: `g${n % groups}` })));
      await claimed(queue, 5);
      const client = await db.connect();
      const least: number[] = [];
      for (let n = 0; n < 4; n += 1) {
        const { rows } = await client.query(
          `explain (analyze, buffers, format json) select * from job_claim(array['${queue}'])`,
        );
        const plan = rows[0]["QUERY PLAN"][0].Plan as Record<string, number>;
        least.push(plan["Shared Hit Blocks"]! + plan["Shared Read Blocks"]!);
      }
      return Math.min(...least);
    };
    const [few, many] = [await buffers(10), await buffers(5000)];
    expect(many).toBeLessThan(few * 1.5 + 20);
  });
});

describe("weights", () => {
  it("of 3 and 1 give 300 and 100 of 400 claims [#67]", async () => {
    const queue = await newQueue(db);
    await db.engine.groupPut(queue, "heavy", { weight: 3 });
    for (const group of ["heavy", "light"]) await db.engine.enqueueMany("t", times(600), { queue, group });
    const shares = await claimed(queue, 400);
    expect(count(shares, "heavy")).toBeGreaterThanOrEqual(285);
    expect(count(shares, "heavy")).toBeLessThanOrEqual(315);
  });

  it("hold for claims of many too, and can be changed while jobs wait [#67]", async () => {
    const queue = await newQueue(db);
    for (const group of ["a", "b"]) await db.engine.enqueueMany("t", times(2000), { queue, group });
    await db.engine.groupPut(queue, "a", { weight: 3 });
    const before = await claimed(queue, 4, 100);
    expect(count(before, "a") / before.length).toBeCloseTo(0.75, 1);
    await db.engine.groupPut(queue, "a", { weight: null });
    const after = await claimed(queue, 4, 100);
    expect(count(after, "a") / after.length).toBeCloseTo(0.5, 1);
    expect(await db.sql("select weight from groups where queue = $1", [queue])).toEqual([{ weight: 1 }]);
  });

  it("below 1, of no number, and unknown options are refused", async () => {
    const queue = await newQueue(db);
    for (const options of [
      { weight: 0 },
      { weight: -1 },
      { weight: 1.5 },
      { weight: Number.NaN },
      { weight: 1001 },
      { wait: 1 },
    ]) {
      await expect(db.engine.groupPut(queue, "g", options as object), JSON.stringify(options)).rejects.toMatchObject(
        invalidArgument,
      );
    }
    await expect(db.engine.groupPut("nowhere", "g", {})).rejects.toMatchObject(queueNotFound);
  });
});

describe("a group that is paused", () => {
  it("waits, also what comes meanwhile, while others go on; resumed, it goes on where it was [#154]", async () => {
    const queue = await newQueue(db);
    for (const group of ["a", "b"]) await db.engine.enqueueMany("t", times(4), { queue, group });
    expect(await claimed(queue, 2)).toEqual(["a", "b"]);
    await db.engine.queuePause(queue, { group: "a", by: "ann", because: "too loud" });
    await db.engine.enqueue({ type: "t", queue, group: "a" });
    expect(await claimed(queue, 5)).toEqual(["b", "b", "b"]);
    expect((await db.engine.list({ queue, state: "blocked" })).map((job) => job.group)).toEqual(["a", "a", "a", "a"]);
    expect(await db.engine.pauses()).toContainEqual(
      expect.objectContaining({ queue, type: null, group: "a", pausedBy: "ann", pausedBecause: "too loud" }),
    );
    await db.engine.queueResume(queue, { group: "a" });
    expect(await claimed(queue, 5)).toEqual(["a", "a", "a", "a"]);
    await expect(db.engine.queueResume(queue, { group: "a" })).rejects.toMatchObject(invalidArgument);
  });

  it("may be paused for one type only, and a type for all its groups [#154]", async () => {
    const queue = await newQueue(db);
    for (const type of ["x", "y"]) for (const group of ["a", "b"]) await db.engine.enqueue({ type, queue, group });
    await db.engine.queuePause(queue, { type: "x", group: "a" });
    const first = await db.engine.claim({ queues: [queue], limit: 10 });
    expect(first.map((job) => `${job.type}${job.group}`).toSorted()).toEqual(["xb", "ya", "yb"]);
    await db.engine.queueResume(queue, { type: "x", group: "a" });
    await db.engine.queuePause(queue, { type: "x" });
    expect(await db.engine.claim({ queues: [queue] })).toEqual([]);
    await db.engine.queueResume(queue, { type: "x" });
    expect((await db.engine.claim({ queues: [queue] })).map((job) => `${job.type}${job.group}`)).toEqual(["xa"]);
  });

  it.each([
    ["started, and lost", {}, {}],
    ["claimed, and never started", { trackStart: true }, {}],
    ["lost where one job runs at a time", {}, { maxRunning: 1 }],
  ])("keeps its jobs that were %s; resumed, they go, each alone [#154]", async (_, claim, options) => {
    const queue = await newQueue(db, options);
    const { id } = await db.engine.enqueue({ type: "t", queue, group: "a" });
    await db.engine.claim({ queues: [queue], leaseSeconds: 1, ...claim });
    await db.engine.queuePause(queue, { group: "a" });
    await db.engine.enqueue({ type: "t", queue, group: "b" });
    await db.moveClock(2);
    await db.engine.maintain();
    const [other, ...none] = await db.engine.claim({ queues: [queue], limit: 10 });
    expect([other!.group, none]).toEqual(["b", []]);
    expect(await db.engine.get(id)).toMatchObject({ job: { state: "blocked" } });
    await db.engine.complete(other!);
    await db.engine.queueResume(queue, { group: "a" });
    expect(await db.engine.claim({ queues: [queue], limit: 10 })).toMatchObject([{ id, alone: true }]);
  });

  it("keeps a lost job that a claim met while somebody held it [#154]", async () => {
    const queue = await newQueue(db);
    const { id } = await db.engine.enqueue({ type: "t", queue, group: "a" });
    await db.engine.claim({ queues: [queue], leaseSeconds: 1 });
    await db.moveClock(2);
    await db.engine.maintain();
    const holder = await db.connect();
    await holder.query("begin");
    await holder.query("select millrace.job_cancel(array[$1::bigint])", [id]);
    expect(await db.engine.claim({ queues: [queue] })).toEqual([]);
    await holder.query("rollback");
    await db.engine.queuePause(queue, { group: "a" });
    expect(await db.engine.claim({ queues: [queue] })).toEqual([]);
    await db.engine.queueResume(queue, { group: "a" });
    expect(await db.engine.claim({ queues: [queue] })).toMatchObject([{ id, alone: true }]);
  });
});

describe("jobs of groups that were lost", () => {
  it.each([{}, { groupMaxRunning: 5 }, { groupRate: { perSecond: 100 } }])(
    "go one by one, with nothing beside them, and all of them [%j]",
    async (options) => {
      const queue = await newQueue(db, options);
      const groups = ["a", "a", "b", undefined];
      await db.engine.enqueueEach(groups.map((group) => ({ type: "t", queue, ...(group ? { group } : {}) })));
      expect(await db.engine.claim({ queues: [queue], limit: 10, leaseSeconds: 1 })).toHaveLength(4);
      await db.moveClock(2);
      await db.engine.enqueueEach(["a", "b", "c"].map((group) => ({ type: "t", queue, group })));
      const calls: string[] = [];
      for (let call = 0; call < 7; call += 1) {
        const jobs = await db.engine.claim({ queues: [queue], limit: 10 });
        calls.push(jobs.map(({ group = "none", alone }) => `${group}${alone ? " alone" : ""}`).join());
      }
      expect(calls.filter((jobs) => jobs.includes("alone")).toSorted()).toEqual([
        "a alone",
        "a alone",
        "b alone",
        "none alone",
      ]);
      const others = calls.filter((jobs) => jobs !== "" && !jobs.includes("alone"));
      expect(others.join().split(",").toSorted()).toEqual(["a", "b", "c"]);
    },
  );
});

describe("the depth of a queue with groups", () => {
  it("tells the oldest of all of them, and a peek shows them in turn [#108]", async () => {
    const queue = await newQueue(db);
    const { id } = await db.engine.enqueue({ type: "t", queue, group: "old" });
    for (const group of ["a", "b"]) await db.engine.enqueueMany("t", times(3), { queue, group });
    const oldest = (await db.engine.list({ queue })).find((job) => job.id === id)!.createdAt;
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 7, oldestReadyAt: oldest });
    expect((await db.engine.peek(queue)).map((job) => job.group)).toEqual(["old", "a", "a", "a", "b", "b", "b"]);
  });
});
