import { describe, expect, it } from "vitest";
import type { StageRecord } from "../../src/db/types.js";
import { clockNow } from "../support/clock.js";
import { useDatabase } from "../support/database.js";
import { claimIds, claimOne, enqueue, jobOf, newQueue, stateOf } from "../support/jobs.js";
import { isBlocked } from "../support/sessions.js";
import { claimAll, finish, invalidArgument, miscounts, queueNotFound } from "../support/steps.js";

/**
 * Of its own, because a queue finishes only when transactions of the whole server that may have enqueued have ended.
 */
const db = useDatabase({ ownServer: true });
const times = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

async function stagesOf(name: string): Promise<Pick<StageRecord, "stage" | "jobs">[]> {
  return (await db.engine.stages()).filter(({ queue }) => queue === name).map(({ stage, jobs }) => ({ stage, jobs }));
}

async function stateOfQueue(name: string): Promise<string> {
  await db.engine.maintain();
  return (await db.engine.queues()).find((queue) => queue.name === name)!.state;
}

describe("a staged job", () => {
  it("is accepted, counted as delayed, and handed out only when its stage is released [#180]", async () => {
    const queue = await newQueue(db);
    const alone = await enqueue(db, queue, { stage: "approval" });
    const many = await db.engine.enqueueMany("work", times(3), { queue, stage: "approval" });
    const each = await db.engine.enqueueEach([
      { type: "work", queue, stage: "approval", group: "g" },
      { type: "work", queue },
      { type: "work", queue, stage: "other" },
    ]);
    const unique = await enqueue(db, queue, { stage: "approval", fingerprint: "f" });
    await db.moveClock(3600);
    await db.engine.maintain();
    expect(await claimIds(db, queue)).toEqual([each[1]!.id]);
    expect(await jobOf(db, alone)).toMatchObject({ state: "delayed", stage: "approval" });
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 0, delayed: 7, staged: 7, running: 1 });
    expect(await stagesOf(queue)).toEqual([
      { stage: "approval", jobs: 6 },
      { stage: "other", jobs: 1 },
    ]);
    expect(await db.engine.stageRelease(queue, "approval", { by: "ann" })).toBe(6);
    expect(await jobOf(db, alone)).toMatchObject({ state: "ready", stage: null });
    expect((await claimIds(db, queue)).toSorted()).toEqual(
      [alone, ...many.map(({ id }) => id), each[0]!.id, unique].toSorted(),
    );
    expect(await stagesOf(queue)).toEqual([{ stage: "other", jobs: 1 }]);
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 0, delayed: 1, staged: 1, running: 7 });
    expect(await db.engine.stageRelease(queue, "approval")).toBe(0);
    expect((await db.engine.queueEvents()).events.filter((event) => event.queue === queue)).toMatchObject([
      { event: "stageReleased", stage: "approval", jobs: 6, by: "ann" },
    ]);
  });

  it("runs at its own time when that comes after the release, and its time to start counts from then [#180]", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue, { stage: "s", delaySeconds: 7200, ttlSeconds: 60 });
    const soon = await enqueue(db, queue, { stage: "s", ttlSeconds: 60 });
    await db.moveClock(3600);
    await db.engine.maintain();
    expect(await stateOf(db, soon)).toBe("delayed"); // its minute does not pass while it is staged
    await db.engine.stageRelease(queue, "s");
    expect(await claimIds(db, queue)).toEqual([soon]);
    expect(await stateOf(db, id)).toBe("delayed");
    await db.moveClock(3601);
    expect(await claimIds(db, queue)).toEqual([id]);
    const late = await enqueue(db, queue, { stage: "s", ttlSeconds: 60 });
    await db.engine.stageRelease(queue, "s");
    await db.moveClock(61);
    await db.engine.maintain();
    expect(await stateOf(db, late)).toBe("expired");
  });

  it("is removed by a cancel, alone or with its stage, and by a purge [#180]", async () => {
    const queue = await newQueue(db);
    const [one, two, three] = [
      await enqueue(db, queue, { stage: "s" }),
      await enqueue(db, queue, { stage: "s" }),
      await enqueue(db, queue, { stage: "t" }),
    ];
    expect(await db.engine.cancel([one])).toBe(1);
    expect(await db.engine.queueDepth(queue)).toMatchObject({ delayed: 2, staged: 2 });
    expect(await db.engine.stageCancel(queue, "s", { by: "ann", because: "not approved" })).toBe(1);
    expect(await db.engine.queueDepth(queue)).toMatchObject({ delayed: 1, staged: 1 });
    expect(await Promise.all([one, two, three].map((id) => stateOf(db, id)))).toEqual([
      "cancelled",
      "cancelled",
      "delayed",
    ]);
    await db.engine.queuePurge(queue);
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 0, delayed: 0, staged: 0 });
    expect(await stagesOf(queue)).toEqual([]);
    expect([await db.engine.stageCancel(queue, "t"), await db.engine.stageRelease(queue, "t")]).toEqual([0, 0]);
    expect(await claimIds(db, queue)).toEqual([]);
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 0, delayed: 0, staged: 0 });
    expect((await db.engine.queueEvents()).events.filter((event) => event.queue === queue)).toMatchObject([
      { event: "stageCancelled", stage: "s", jobs: 1, by: "ann", because: "not approved" },
    ]);
  });

  it("is removed when its queue is shed, with what else waits, and keeps nothing from finishing [#108] [#157] [#180]", async () => {
    const queue = await newQueue(db);
    const old = [
      await enqueue(db, queue, { stage: "s" }),
      await enqueue(db, queue, { stage: "s", group: "g" }),
      await enqueue(db, queue),
    ];
    await db.moveClock(1);
    const before = await clockNow(db);
    await db.moveClock(1);
    const young = await enqueue(db, queue, { stage: "s" });
    expect(await db.engine.queueShed(queue, before)).toBe(3);
    for (const id of old) expect(await stateOf(db, id)).toBe("cancelled");
    expect(await stagesOf(queue)).toEqual([{ stage: "s", jobs: 1 }]);
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 0, delayed: 1, staged: 1 });
    expect(await db.engine.stageRelease(queue, "s")).toBe(1);
    expect(await claimAll(db, queue)).toMatchObject([{ id: young }]);
    await db.engine.cancel([young]);
    await finish(db, queue);
    expect(await miscounts(db, queue)).toEqual([]);
  });

  it("of a queue that is shed as a whole is gone: there is nothing to release, and the queue finishes [#108] [#157] [#180]", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue, { stage: "s" });
    await db.moveClock(1);
    expect(await db.engine.queueShed(queue, await clockNow(db))).toBe(1);
    expect(await stateOf(db, id)).toBe("cancelled");
    expect(await db.engine.stageRelease(queue, "s")).toBe(0);
    await finish(db, queue);
    expect(await miscounts(db, queue)).toEqual([]);
  });

  it("keeps its fingerprint, may be replaced and debounced, and cannot be a follow-up [#180]", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue, { stage: "s", fingerprint: "f", input: 1 });
    for (const fingerprintMode of ["keep", "replace", "debounce"] as const) {
      expect(
        await db.engine.enqueue({
          type: "work",
          queue,
          stage: "s",
          fingerprint: "f",
          fingerprintMode,
          input: fingerprintMode,
        }),
      ).toEqual({
        id,
        duplicate: true,
      });
      expect(await claimIds(db, queue)).toEqual([]);
    }
    await expect(
      db.engine.enqueue({ type: "work", queue, stage: "s", fingerprint: "g", fingerprintMode: "followUp" }),
    ).rejects.toMatchObject(invalidArgument);
    await db.engine.stageRelease(queue, "s");
    expect(await claimAll(db, queue)).toMatchObject([{ id, input: "debounce" }]);
  });

  it("survives a retry, a release and a lost claim without going back into its stage [#180]", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue, { stage: "s" });
    await db.engine.stageRelease(queue, "s");
    await db.engine.retryLater(await claimOne(db, queue), { message: "again" }, 0);
    await db.engine.release(await claimOne(db, queue));
    await claimOne(db, queue);
    await db.moveClock(60);
    expect(await claimOne(db, queue)).toMatchObject({ id, attempt: 3 });
  });

  it("of a bad name, or of no queue, is refused [#180]", async () => {
    const queue = await newQueue(db);
    for (const stage of ["", "x".repeat(201)])
      await expect(enqueue(db, queue, { stage })).rejects.toMatchObject(invalidArgument);
    await expect(db.engine.stageRelease("nowhere", "s")).rejects.toMatchObject(queueNotFound);
    await expect(db.engine.stageCancel("nowhere", "s")).rejects.toMatchObject(queueNotFound);
    await expect(db.engine.stageRelease(queue, "")).rejects.toMatchObject(invalidArgument);
    await expect(db.engine.queuePut(queue, { finalStages: "s" } as object)).rejects.toMatchObject(invalidArgument);
  });

  it("is released or cancelled, never both, when both happen at once [#180]", async () => {
    for (const releaseFirst of [true, false]) {
      const queue = await newQueue(db);
      const id = await enqueue(db, queue, { stage: "s" });
      const [one, two] = [await db.connect(), await db.connect()];
      await one.query("begin");
      const [first, second] = releaseFirst
        ? (["stage_release", "stage_cancel"] as const)
        : (["stage_cancel", "stage_release"] as const);
      await one.query(`select ${first}($1, 's')`, [queue]);
      const waiting = two.query<{ n: number }>(`select ${second}($1, 's') as n`, [queue]);
      await isBlocked(db, waiting, one);
      await one.query("commit");
      const { rows } = await waiting;
      const state = await stateOf(db, id);
      if (!releaseFirst) expect([rows[0]!.n, state]).toEqual([0, "cancelled"]);
      // the cancel saw it staged, and cancelled it when it could
      else expect([rows[0]!.n, state]).toEqual([1, "cancelled"]);
      expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 0, delayed: 0, staged: 0 });
    }
  });

  it("is released with many others, a batch at a time [#180]", async () => {
    const queue = await newQueue(db);
    for (const _ of times(3)) await db.engine.enqueueMany("work", times(4000), { queue, stage: "s" });
    expect(await db.engine.stageRelease(queue, "s")).toBe(12_000);
    await db.engine.maintain();
    await db.engine.maintain();
    expect(await db.engine.queueDepth(queue)).toMatchObject({ staged: 0, ready: 12_000 });
  });
});

describe("the final stages of a queue", () => {
  it("are released one after another when it is closed and everything else has ended; then it is finished [#180] [#157]", async () => {
    const queue = await newQueue(db, { finalStages: ["merge", "report"] });
    await enqueue(db, queue, { type: "report", stage: "report" });
    await enqueue(db, queue, { type: "merge", stage: "merge" });
    await enqueue(db, queue, { type: "part", stage: "by hand" });
    await enqueue(db, queue, { type: "part" });
    const poll = (): Promise<string> =>
      db.engine
        .maintain()
        .then(async () => (await db.engine.claim({ queues: [queue] }))[0])
        .then(async (job) => (job && (await db.engine.complete(job)), job?.type ?? ""));
    expect([await poll(), await poll(), await poll()]).toEqual(["part", "", ""]); // open: nothing is final
    await db.engine.queueClose(queue);
    expect([await poll(), await poll(), await poll()].filter(Boolean)).toEqual(["merge", "report"]);
    expect(await stagesOf(queue)).toEqual([{ stage: "by hand", jobs: 1 }]);
    expect(await stateOfQueue(queue)).toBe("closed");
    expect(await db.engine.stageRelease(queue, "by hand")).toBe(1);
    await db.engine.complete(await claimOne(db, queue));
    await expect.poll(() => stateOfQueue(queue), { timeout: 20_000 }).toBe("finished");
    expect(
      (await db.engine.queueEvents()).events
        .filter((event) => event.queue === queue)
        .map(({ event, stage }) => stage ?? event),
    ).toEqual(["closed", "merge", "report", "by hand", "finished"]);
  });
});
