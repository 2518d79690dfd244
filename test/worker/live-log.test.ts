import { expect, it } from "vitest";
import { defineJob } from "../../src/job/define-job.js";
import { useMill } from "../support/mill.js";
import { gate, until } from "../support/wait.js";

const test = useMill();
const work = defineJob<{ n?: number }>("work");

it("what a running job logs can be followed, its newest lines; afterwards the log of its attempt is told", async () => {
  const queue = await test.queue();
  const { mill } = test;
  const [first, second] = [gate(), gate()];
  await test
    .worker(queue)
    .handle(work, async (_job, { log }) => {
      log("began");
      await first.opened;
      for (let n = 1; n <= 60; n += 1) log(`line ${n} 🚀${"x".repeat(600)}`);
      await second.opened;
      log("done");
    })
    .start();
  const { id } = await mill.enqueue(work, {}, { queue });
  const told = async () => mill.jobs.log(id);
  await until("the first line is told", async () => (await told()).lines.length > 0);
  expect(await told()).toMatchObject({ isRunning: true, lines: [expect.stringMatching(/^\d{4}-.*Z began$/)] });
  first.open();
  await until("the others are told", async () => (await told()).lines.length > 1);
  const { lines } = await told();
  expect([lines.length, lines[0]!.includes("line 11 "), lines.at(-1)!.includes("line 60 ")]).toEqual([50, true, true]);
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(520);
  second.open();
  await mill.result(id);
  const after = await told();
  expect([after.isRunning, after.lines.length, after.lines.at(-1)]).toEqual([
    false,
    62,
    expect.stringMatching(/ done$/),
  ]);
  await test.db.moveClock(60);
  await test.db.engine.maintain();
  expect(await test.db.sql("select job_id from running_log")).toEqual([]);
});

it("nobody tells the log of a job that another holds, and an older run's is not shown", async () => {
  const queue = await test.queue();
  const { engine } = test.db;
  const { id } = await engine.enqueue({ type: "work", queue });
  const [held] = await engine.claim({ queues: [queue], worker: "one", leaseSeconds: 10 });
  await engine.logPut([{ id, token: held!.token, lines: ["of the first"] }]);
  await engine.logPut([{ id, token: "00000000-0000-4000-8000-000000000000", lines: ["of a stranger"] }]);
  expect(await engine.log(id)).toMatchObject({ isRunning: true, lines: ["of the first"] });
  await test.db.moveClock(60);
  await engine.maintain();
  const [again] = await engine.claim({ queues: [queue], worker: "two", leaseSeconds: 10 });
  expect(again!.id).toBe(id);
  expect(await engine.log(id)).toEqual({ isRunning: true, lines: [], updatedAt: null });
});
