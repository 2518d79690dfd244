import { describe, expect, it } from "vitest";
import { useDatabase } from "../support/database.js";
import { newQueue } from "../support/jobs.js";

const db = useDatabase();
const times = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

describe("what is paused of a queue", () => {
  it("stays in the list of groups after a claim, and is blocked, not ready", async () => {
    const queue = await newQueue(db);
    const { engine } = db;
    await engine.enqueueMany("t", times(50), { queue, group: "acme" });
    await engine.queuePause(queue, { group: "acme" });
    expect(await engine.queueDepth(queue)).toMatchObject({ ready: 0, blocked: 50 });
    expect(await engine.claim({ queues: [queue], limit: 5 })).toEqual([]);
    expect(await engine.queueGroups(queue)).toMatchObject([{ group: "acme", waiting: 50, estimated: false }]);
    expect(await engine.queueDepth(queue)).toMatchObject({ ready: 0, blocked: 50 });
    await engine.enqueueMany("t", times(3), { queue, group: "globex" });
    expect(await engine.queueDepth(queue)).toMatchObject({ ready: 3, blocked: 50 });
    await engine.queueResume(queue, { group: "acme" });
    expect(await engine.queueDepth(queue)).toMatchObject({ ready: 53, blocked: 0 });
    expect(await engine.claim({ queues: [queue], limit: 100 })).toHaveLength(53);
  });

  it("is blocked by type, by group, and by both, each job once", async () => {
    const queue = await newQueue(db);
    const { engine } = db;
    for (const type of ["mail", "sms"])
      for (const group of ["acme", "globex"]) await engine.enqueueMany(type, times(10), { queue, group });
    await engine.enqueueMany("mail", times(7), { queue });
    await engine.claim({ queues: [queue], types: ["mail"], limit: 2, leaseSeconds: 600 });
    const { ready } = await engine.queueDepth(queue);
    expect(ready).toBe(45);
    await engine.queuePause(queue, { type: "sms", group: "acme" });
    expect(await engine.queueDepth(queue)).toMatchObject({ ready: 35, blocked: 10 });
    await engine.queuePause(queue, { group: "acme" });
    const acme = (await engine.queueGroups(queue)).find(({ group }) => group === "acme")!.waiting;
    expect(await engine.queueDepth(queue)).toMatchObject({ ready: 45 - acme, blocked: acme });
    await engine.queuePause(queue, { type: "sms" });
    expect((await engine.queueDepth(queue)).blocked).toBe(acme + 10);
    await engine.queuePause(queue);
    expect(await engine.queueDepth(queue)).toMatchObject({ ready: 0, blocked: 45 });
  });

  it("a group at its limit, or without a token, stays in the list too", async () => {
    const queue = await newQueue(db, { groupMaxRunning: 1 });
    const { engine } = db;
    await engine.enqueueMany("t", times(20), { queue, group: "acme" });
    expect(await engine.claim({ queues: [queue], limit: 5, leaseSeconds: 600 })).toHaveLength(1);
    expect(await engine.claim({ queues: [queue], limit: 5 })).toEqual([]);
    expect(await engine.queueGroups(queue)).toMatchObject([{ group: "acme", waiting: 19, running: 1 }]);

    const rated = await newQueue(db, { groupRate: { perSecond: 0.001, burst: 1 } });
    await engine.enqueueMany("t", times(20), { queue: rated, group: "acme" });
    const [first] = await engine.claim({ queues: [rated], limit: 5 });
    await engine.complete(first!);
    expect(await engine.claim({ queues: [rated], limit: 5 })).toEqual([]);
    expect(await engine.queueGroups(rated)).toMatchObject([{ group: "acme", waiting: 19, running: 0 }]);
  });

  it("is counted apart from what is ready, by type and group, in one queue and in all", async () => {
    const queue = await newQueue(db, { breaker: { failures: 1, pauseSeconds: 600 } });
    const { engine } = db;
    for (const group of ["one", "two", "three"]) await engine.enqueueMany("fine", times(10), { queue, group });
    await engine.enqueueMany("broken", times(3), { queue, group: "three" });
    await engine.fail((await engine.claim({ queues: [queue], types: ["broken"] }))[0]!, { message: "no" });
    await engine.queuePause(queue, { group: "one" });
    await engine.queuePause(queue, { group: "two", type: "fine" });
    await engine.queuePause(queue, { type: "other" }); // no group of that name
    const blocked = async () => [
      (await engine.queueGroups(queue)).map((one) => [one.group, one.ready, one.blocked]),
      (await engine.queueTypes(queue)).map((one) => [one.type, one.ready, one.blocked]),
      (await engine.server.cellGroups(1000))
        .filter(({ queues }) => queues.includes(queue))
        .map((one) => [one.group, one.ready, one.blocked]),
    ];
    const groups = [
      ["three", 10, 2],
      ["one", 0, 10],
      ["two", 0, 10],
    ];
    expect(await blocked()).toEqual([
      groups,
      [
        ["broken", 0, 2],
        ["fine", 10, 20],
      ],
      groups,
    ]);
    await engine.queuePause(queue);
    const none = groups.map(([group, ready, held]) => [group, 0, Number(ready) + Number(held)]);
    expect(await blocked()).toEqual([
      none,
      [
        ["broken", 0, 2],
        ["fine", 0, 30],
      ],
      none,
    ]);
  });

  it("is listed with its exact numbers although it is small and the queue deep, or has nothing", async () => {
    const queue = await newQueue(db);
    const { engine } = db;
    await engine.enqueueMany("t", times(5), { queue, group: "acme" });
    await engine.enqueueMany("t", times(6), { queue, group: "both" });
    await engine.enqueueMany("other", times(1), { queue, group: "both" });
    for (let n = 0; n < 12; n += 1) await engine.enqueueMany("t", times(1000), { queue, group: `large-${n % 3}` });
    await engine.queuePause(queue, { group: "acme" });
    await engine.queuePause(queue, { group: "both", type: "t" });
    await engine.queuePause(queue, { group: "empty" });
    for (let n = 0; n < 5; n += 1) {
      const groups = await engine.queueGroups(queue, n === 0 ? 4 : 100);
      expect(groups).toHaveLength(n === 0 ? 4 : 6);
      expect(groups.slice(1 - groups.length).filter(({ group }) => !group!.startsWith("large"))).toMatchObject([
        { group: "both", waiting: 7, ready: 1, blocked: 6, estimated: true },
        { group: "acme", waiting: 5, ready: 0, blocked: 5, oldestAgeSeconds: expect.any(Number) },
        { group: "empty", waiting: 0, ready: 0, blocked: 0, oldestAgeSeconds: null },
      ]);
    }
    expect(await engine.queueTypes(queue)).toMatchObject([
      { type: "other", waiting: 1, ready: 1, blocked: 0 },
      { type: "t", waiting: 12_011, ready: 12_000, blocked: 11 },
    ]);
  });
});
