import { PgBoss } from "pg-boss";
import { run, Logger } from "graphile-worker";
import { Millrace, defineJob } from "../../dist/index.js";
import { Bench } from "./bench.ts";
import { readOptions } from "./options.ts";
import { Postgres } from "./servers.ts";
process.on("uncaughtException", () => {});
const postgres = await Postgres.start();
const bench = new Bench(readOptions(["--quick"], [])!, postgres, undefined);
const jobs = 10000;
const logger = new Logger(() => () => {});
type Start = (url: string, on: () => void) => Promise<() => Promise<unknown>>;
const variants: [string, string, Start][] = [];
for (const [batchSize, localConcurrency] of [
  [1000, 1],
  [1000, 2],
  [1000, 4],
  [300, 4],
  [3000, 2],
] as const)
  variants.push([
    "pg-boss",
    `batch ${batchSize} x ${localConcurrency}`,
    async (url, on) => {
      const boss = await new PgBoss({ connectionString: url, schedule: false }).start();
      await boss.work("bench", { batchSize, localConcurrency, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 }, async (list) => list.forEach(on));
      return () => boss.stop();
    },
  ]);
for (const [concurrentJobs, size] of [
  [24, 500],
  [24, 1000],
  [100, 500],
  [100, 1000],
  [10, 500],
] as const)
  variants.push([
    "graphile-worker",
    `conc ${concurrentJobs} queue ${size}`,
    async (url, on) => {
      const r = await run({
        preset: { worker: { connectionString: url, concurrentJobs, maxPoolSize: 25, localQueue: { size }, completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
        taskList: { noop: () => on() },
        logger,
        noHandleSignals: true,
      });
      return () => r.stop();
    },
  ]);
for (const [concurrency, maxPrefetch] of [
  [20, 1000],
  [100, 1000],
  [500, 1000],
  [100, 4000],
  [1000, 4000],
] as const)
  variants.push([
    "millrace",
    `conc ${concurrency} prefetch ${maxPrefetch}`,
    async (url, on) => {
      const mill = new Millrace({ connection: url });
      const w = mill.worker({ concurrency, maxPrefetch }).handle(defineJob("noop"), () => on());
      await w.start();
      return () => mill.close();
    },
  ]);
for (const [system, label, start] of [...variants, ...variants]) {
  await using place = await bench.place(system);
  await place.preload(jobs);
  const c0 = postgres.cpuSeconds()!,
    u0 = process.cpuUsage(),
    t0 = performance.now();
  const done = Promise.withResolvers<void>();
  let n = 0;
  const stop = await start(postgres.urlOf(place.database), () => {
    if (++n === jobs) done.resolve();
  });
  await done.promise;
  const t = performance.now() - t0;
  await stop();
  await new Promise((r) => setTimeout(r, 100));
  const u = process.cpuUsage(u0);
  console.log(
    system.padEnd(16),
    label.padEnd(24),
    "wall",
    t.toFixed(0),
    "ms; server cpu",
    (((postgres.cpuSeconds()! - c0) * 1e6) / jobs).toFixed(0),
    "us/job; client cpu",
    ((u.user + u.system) / jobs).toFixed(0),
    "us/job",
  );
}
await postgres.stop();
process.exit(0);
