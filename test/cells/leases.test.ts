import { afterAll, beforeAll, expect, inject, it } from "vitest";
import type { CellsWorker } from "../../src/cells/cells-worker.js";
import { Millrace } from "../../src/client/with-workers.js";
import { defineJob } from "../../src/job/define-job.js";
import { startProxy } from "../support/proxy.js";
import { inDatabase, onServer } from "../support/server.js";
import { until } from "../support/wait.js";

const names = Array.from({ length: 12 }, (_, n) => `cell-${n}`);
const urls: Record<string, string> = {};
const work = defineJob("work");

beforeAll(async () => {
  const serverUrl = inject("serverUrl");
  for (const name of names) {
    const database = `test_leases_${process.pid}_${name.replace("-", "_")}`;
    await onServer(serverUrl, `create database ${database} template ${inject("template")}`);
    urls[name] = inDatabase(serverUrl, database);
    // a copy of a database is the same cell, until it is told otherwise
    await onServer(urls[name], "update millrace.cell_self set id = gen_random_uuid()");
  }
}, 60_000);

afterAll(async () => {
  for (const url of Object.values(urls))
    await onServer(inject("serverUrl"), `drop database if exists ${new URL(url).pathname.slice(1)} with (force)`);
});

it("[#228] [#229] workers share cells out among themselves, and take over those of one that is gone", async () => {
  const cells = Object.fromEntries(names.map((name) => [name, { connectionString: urls[name]!, max: 3 }]));
  const mill = new Millrace({ cells, logger: false });
  // one who has taken some cells, and does not come back
  const left = names.slice(0, 8);
  for (const name of left) {
    const engine = await mill.cells!.engine(name);
    await engine.cellHold("gone", "take", { cells: 8, queues: [], seconds: 5 });
  }
  const ran = new Set<string>();
  const newWorker = async (of = mill): Promise<CellsWorker> => {
    const worker = of.worker({ heartbeatThread: false, maintenance: false, schedules: false }) as CellsWorker;
    worker.handle(work, async ({ id }) => void ran.add(id));
    await worker.start();
    return worker;
  };
  const proxy = await startProxy(inject("serverUrl"));
  const far = Object.entries(cells).map(([name, { connectionString, max }]) => {
    const url = new URL(connectionString);
    url.port = new URL(proxy.url).port;
    return [name, { connectionString: url.href, max }];
  });
  const other = new Millrace({ cells: Object.fromEntries(far), logger: false });
  const killed = await newWorker(other);
  expect(killed.cells.length).toBeGreaterThanOrEqual(4);
  await until("one worker serves all", () => killed.cells.length === 12);

  const first = await newWorker();
  await until("another one serves some", () => first.cells.length >= 4);
  expect(first.cells.length).toBeLessThan(12);
  proxy.cut();
  const diedAt = performance.now();
  const jobs: string[] = [];
  for (const name of names) jobs.push((await (await mill.cells!.engine(name)).enqueue({ type: "work" })).id);
  // the statement's own words; what is left of it when the lease has ended is a round, of 3 s at most
  await until("its cells are served by another", () => ran.size === jobs.length, 15_000 - (performance.now() - diedAt));
  await killed.stop({ force: true });
  await other.close();

  const workers = [first, ...(await Promise.all(Array.from({ length: 5 }, () => newWorker())))];
  const isSpread = (): boolean => {
    const held = workers.map(({ cells: own }) => own.length);
    const mean = held.reduce((sum, count) => sum + count, 0) / held.length;
    return new Set(workers.flatMap(({ cells: own }) => own)).size === 12 && Math.max(...held) <= 2 * mean;
  };
  await until("each cell has a worker, and none has more than twice the mean", isSpread);
  await Promise.all(workers.map((worker) => worker.stop({ force: true })));
  await mill.close();
}, 60_000);
