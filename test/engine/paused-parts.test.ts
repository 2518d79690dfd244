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
});
