import { expect, it } from "vitest";
import { moveQueue } from "../../src/cells/move.js";
import type { Millrace } from "../../src/client/with-workers.js";
import type { Engine } from "../../src/db/engine.js";
import { MoveRefusedError } from "../../src/db/errors.js";
import type { ClaimedJob, Enqueued } from "../../src/db/types.js";
import { useCellMills } from "../support/cell-mills.js";
import { broken, failingFrom } from "../support/failing-cells.js";

const cells = useCellMills();
const names = ["a", "b"] as const;
const engine = (cell: "a" | "b"): Engine => cells.dbs[cell].engine;
const engines = (): Map<string, Engine> => new Map(names.map((name) => [name, engine(name)]));
const open = (): Millrace => cells.open({ cells: { a: cells.urls.a, b: cells.urls.b } });
const cellOf = (handle: string): string => handle.split(":")[0]!;

/** What both cells hand out just now. */
async function claimed(queue: string): Promise<{ cell: "a" | "b"; job: ClaimedJob }[]> {
  const all = [];
  for (const cell of names)
    if (await engine(cell).moves.queue(queue))
      for (const job of await engine(cell).claim({ queues: [queue], limit: 20 })) all.push({ cell, job });
  return all;
}

for (const back of [false, true])
  it(
    `[#236] a move ${back ? "back home " : ""}that was broken off anywhere: the queue is in one cell for every process, and what is set for it meanwhile holds in both [#237]`,
    { timeout: 120_000 },
    async () => {
      const old = open();
      let isBroken = true;
      // after each call that may change something; those before it only look
      for (let n = 16; isBroken; n += 2) {
        expect(n).toBeLessThan(80);
        const queue = await cells.nameIn("a", old);
        await old.queues.put(queue, { maxAttempts: 3 });
        if (back) await old.cells!.move(queue, "b");
        const to = back ? "a" : "b";
        const result = await moveQueue(failingFrom(n, engines()), queue, to, { detach: true }).catch((error) => error);
        isBroken = result === broken;
        if (!isBroken) expect(result).toMatchObject({ to });

        const fresh = open();
        const made: Enqueued[] = [];
        for (const mill of [fresh, old, fresh])
          made.push(
            await mill.enqueue("work", n, { queue }),
            await mill.enqueue("work", n, { queue, fingerprint: "f" }),
          );
        expect(new Set(made.map(({ id }) => cellOf(id))).size, `broken off at ${n}`).toBe(1);
        expect(new Set(made.filter((_, i) => i % 2 === 1).map(({ id }) => id)).size).toBe(1);
        expect(await fresh.cells!.whereIs(queue)).toBe(cellOf(made[0]!.id));
        const wasSet = await fresh.queues.put(queue, { maxRunning: 1 }).then(
          () => true,
          (error: unknown) => {
            expect(error).toBeInstanceOf(MoveRefusedError);
            expect(cellOf(made[0]!.id)).toBe(to);
            return false;
          },
        );
        await fresh.close();

        await old.cells!.move(queue, to, { detach: true });
        await old.enqueue("work", n, { queue });
        const first = await claimed(queue);
        expect(first.length, `broken off at ${n}`).toBe(wasSet ? 1 : 5);
        const moved = old.cells!.move(queue, to);
        for (let jobs = first; jobs.length > 0; jobs = await claimed(queue))
          for (const { cell, job } of jobs) await engine(cell).complete(job);
        await moved;
        for (let jobs = await claimed(queue); jobs.length > 0; jobs = await claimed(queue))
          for (const { cell, job } of jobs) await engine(cell).complete(job);
        expect((await old.jobs.count({ queue })).succeeded).toBe(5);
        const [row] = await cells.dbs[to].sql("select options, state from queues where name = $1", [queue]);
        expect(row).toEqual({ state: "active", options: { maxAttempts: 3, ...(wasSet ? { maxRunning: 1 } : {}) } });
      }
    },
  );

it("[#236] what is set, or speaks against a move, between its steps is seen by the next one [#237]", async () => {
  const mill = open();
  const settings = async (queue: string) => {
    const { text, limited } = await engine("a").moves.settings(queue);
    return { from: "a", here: "b", version: 1, settings: text, hold: limited };
  };
  const [queue, staged] = [await cells.nameIn("a", mill), await cells.nameIn("a", mill)];
  await mill.queues.put(queue);
  const before = await settings(queue);
  await engine("b").moves.arrive(queue, before);
  await mill.queues.put(queue, { maxRunning: 1 });
  await engine("a").queuePut(queue, { priority: 3 });
  expect(await engine("a").moves.leave(queue, "b", 1, before.settings)).toBe(false);
  const now = await settings(queue);
  await engine("b").moves.arrive(queue, now);
  await engine("b").moves.admit(queue, 2); // it has left for another cell then
  await expect(engine("b").enqueue({ type: "work", queue })).rejects.toMatchObject({ code: "MR030", cell: "a" });
  await expect(engine("b").queueOpen(queue)).rejects.toMatchObject({ code: "MR030", cell: "a" });
  for (let n = 0; n < 3; n += 1) await engine("b").maintain(); // it is closed there, and has no jobs, but does not finish
  const { events } = await engine("b").queueEvents();
  expect(events.filter((one) => one.queue === queue).map(({ event }) => event)).toEqual(["arriving"]);
  expect(await engine("a").moves.leave(queue, "b", 1, now.settings)).toBe(true);
  // in the old cell alone it would be lost
  await expect(engine("a").queuePut(queue, { priority: 4 })).rejects.toMatchObject({ code: "MR030", cell: "b" });
  await expect(engine("a").groupPut(queue, "g", { weight: 2 })).rejects.toMatchObject({ code: "MR030", cell: "b" });
  await mill.cells!.move(queue, "b");
  const [row] = await cells.dbs.b.sql("select options from queue where name = $1", [queue]);
  expect(row).toEqual({ options: { maxRunning: 1, priority: 3 } });

  await mill.queues.put(staged);
  const then = await settings(staged);
  await engine("b").moves.arrive(staged, then);
  await mill.enqueue("work", 1, { queue: staged, stage: "later" });
  await mill.queues.pause(staged, { type: "work" });
  expect(await engine("a").moves.leave(staged, "b", 1, then.settings)).toBe(false);
  await expect(mill.cells!.move(staged, "b")).rejects.toMatchObject({ code: "MR032", reason: "paused" });
  await mill.queues.resume(staged, { type: "work" });
  await expect(mill.cells!.move(staged, "b")).rejects.toMatchObject({ code: "MR032", reason: "staged" });
});

it("[#236] a queue whose move was broken off before it had left may move elsewhere, and there later", async () => {
  const mill = cells.open();
  const queue = await cells.nameIn("a", mill);
  await mill.queues.put(queue);
  const { text } = await engine("a").moves.settings(queue);
  await engine("b").moves.arrive(queue, { from: "a", here: "b", version: 1, settings: text, hold: false });
  for (const to of ["c", "b", "a", "b"]) {
    await mill.cells!.move(queue, to);
    expect(cellOf((await cells.open().enqueue("work", 1, { queue })).id)).toBe(to);
    const at = cells.dbs[to as "a"].engine;
    await at.complete((await at.claim({ queues: [queue] }))[0]!);
  }
});
