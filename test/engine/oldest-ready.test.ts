import { describe, expect, it } from "vitest";
import type { Defaults } from "../../src/db/types.js";
import { clockNow } from "../support/clock.js";
import { useDatabase } from "../support/database.js";
import { claimIds, claimOne, newQueue } from "../support/jobs.js";

const db = useDatabase();
const times = (n: number): number[] => Array.from({ length: n }, (_, i) => i);
const day = 86_400;

/** The age of the oldest ready job of a queue, wherever it is told. */
async function ages(queue: string): Promise<Record<string, number | null>> {
  const { oldestAgeSeconds: depth } = await db.engine.queueDepth(queue);
  const { now, queues } = await db.engine.server.liveSample();
  const since = queues.find((one) => one.queue === queue)!.oldestReadyAt;
  const found = await db.sql(
    "select max(oldest_seconds) as s from millrace.history_state(clock_now()) where queue = $1",
    [queue],
  );
  return {
    depth,
    types: (await db.engine.queueTypes(queue)).reduce<number | null>(
      (most, { oldestAgeSeconds: age }) => (age === null ? most : Math.max(most ?? 0, age)),
      null,
    ),
    live: since && (now.getTime() - since.getTime()) / 1000,
    history: found[0]!["s"] as number | null,
  };
}

const told = (low: number) => {
  const age = expect.toSatisfy((seconds: number) => seconds >= low && seconds < low + 60);
  return { depth: age, types: age, live: age, history: age };
};
const none = { depth: null, types: null, live: null, history: null };

/** A queue in which something is held for three days, then one more job comes that is not. */
async function held(
  hold: (queue: string) => Promise<void>,
  defaults: Defaults = {},
  seconds = 3 * day,
): Promise<string> {
  const queue = await newQueue(db, defaults);
  await hold(queue);
  await db.moveClock(seconds);
  expect(await ages(queue)).toEqual(none);
  expect((await db.engine.queueDepth(queue)).blocked).toBeGreaterThan(0);
  await db.engine.enqueue({ type: "fine", queue, group: "fine" });
  await db.engine.enqueue({ type: "loose", queue });
  expect(await claimIds(db, queue, { types: ["loose"], leaseSeconds: day })).toHaveLength(1); // so that there are lanes
  await db.moveClock(100);
  return queue;
}

describe("the age of the oldest ready job", () => {
  it("does not count what a paused type holds", async () => {
    const queue = await held(async (name) => {
      await db.engine.enqueueMany("newsletter", times(300), { queue: name });
      await db.engine.queuePause(name, { type: "newsletter" });
    });
    expect(await ages(queue)).toEqual(told(100));
    await db.engine.queueResume(queue, { type: "newsletter" });
    expect(await ages(queue)).toEqual(told(3 * day + 100));
  });

  it("does not count what paused groups hold, whether they have left the line or not", async () => {
    for (const claims of [true, false]) {
      const queue = await held(async (name) => {
        for (const n of times(30)) {
          await db.engine.enqueueMany("fine", times(4), { queue: name, group: `held-${n}` });
          await db.engine.queuePause(name, { group: `held-${n}` });
        }
      });
      if (claims) expect(await claimIds(db, queue, { types: ["fine"], limit: 1, leaseSeconds: day })).toHaveLength(1);
      expect(await ages(queue)).toEqual(claims ? none : told(100));
      await db.engine.queueResume(queue, { group: "held-7" });
      expect(await ages(queue)).toEqual(told(3 * day + 100));
    }
  });

  it("does not count what an open breaker holds", async () => {
    const queue = await held(
      async (name) => {
        await db.engine.enqueueMany("charge", times(5), { queue: name });
        await db.engine.fail(await claimOne(db, name), { message: "503" });
      },
      { breaker: { failures: 1, pauseSeconds: day, pauseCapSeconds: day } },
      day / 2,
    );
    expect(await ages(queue)).toEqual(told(100));
  });

  it("is not told of a queue that is held as a whole, by a person, by a failed job, or by another queue", async () => {
    const { engine } = db;
    const other = await newQueue(db);
    const queue = await newQueue(db, { onFailure: "pause" });
    await engine.enqueueMany("fine", times(4), { queue });
    await claimOne(db, queue, { leaseSeconds: day });
    await db.moveClock(100);
    expect(await ages(queue)).toEqual(told(100));
    await engine.queuePause(queue);
    expect(await ages(queue)).toEqual(none);
    await engine.queueResume(queue);
    await engine.queuePut(queue, { waitsFor: [other] });
    expect(await ages(queue)).toEqual(none);
    await engine.queuePut(queue, { waitsFor: null });
    await engine.fail(await claimOne(db, queue), { message: "no", retry: false });
    expect(await ages(queue)).toEqual(none);
  });

  it("does not keep the built-in alert of old jobs firing", async () => {
    const { engine } = db;
    const queue = await held(async (name) => {
      await engine.enqueueMany("newsletter", times(3), { queue: name });
      await engine.queuePause(name, { type: "newsletter" });
    });
    const rule = (await engine.alertRules()).find(({ name }) => name === "oldest-job")!;
    for (let minute = 0; minute < 5; minute += 1) {
      const now = (await clockNow(db)).getTime() / 1000;
      await db.moveClock((Math.floor(now / 60) + 1) * 60 + 5 - now);
      await engine.historySample();
      await engine.alertsCheck();
    }
    expect(rule).toMatchObject({ on: true, kind: "oldest" });
    const alerts = (await engine.alerts()).filter((one) => one.rule === "oldest-job" && one.subject.includes(queue));
    expect(alerts).toEqual([]);
  });
});
