import { describe, expect, it } from "vitest";
import { defineJob } from "../../src/job/define-job.js";
import { examine } from "../../src/doctor/examine.js";
import { runQuery } from "../../src/db/queryable.js";
import { useMill } from "../support/mill.js";
import { until } from "../support/wait.js";

const test = useMill();
const resize = defineJob("resize");
const mail = defineJob("mail");

async function handlerFindings(): Promise<string[]> {
  const read = async <Row>(text: string, values: readonly unknown[] = []): Promise<Row[]> =>
    (await runQuery(test.db.pool, text.replaceAll(/(?<![:\w]):(?=[a-z_]+)/g, "millrace."), [...values])) as Row[];
  const found = await examine({ pool: test.db.pool, schema: "millrace", read, maxSnapshotAgeMs: 3_600_000 });
  return found.filter(({ check, state }) => check === "handlers" && state === "wrong").map(({ message }) => message);
}

const server = () => test.mill.engine.server;

describe("a process that runs workers", () => {
  it.each([true, false])(
    "is one row, written for all of them, and gone when the last has stopped (thread: %s)",
    async (heartbeatThread) => {
      const [one, two] = [await test.queue(), await test.queue()];
      const mill = test.open({ release: "2026.11" });
      const first = test.worker(one, { name: "a", concurrency: 3, heartbeatThread }, mill).handle(resize, () => {});
      const second = test.worker(two, { name: "b", concurrency: 4, heartbeatThread }, mill).handle(mail, () => {});
      await first.start();
      await second.start();
      const mine = async () => (await server().processes()).filter(({ release }) => release === "2026.11");
      await until("it is told", async () => (await mine())[0]?.workers.at(1)?.running === 0, 20_000);
      const processes = await mine();
      expect(processes).toEqual([
        expect.objectContaining({
          pid: process.pid,
          state: "idle",
          running: 0,
          stalledSeconds: 0,
          workers: [
            { name: "a", queues: [one], types: ["resize"], concurrency: 3, running: 0 },
            { name: "b", queues: [two], types: ["mail"], concurrency: 4, running: 0 },
          ],
        }),
      ]);
      expect(processes[0]!.memoryBytes).toBeGreaterThan(1e6);
      expect(processes[0]!.expectedAt.getTime()).toBeGreaterThan(processes[0]!.seenAt.getTime());
      await first.stop();
      await second.stop();
      expect(await mine()).toEqual([]);
    },
  );

  it("is lost when its heartbeat is late, and forgotten after a day", async () => {
    const facts = { host: "h", pid: 1, release: null, workers: [] };
    const state = { running: 2, memoryBytes: 1, stalledSeconds: 0 };
    const { engine } = test.mill;
    expect(await engine.workerBeat("h:1:x", null, state)).toMatchObject({ known: false });
    expect(await engine.workerBeat("h:1:x", facts, state)).toMatchObject({ known: true });
    expect(await engine.workerBeat("h:1:x", null, state)).toMatchObject({ known: true, inSeconds: 10 });
    const stateOf = async () => (await server().processes()).find(({ id }) => id === "h:1:x")?.state;
    expect(await stateOf()).toBe("busy");
    await engine.workerBeat("h:1:x", null, { ...state, stalledSeconds: 30 });
    expect(await stateOf()).toBe("stalled");
    await test.db.sql("update worker_process set expected_at = now() - interval '1 minute' where id = 'h:1:x'");
    expect(await stateOf()).toBe("lost");
    await test.db.sql("update worker_process set expected_at = now() - interval '25 hours' where id = 'h:1:x'");
    await engine.maintain();
    expect(await stateOf()).toBeUndefined();
    await expect(engine.workerBeat("", facts, state)).rejects.toMatchObject({ code: "MR001" });
  });

  it("beats without making its row longer or touching an index", async () => {
    const { engine } = test.mill;
    const state = { running: 0, memoryBytes: 1, stalledSeconds: 0 };
    await engine.workerBeat("hot", { host: "h", pid: 1, release: null, workers: [] }, state);
    const tx = await test.db.connect();
    for (let n = 0; n < 50; n += 1) await engine.workerBeat("hot", null, state, { tx });
    await tx.query("select pg_stat_force_next_flush()").catch(() => {});
    await tx.end();
    const counts = async () =>
      (
        await test.db.sql<{ updates: string; hot: string }>(
          "select n_tup_upd as updates, n_tup_hot_upd as hot from pg_stat_user_tables where relname = 'worker_process'",
        )
      )[0]!;
    await until("they are counted", async () => Number((await counts()).updates) >= 50, 20_000);
    const { updates, hot } = await counts();
    expect(Number(hot) / Number(updates)).toBeGreaterThan(0.9);
    await engine.workerLeave("hot");
  });
});

describe("a type that waits and nobody handles [#78]", () => {
  it("is told by the function, the API's question and the doctor, until a worker is there", async () => {
    const queue = await test.queue();
    await test.mill.enqueueMany("nobodys", [1, 2, 3], { queue });
    await test.mill.engine.maintain();
    expect(await server().unhandled(3600)).not.toContainEqual(expect.objectContaining({ queue }));
    const [told] = (await server().unhandled(0)).filter((one) => one.queue === queue);
    expect(told).toMatchObject({ type: "nobodys", waiting: 3, oldestReadyAt: expect.any(Date) });
    await test.db.moveClock(120);
    expect(await handlerFindings()).toContainEqual(
      expect.stringContaining(`3 jobs of type "nobodys" in queue "${queue}" are ready`),
    );
    await test.mill.queues.pause(queue);
    expect(await handlerFindings()).toEqual([]);
    await test.mill.queues.resume(queue);
    let hold: () => void = () => {};
    const held = new Promise<void>((resolve) => (hold = resolve));
    const worker = test.worker(queue, { concurrency: 1, prefetch: 0 }).handle(defineJob("nobodys"), () => held);
    await worker.start();
    await until("it is handled", async () => (await handlerFindings()).length === 0, 20_000);
    hold();
  });
});
