import { describe, expect, it } from "vitest";
import type { JobState } from "../../src/db/types.js";
import { useDatabase } from "../support/database.js";
import { newQueue } from "../support/jobs.js";

const db = useDatabase();
const times = (n: number): number[] => Array.from({ length: n }, (_, i) => i);
const states: readonly JobState[] = [
  "delayed",
  "ready",
  "running",
  "blocked",
  "succeeded",
  "failed",
  "expired",
  "cancelled",
];

describe("jobs by their state", () => {
  it("are found at once below many of another state, and are those that the view has", async () => {
    const { engine } = db;
    const queue = await newQueue(db);
    const [paused, held] = [await newQueue(db), await newQueue(db)];
    const buried = async (type: string, options: object = {}): Promise<string[]> =>
      (await engine.enqueueMany(type, times(3), { queue, maxAttempts: 1, ...options })).map(({ id }) => id);
    const claimed = () => engine.claim({ queues: [queue], limit: 3, leaseSeconds: 600 });
    await buried("plain");
    const streak = await claimed();
    await engine.completeMany(
      streak[0]!.token,
      streak.map(({ id }) => id),
    );
    await buried("told");
    for (const job of await claimed()) await engine.complete(job, { ok: true });
    await buried("broken");
    const [failed, again] = await claimed();
    for (const job of [failed!, again!]) await engine.fail(job, { message: "no" });
    await engine.retry(1, { ids: [again!.id] }); // alive, although an attempt has ended it
    await engine.cancel(await buried("unwanted"));
    await buried("late", { ttlSeconds: 30 });
    await buried("later", { delaySeconds: 3600 });
    await buried("letter");
    await buried("member", { group: "acme" });
    await engine.enqueueMany("hook", times(3), { queue: paused });
    await engine.enqueueMany("old", times(3), { queue: held });
    await engine.queuePurge(held);
    await engine.queuePause(queue, { type: "letter" });
    await engine.queuePause(queue, { group: "acme" });
    await engine.queuePause(paused);
    const top = await newQueue(db);
    await engine.enqueueMany("many", times(300), { queue: top });
    await db.moveClock(31);

    const all = (await db.sql("select id::text, state, type from millrace.jobs order by id desc")) as {
      id: string;
      state: JobState;
      type: string;
    }[];
    const expected = (state: JobState) => all.filter((job) => job.state === state).map(({ id }) => id);
    for (const state of states) {
      expect(expected(state).length, state).toBeGreaterThan(0);
      const { ids, next } = await engine.server.find({ state, limit: 10_000 });
      expect([ids, next], state).toEqual([expected(state), null]);
      if (state === "ready") continue;
      // The first look finds them: it does not go through those on top.
      expect((await engine.server.find({ state, seconds: 0 })).ids, state).toEqual(expected(state));
    }
    const undecided = all.filter(({ state }) => state === "failed" || state === "expired").map(({ id }) => id);
    expect((await engine.server.find({ undecided: true, seconds: 0 })).ids).toEqual(undecided);
    const live = all.filter(({ state }) => !["succeeded", "failed", "expired", "cancelled"].includes(state));
    expect((await engine.server.find({ isLive: true, limit: 10_000 })).ids).toEqual(live.map(({ id }) => id));
    expect((await engine.server.find({ state: "blocked", type: "letter" })).ids).toEqual(
      all.filter(({ type }) => type === "letter").map(({ id }) => id),
    );

    const done = await engine.claim({ queues: [top], limit: 300 });
    await engine.completeMany(
      done[0]!.token,
      done.map(({ id }) => id),
    );
    expect((await engine.server.find({ state: "ready", seconds: 0 })).ids).toEqual(
      all.filter(({ state, type }) => state === "ready" && type !== "many").map(({ id }) => id),
    );
  });

  it("groups of all queues are told together", async () => {
    const { engine } = db;
    const [one, other] = [await newQueue(db), await newQueue(db)];
    await engine.enqueueMany("t", times(5), { queue: one, group: "tenant" });
    await engine.enqueueMany("t", times(7), { queue: other, group: "tenant" });
    await engine.claim({ queues: [other], limit: 2, leaseSeconds: 600 });
    const found = (await engine.server.cellGroups(1000)).find(({ group }) => group === "tenant");
    expect(found).toMatchObject({ queues: [one, other], waiting: 10, delayed: 0, running: 2, estimated: false });
  });
});
