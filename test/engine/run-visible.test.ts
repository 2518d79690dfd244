import { describe, expect, it } from "vitest";
import { useDatabase } from "../support/database.js";
import { claimOne, enqueue, idsOf, jobOf, newQueue } from "../support/jobs.js";
import { endChild, suspend, waitingRun } from "../support/runs.js";

const db = useDatabase();

describe("what a suspended job waits for", () => {
  it("is told by the view, with how many children are left, until it goes on [#216]", async () => {
    const queue = await newQueue(db);
    const { id, children } = await waitingRun(db, queue);
    const waiting = await jobOf(db, id);
    expect(waiting).toMatchObject({
      state: "suspended",
      parent: null,
      waits: {
        steps: ["approved|rejected", "pack"],
        until: null,
        signals: ["approved", "rejected"],
        children: [{ step: "pack", left: 3, of: 3 }],
      },
    });
    expect(waiting.suspendedAt!.getTime()).toBeGreaterThanOrEqual(waiting.createdAt.getTime());
    await endChild(db, queue);
    expect((await jobOf(db, id)).waits!.children).toEqual([{ step: "pack", left: 2, of: 3 }]);
    expect(await jobOf(db, children[0]!)).toMatchObject({ parent: id, waits: null, suspendedAt: null });
    const listed = await db.engine.list({ queue, state: "suspended" });
    expect(listed).toEqual([await jobOf(db, id)]);
    expect(await db.engine.list({ queue, state: "delayed" })).toEqual([]);
    expect((await db.engine.server.find({ queue, state: "suspended" })).ids).toEqual([id]);
    expect((await db.engine.server.byIds([children[1]!]))[0]!.parent).toBe(id);

    await db.engine.tell(id, "approved", { by: "ann" });
    await db.engine.noticesDeliver();
    expect(await jobOf(db, id)).toMatchObject({ state: "ready", waits: null, suspendedAt: null });
  });

  it("has an end where there is one, and ends with the job [#216]", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue);
    await suspend(db, await claimOne(db, queue), [{ key: "cool-off", seconds: 3600 }]);
    const { waits, suspendedAt } = await jobOf(db, id);
    expect(waits).toMatchObject({ steps: ["cool-off"], signals: [], children: [] });
    const waitsMs = waits!.until!.getTime() - suspendedAt!.getTime();
    expect(waitsMs).toBeGreaterThanOrEqual(3_600_000); // from the moment the wait was noted, a little later
    expect(waitsMs).toBeLessThan(3_610_000);
    await db.engine.cancel([id]);
    expect(await jobOf(db, id)).toMatchObject({ state: "cancelled", waits: null, suspendedAt: null });
  });

  it("is nothing of a job that was purged meanwhile", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue);
    await suspend(db, await claimOne(db, queue), [{ key: "go", signals: ["go"] }]);
    await db.engine.queuePurge(queue);
    expect(await jobOf(db, id)).toMatchObject({ state: "cancelled", reason: "purged", waits: null, suspendedAt: null });
  });
});

describe("the steps of a run", () => {
  it("are told in order, with tries, times, errors and values [#216]", async () => {
    const queue = await newQueue(db);
    const { id } = await waitingRun(db, queue);
    const child = await endChild(db, queue);
    await db.engine.tell(id, "approved", { by: "ann" }, { id: "hook-1" });
    await db.engine.noticesDeliver();
    const steps = await db.engine.steps(id);
    expect(steps).toMatchObject([
      {
        key: "charge",
        kind: "try",
        n: "1",
        tries: 1,
        seconds: 0.12,
        error: { message: "card refused" },
        valueBytes: null,
      },
      {
        key: "charge",
        kind: "done",
        n: null,
        tries: 2,
        seconds: 0.034,
        error: null,
        value: { paid: true },
        valueBytes: 13,
      },
      { key: "pack", kind: "started", children: 3, tries: null },
      { key: "pack", kind: "ended", other: child, about: "succeeded", value: { packed: true } },
      { key: "approved", kind: "signal", about: "hook-1", value: { by: "ann" } },
      { key: "approved", kind: "got", about: "approved|rejected", value: { by: "ann" } },
    ]);
    expect(steps[0]!.until).toBeInstanceOf(Date);
    expect(steps.map(({ at }) => at.getTime())).toEqual(steps.map(({ at }) => at.getTime()).toSorted((a, b) => a - b));

    const first = await db.engine.steps(id, { limit: 4 });
    expect([...first, ...(await db.engine.steps(id, { limit: 4, after: first.at(-1)!.id }))]).toEqual(steps);
    const last = await db.engine.steps(id, { limit: 4, newest: true });
    expect([...last, ...(await db.engine.steps(id, { newest: true, after: last.at(-1)!.id }))]).toEqual(
      steps.toReversed(),
    );
    expect(idsOf(await db.engine.steps(id, { key: "charge" }))).toEqual(idsOf(steps.slice(0, 2)));
    expect(await db.engine.steps(id, { valueBytes: 12 })).toMatchObject([
      {},
      { value: null, valueBytes: 13 },
      {},
      {},
      { value: { by: "ann" }, valueBytes: 12 },
      {},
    ]);
  });

  it("tell no more than 8 MiB of values at once, whatever is asked for", async () => {
    const queue = await newQueue(db);
    const job = await enqueue(db, queue);
    const { token } = await claimOne(db, queue);
    const json = JSON.stringify("x".repeat(1_000_000));
    for (let n = 0; n < 10; n += 1)
      await db.engine.stepsPut([{ token, job, steps: [{ key: `step-${n}`, kind: "done", json }] }]);
    const values = (await db.engine.steps(job)).map(({ value }) => value !== null);
    expect(values).toEqual([...Array.from({ length: 8 }, () => true), false, false]);
    expect((await db.engine.steps(job, { key: "step-9" }))[0]!.value).toHaveLength(1_000_000);
  });

  it("have children with their states, by pages [#216]", async () => {
    const queue = await newQueue(db);
    const { id, children } = await waitingRun(db, queue);
    const done = await endChild(db, queue);
    const found = await db.engine.children(id);
    expect(idsOf(found)).toEqual(children);
    for (const child of found)
      expect(child).toMatchObject({
        step: "pack",
        queue,
        type: "pack",
        detached: false,
        state: child.id === done ? "succeeded" : "ready",
      });
    expect(idsOf(await db.engine.children(id, { after: children[0]!, limit: 1 }))).toEqual([children[1]]);
    expect(await db.engine.children(children[0]!)).toEqual([]);
  });
});
