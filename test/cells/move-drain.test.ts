import { expect, it } from "vitest";
import type { CellsEngine } from "../../src/cells/cells-engine.js";
import type { Engine } from "../../src/db/engine.js";
import { until } from "../support/wait.js";
import { useCellMills } from "../support/cell-mills.js";

const cells = useCellMills();
type Name = "a" | "b" | "c";
const engine = (cell: string): Engine => cells.dbs[cell as Name].engine;

it("[#236] a queue that gets dead letters of others moves after them, and none is lost [#238]", async () => {
  const mill = cells.open();
  const dead = await cells.nameIn("a", mill);
  const [source, typed] = [`${dead}-source`, `${dead}-typed`];
  await mill.queues.put(dead, { priority: 2 });
  await mill.queues.put(source, { deadLetterQueue: dead, maxAttempts: 1 });
  expect(await mill.cells!.whereIs(source)).toBe("a");
  const refusal = { code: "MR032", reason: "deadLetter", message: expect.stringContaining(source) };
  await expect(mill.cells!.move(dead, "b")).rejects.toMatchObject(refusal);
  expect((await mill.cells!.move(dead, "b", { dryRun: true })).against).toMatchObject([{ reason: "deadLetter" }]);
  expect(await engine("b").moves.queue(dead)).toBeUndefined();

  // also what it has left may still have some
  await mill.enqueue("work", 1, { queue: source });
  await mill.cells!.move(source, "b", { detach: true });
  await expect(mill.cells!.move(dead, "c", { from: "a" })).rejects.toMatchObject(refusal);
  await engine("a").fail((await engine("a").claim({ queues: [source] }))[0]!, { message: "no" });
  await mill.cells!.move(source, "b");
  expect((await engine("a").claim({ queues: [dead] })).map(({ input }) => input)).toEqual([1]);

  // of a type, and of a cell
  const other = await cells.nameIn("c", mill);
  await mill.queues.put(other);
  await engine("c").typePut(typed, { deadLetterQueue: other });
  await expect(mill.cells!.move(other, "b")).rejects.toMatchObject({ code: "MR032", reason: "deadLetter" });
  await engine("c").typePut(typed, { deadLetterQueue: null });
  await engine("c").cellPut({ deadLetterQueue: other });
  await expect(mill.cells!.move(other, "b")).rejects.toMatchObject({ code: "MR032", reason: "deadLetter" });
  await engine("c").cellPut({ deadLetterQueue: null });
  await mill.cells!.move(other, "b");
  // dead letters would go to where nobody looks for them
  for (const put of [
    () => engine("c").queuePut("late", { deadLetterQueue: other }),
    () => engine("c").typePut(typed, { deadLetterQueue: other }),
    () => engine("c").cellPut({ deadLetterQueue: other }),
  ])
    await expect(put()).rejects.toMatchObject({ code: "MR030", cell: "b" });
});

it("[#238] draining the home of the default queue takes its schedules and settings along, and dead letters", async () => {
  const mill = cells.open();
  const home = await mill.cells!.whereIs("default");
  const others = ["a", "b", "c"].filter((name) => name !== home);
  await mill.queues.put("default", { maxRunning: 2 });
  await mill.engine.schedules.put("hourly", { rule: { every: "PT1H" }, job: { type: "work" } });
  const dead = await cells.nameIn(home, mill);
  const source = `${dead}-source`;
  await mill.queues.put(dead);
  await mill.queues.put(source, { deadLetterQueue: dead, maxAttempts: 1 });
  await mill.enqueue("work", 1, { queue: source });
  await mill.enqueue("work", 2, { queue: dead });
  expect(await mill.cells!.whereIs(source)).toBe(home);

  const plan = await mill.cells!.drain(home, { dryRun: true });
  expect(plan.empty.map(({ queue }) => queue)).not.toContain("default");
  expect(plan.moves.flatMap(({ against }) => against)).toEqual([]);
  const drained = mill.cells!.drain(home);
  await until("the source has left", async () => (await engine(home).moves.queue(source))?.movedTo !== null);
  expect((await engine(home).moves.queue(dead))?.movedTo).toBeNull();
  await engine(home).fail((await engine(home).claim({ queues: [source] }))[0]!, { message: "no" });
  const inputs: unknown[] = [];
  await until("the dead letter is there too", async () => {
    for (const job of await engine(home).claim({ queues: [dead], limit: 10 })) {
      inputs.push(job.input);
      await engine(home).complete(job);
    }
    return inputs.length === 2;
  });
  await drained;
  expect(new Set(inputs)).toEqual(new Set([1, 2]));

  const now = await cells.open().cells!.whereIs("default");
  expect(others).toContain(now);
  expect(await cells.dbs[now as Name].sql("select options from queue where name = 'default'")).toEqual([
    { options: { maxRunning: 2 } },
  ]);
  const schedules = async (cell: string) => (await engine(cell).schedules.list()).map(({ name }) => name);
  expect(await schedules(home)).toEqual([]);
  expect(await schedules(now)).toEqual(["hourly"]);
  // of a queue that was closed
  await engine(home).queuePut("left");
  await engine(home).schedules.put("forgotten", { rule: { every: "PT1H" }, job: { type: "work", queue: "left" } });
  await engine(home).queueClose("left");
  await until("its queue has finished", async () => {
    await engine(home).maintain();
    return (await engine(home).moves.live()).length === 0;
  });
  expect((await mill.cells!.remove(home, { dryRun: true })).against).toMatchObject([
    { reason: "live", message: expect.stringContaining("forgotten") },
  ]);
  await engine(home).schedules.remove("forgotten");
  expect((await mill.cells!.remove(home, { dryRun: true })).against).toEqual([]);

  // a queue that was placed there, and is made when the cell is gone
  const slow = cells.open();
  await slow.cells!.add(home).catch(() => {});
  const placed = await cells.nameIn(home, slow);
  expect((await (slow.engine as CellsEngine).router.place(placed))?.name).toBe(home);
  await mill.cells!.drain(home);
  await mill.cells!.remove(home);
  const fresh = cells.open({ cells: Object.fromEntries(others.map((name) => [name, cells.urls[name as Name]])) });
  await fresh.queues.put(placed, { priority: 3 });
  const at = await fresh.cells!.whereIs(placed);
  await slow.queues.put(placed, { maxAttempts: 4 });
  expect(await cells.dbs[at as Name].sql("select options from queue where name = $1", [placed])).toEqual([
    { options: { priority: 3, maxAttempts: 4 } },
  ]);
  expect(await engine(home).moves.queue(placed)).toBeUndefined();
  await expect(engine(home).queuePut(placed)).rejects.toMatchObject({ code: "MR032", reason: "cell" });
});
