import { describe, expect, it } from "vitest";
import { whyText } from "../../src/db/why-text.js";
import type { JobId, Reason } from "../../src/db/types.js";
import { useDatabase } from "../support/database.js";
import { claimOne, enqueue, jobOf, newQueue } from "../support/jobs.js";

const db = useDatabase();
const times = (n: number): number[] => Array.from({ length: n }, (_, i) => i);
const codes = (why: readonly Reason[] | null): string[] => (why ?? []).map(({ code }) => code);
const first = async (id: JobId): Promise<Reason> => (await db.engine.why(id))![0]!;
/** A process that handles types, as its heartbeat tells. */
const works = (id: string, queue: string, types: readonly string[] | null) =>
  db.sql("select millrace.worker_beat($1, $2::jsonb, 0, 0)", [
    id,
    JSON.stringify({
      host: "h",
      pid: 1,
      release: "1",
      workers: [{ name: id, queues: [queue], types, concurrency: 1 }],
    }),
  ]);

describe("why a queue waits", () => {
  it("two partial pauses and an open breaker are told with who, why and how many, and are not ready", async () => {
    const { engine } = db;
    const queue = await newQueue(db, { breaker: { failures: 2, pauseSeconds: 600 } });
    await works("a", queue, null);
    await engine.enqueueMany("newsletter", times(1000), { queue });
    await engine.enqueueMany("charge", times(2002), { queue });
    await engine.enqueueMany("resize", times(600), { queue, group: "acme" });
    await engine.enqueueMany("resize", times(88), { queue, group: "globex" });
    for (let n = 0; n < 2; n += 1)
      await engine.fail(await claimOne(db, queue, { types: ["charge"] }), { message: "503 of the bank" });
    await engine.queuePause(queue, { type: "newsletter", by: "bob", because: "a wrong text" });
    await engine.queuePause(queue, { group: "acme", by: "ann" });

    const why = await engine.queueWhy(queue);
    expect(why).toMatchObject([
      { code: "paused", type: "newsletter", by: "bob", because: "a wrong text", jobs: 1000 },
      { code: "paused", group: "acme", by: "ann", jobs: 600 },
      { code: "breakerOpen", type: "charge", error: "503 of the bank", jobs: 2000 },
      { code: "backlog", jobs: 3688, running: 0 },
    ]);
    expect(whyText(why[0]!)).toMatch(/^1,000 jobs: type "newsletter" is paused since .* UTC by "bob": a wrong text$/);
    expect(await engine.queueDepth(queue)).toMatchObject({ ready: 88, blocked: 3600 });
    const [listed] = (await engine.queues()).filter(({ name }) => name === queue);
    expect(listed).toMatchObject({ state: "active", waiting: 3688, ready: 88, blocked: 3600 });
    const sample = await engine.server.liveSample();
    expect(sample.queues.find((one) => one.queue === queue)).toMatchObject({ waiting: 3688, blocked: 3600 });

    expect(await engine.queueWhy(queue, { type: "charge" })).toMatchObject([{ code: "breakerOpen", jobs: 2000 }]);
    expect(codes(await engine.queueWhy(queue, { group: "globex" }))).toEqual(["backlog"]);
    expect(codes(await engine.queueWhy(queue, { group: "acme" }))).toEqual(["paused"]);

    await engine.queuePause(queue, { because: "all of it" });
    expect(await engine.queueWhy(queue)).toMatchObject([
      { code: "paused", because: "all of it", jobs: 3688 },
      {},
      {},
      {},
    ]);
    expect(await engine.queueDepth(queue)).toMatchObject({ ready: 0, blocked: 3688 });
  });

  it("of many paused groups twenty are told one by one, and how many more there are", async () => {
    const { engine } = db;
    const queue = await newQueue(db);
    await works("many", queue, null);
    for (let n = 0; n < 23; n += 1) {
      await engine.enqueueMany("t", times(2), { queue, group: `tenant-${n}` });
      await engine.queuePause(queue, { group: `tenant-${n}` });
    }
    const paused = (await engine.queueWhy(queue)).filter(({ code }) => code === "paused");
    expect(paused).toHaveLength(21);
    const rest = paused.at(-1)!;
    expect(rest).toMatchObject({ groups: 3, jobs: 6 });
    expect(whyText(rest)).toMatch(/^6 jobs: 3 more groups are paused, the first since .* UTC$/);
    expect(await engine.queueWhy(queue, { group: "tenant-22" })).toMatchObject([{ code: "paused" }]);
    expect((await engine.queueWhy(queue, { type: "none" })).filter(({ code }) => code === "paused")).toEqual([]);
  });

  it("a job behind an open breaker is blocked until the next try, in the view and by its state", async () => {
    const { engine } = db;
    const queue = await newQueue(db, { breaker: { failures: 1, pauseSeconds: 600 } });
    const [one, two] = await engine.enqueueMany("charge", times(2), { queue });
    expect((await jobOf(db, two!.id)).state).toBe("ready");
    await engine.fail(await claimOne(db, queue), { message: "no" });
    expect((await jobOf(db, two!.id)).state).toBe("blocked");
    expect((await jobOf(db, one!.id)).state).toBe("failed");
    expect((await db.sql("select millrace.job_state($1::bigint) as state", [two!.id]))[0]).toEqual({
      state: "blocked",
    });
    const found = await engine.server.find({ queue, state: "blocked" });
    expect(found.ids).toEqual([two!.id]);
    expect(await first(two!.id)).toMatchObject({ code: "breakerOpen", type: "charge", error: "no" });
    await db.sql("update millrace.breaker_event set open_until = millrace.clock_now() where kind = 'opened'");
    expect((await jobOf(db, two!.id)).state, "one is let through").toBe("ready");
    expect(codes(await engine.why(two!.id))).toEqual(["breakerProbe", "noWorker", "next"]);
    await engine.breakerReset({ queue });
    expect(codes(await engine.why(two!.id))).toEqual(["noWorker", "next"]);
  });

  it("limits and rates are told with their numbers; what they hold back stays ready", async () => {
    const { engine } = db;
    const queue = await newQueue(db, { maxRunning: 2 });
    await engine.resourcePut("gpu", { maxRunning: 3 });
    await works("a", queue, ["render"]);
    await engine.enqueueMany("render", times(10), { queue, resources: { gpu: 2 } });
    await engine.claim({ queues: [queue], limit: 5, leaseSeconds: 600 });
    expect(await engine.queueWhy(queue)).toMatchObject([
      { code: "limit", of: "resource", name: "gpu", maxRunning: 3, running: 2, needs: 2, jobs: 9 },
    ]);
    await engine.resourcePut("gpu", { maxRunning: 8 });
    await engine.claim({ queues: [queue], limit: 5, leaseSeconds: 600 });
    const [why] = await engine.queueWhy(queue);
    expect(why).toMatchObject({ code: "limit", of: "queue", maxRunning: 2, running: 2, jobs: 8 });
    expect(whyText(why!)).toBe("8 jobs: the queue is at its limit: 2 of 2 run");
    expect(await engine.queueDepth(queue)).toMatchObject({ ready: 8, blocked: 0, running: 2 });

    const rated = await newQueue(db, { rate: { perSecond: 0.01, burst: 1 } });
    await engine.enqueueMany("t", times(3), { queue: rated });
    await engine.complete(await claimOne(db, rated));
    expect((await engine.queueWhy(rated))[0]).toMatchObject({ code: "rate", of: "queue", perSecond: 0.01, jobs: 2 });
  });

  it("groups are told of: paused, at their limit, without a token", async () => {
    const { engine } = db;
    const queue = await newQueue(db, { groupMaxRunning: 1 });
    await works("a", queue, null);
    for (const group of ["acme", "globex"]) await engine.enqueueMany("t", times(20), { queue, group });
    const held = await engine.claim({ queues: [queue], limit: 5, leaseSeconds: 600 });
    expect(held).toHaveLength(2);
    expect(await engine.queueWhy(queue)).toMatchObject([
      { code: "limit", of: "group", group: "acme", maxRunning: 1, running: 1, jobs: 19 },
      { code: "limit", of: "group", group: "globex", jobs: 19 },
      { code: "backlog", jobs: 38, running: 2 },
    ]);
    const slow = await newQueue(db, { groupRate: { perSecond: 0.01, burst: 1 } });
    await engine.enqueueMany("t", times(20), { queue: slow, group: "acme" });
    await engine.complete(await claimOne(db, slow));
    expect(await engine.claim({ queues: [slow] })).toEqual([]);
    expect((await engine.queueWhy(slow, { group: "acme" }))[0]).toMatchObject({ code: "rate", of: "group", jobs: 19 });
  });

  it("workers that are paused or drained from afar take nothing", async () => {
    const { engine } = db;
    const queue = await newQueue(db);
    await engine.enqueueMany("t", times(3), { queue });
    const beat = (held?: string) =>
      db.sql("select millrace.worker_beat('held', $1::jsonb, 0, 0)", [
        JSON.stringify({
          host: "h",
          pid: 1,
          release: "1",
          workers: [{ name: "held", queues: [queue], types: null, concurrency: 1, ...(held && { held }) }],
        }),
      ]);
    await beat();
    expect(codes(await engine.queueWhy(queue))).toEqual(["backlog"]);
    for (const held of ["paused", "draining", "drained"]) {
      await beat(held);
      const [why] = await engine.queueWhy(queue);
      expect(why, held).toMatchObject({ code: "noWorker", type: "t", held: 1, jobs: 3 });
      expect(whyText(why!)).toBe('3 jobs: the only worker that handles "t" is paused or drained');
    }
    await db.moveClock(120);
    await beat("paused");
    expect((await engine.server.unhandled(60)).map(({ type }) => type)).toContain("t");
  });

  it("what is blocked is not told as unhandled, and one paused group does not hide the rest of its type", async () => {
    const { engine } = db;
    const queue = await newQueue(db, { breaker: { failures: 1, pauseSeconds: 600 } });
    await engine.enqueueMany("charge", times(4), { queue });
    await engine.fail(await claimOne(db, queue), { message: "no" });
    await engine.enqueueMany("held", times(5), { queue, group: "acme" });
    await engine.enqueueMany("part", times(6), { queue, group: "acme" });
    await engine.enqueueMany("part", times(7), { queue, group: "globex" });
    await engine.enqueueMany("paused", times(8), { queue });
    const unhandled = async () =>
      Object.fromEntries(
        (await engine.server.unhandled(0)).filter((one) => one.queue === queue).map((one) => [one.type, one.waiting]),
      );
    expect(await unhandled()).toEqual({ held: 5, part: 13, paused: 8 });
    await engine.queuePause(queue, { type: "held", group: "acme" });
    await engine.queuePause(queue, { type: "part", group: "acme" });
    await engine.queuePause(queue, { type: "paused" });
    expect(await unhandled()).toEqual({ part: 7 });
  });

  it("a type that nobody handles, other queues, stages, times and what is suspended are told", async () => {
    const { engine } = db;
    const before = await newQueue(db);
    const queue = await newQueue(db, { waitsFor: [before] });
    await works("a", queue, ["known"]);
    await engine.enqueueMany("unknown", times(3), { queue });
    await enqueue(db, queue, { type: "known", stage: "approval" });
    await enqueue(db, queue, { type: "known", delaySeconds: 3600 });
    const why = await engine.queueWhy(queue);
    expect(codes(why)).toEqual(["queueWaits", "noWorker", "stage", "time"]);
    expect(why[0]).toMatchObject({ queues: [before], jobs: 3 });
    expect(why[1]).toMatchObject({ type: "unknown", jobs: 3 });
    expect(why.map((reason) => whyText(reason))).toMatchObject([
      `3 jobs: waits until "${before}" has finished`,
      '3 jobs: no worker that is known handles "unknown"',
      '1 job: stage "approval" is not released',
      expect.stringMatching(/^1 job: due .* UTC$/),
    ]);
    expect(await engine.queueWhy(await newQueue(db))).toEqual([]);
    await expect(engine.queueWhy("nowhere")).rejects.toMatchObject({ code: "MR003" });
  });
});

describe("why a job waits", () => {
  it("for its time, its stage, its next attempt, its follow-up, and nothing when it runs or has ended", async () => {
    const { engine } = db;
    const queue = await newQueue(db);
    await works("a", queue, null);
    expect(await first(await enqueue(db, queue, { delaySeconds: 60 }))).toMatchObject({ code: "time" });
    expect(await first(await enqueue(db, queue, { stage: "s" }))).toEqual({ code: "stage", stage: "s" });
    const id = await enqueue(db, queue, { fingerprint: "f" });
    const held = await claimOne(db, queue);
    const follow = await enqueue(db, queue, { fingerprint: "f", fingerprintMode: "followUp" });
    expect(await first(follow)).toEqual({ code: "followUp", jobId: id, fingerprint: "f" });
    expect(held.id).toBe(id);
    expect(await engine.why(id)).toEqual([]);
    await engine.retryLater(held, { message: "later" }, 600);
    expect(await first(id)).toMatchObject({ code: "retry", attempt: 2 });
    await engine.cancel([id]);
    expect(await engine.why(id)).toEqual([]);
    expect(await engine.why("1")).toBeNull();
  });

  it("behind others, those of a higher priority too", async () => {
    const { engine } = db;
    const queue = await newQueue(db);
    await works("a", queue, null);
    const jobs = await engine.enqueueMany("t", times(250), { queue });
    expect(await engine.why(jobs[0]!.id)).toEqual([{ code: "next" }]);
    expect(await engine.why(jobs[120]!.id)).toEqual([{ code: "behind", jobs: 120 }]);
    await engine.enqueueMany("t", times(30), { queue, priority: 1 });
    const [why] = (await engine.why(jobs[120]!.id))!;
    expect(why).toEqual({ code: "behind", jobs: 150, urgent: 30 });
    expect(whyText(why!)).toBe("150 jobs go first, 30 of a higher priority");
    await engine.claim({ queues: [queue], limit: 100, leaseSeconds: 600 });
    expect(await engine.why(jobs[120]!.id)).toEqual([{ code: "behind", jobs: 50 }]);
    const grouped = await engine.enqueueMany("u", times(5), { queue, group: "acme" });
    expect(await engine.why(grouped[4]!.id)).toMatchObject([{ code: "behind", jobs: 4, group: "acme" }]);
  });

  it("for the one before it in its order, that runs or comes again", async () => {
    const { engine } = db;
    const queue = await newQueue(db, { ordered: true });
    await works("a", queue, null);
    const [one, two] = await engine.enqueueMany("t", times(2), { queue, group: "acme" });
    const held = await claimOne(db, queue, { leaseSeconds: 600 });
    expect(await first(two!.id)).toMatchObject({ code: "ordered", group: "acme", jobId: one!.id, state: "running" });
    await engine.retryLater(held, { message: "later" }, 600);
    expect(await first(two!.id)).toMatchObject({ code: "ordered", jobId: one!.id, state: "delayed" });
    expect((await engine.queueWhy(queue))[0]).toMatchObject({ code: "ordered", group: "acme", jobs: 1 });
    expect(codes(await engine.why(one!.id))).toEqual(["retry"]);
    const serial = await newQueue(db, { maxRunning: 1, ordered: true });
    await works("b", serial, null);
    const [third, fourth] = await engine.enqueueMany("t", times(2), { queue: serial });
    await engine.retryLater(await claimOne(db, serial), { message: "later" }, 600);
    expect(await first(fourth!.id)).toMatchObject({ code: "ordered", jobId: third!.id, state: "delayed" });
  });

  it("for a signal, children, other jobs of a flow, and sleep", async () => {
    const { engine } = db;
    const queue = await newQueue(db);
    const suspended = async (waits: object[]): Promise<JobId> => {
      await enqueue(db, queue);
      const job = await claimOne(db, queue);
      await db.sql("select millrace.job_suspend($1::uuid, $2::bigint, $3::json)", [
        job.token,
        job.id,
        JSON.stringify(waits),
      ]);
      return job.id;
    };
    expect(await engine.why(await suspended([{ key: "a", signals: ["paid", "voided"] }]))).toEqual([
      { code: "signal", signals: ["paid", "voided"] },
    ]);
    expect(await first(await suspended([{ key: "nap", seconds: 600 }]))).toMatchObject({ code: "sleep" });
    const { jobs } = await engine.flowEnqueue([
      { type: "a", options: { queue } },
      { type: "b", options: { queue }, after: [0] },
    ]);
    expect(await first(jobs[1]!)).toMatchObject({ code: "after", left: 1, of: 1, when: "succeeded" });
    expect(codes(await engine.queueWhy(queue))).toContain("suspended");
  });
});
