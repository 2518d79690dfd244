import { Logger, makeWorkerUtils, run, runMigrations } from "graphile-worker";
import pg from "pg";
import type { Input, System } from "./system.ts";

/**
 * Graphile Worker with the settings of its own measurements, https://worker.graphile.org/docs/performance:
 *
 * - `concurrentJobs: 24`, `maxPoolSize: 25`: as published there.
 * - `localQueue.size: 1000`: fetch that many jobs in one statement. Published is 500, with the advice to go higher for
 *   extremely fast tasks;   1000 costs the server less per job. No `refetchDelay`: it would trade latency and speed for
 *   less load.
 * - `completeJobBatchDelay: 0`, `failJobBatchDelay: 0`: jobs that end in the same turn of the event loop are reported
 *   in one statement.
 * - prepared statements are on by default; `addJobs` stores a batch in one statement; finished jobs are deleted, there
 *   is no history.
 *
 * It has no queues to listen to, only task names; a hundred queues are a hundred tasks.
 */
const worker = {
  concurrentJobs: 24,
  maxPoolSize: 25,
  localQueue: { size: 1000 },
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0,
};
const logger = new Logger(() => (level, message) => {
  if (level === "error") console.error(`graphile-worker: ${message}`);
});

export const graphileWorker: System = {
  claims: { pg, isClaim: (text) => text.includes("skip locked") },
  table: "graphile_worker._private_jobs",

  async setup(url) {
    await runMigrations({ preset: { worker: { connectionString: url } }, logger });
  },

  async produce(url, { connections }) {
    const pgPool = new pg.Pool({ connectionString: url, max: connections });
    // it insists on a listener, here and on each client
    pgPool.on("error", (error) => console.error(`graphile-worker: ${error.message}`));
    pgPool.on("connect", (client) => client.on("error", () => {}));
    const utils = await makeWorkerUtils({ pgPool, logger });
    return {
      add: (input) => utils.addJob("noop", input),
      addMany: (inputs) => utils.addJobs(inputs.map((payload) => ({ identifier: "noop", payload }))),
      async close() {
        await utils.release();
        await pgPool.end();
      },
    };
  },

  async work(url, { queues = ["noop"], onJob }) {
    const taskList = Object.fromEntries(queues.map((name) => [name, (payload: unknown) => onJob(payload as Input)]));
    const runner = await run({
      preset: { worker: { ...worker, connectionString: url } },
      taskList,
      logger,
      noHandleSignals: true,
    });
    const look = new pg.Pool({ connectionString: url, max: 1 });
    return {
      async isDrained() {
        const { rows } = await look.query("select not exists (select from graphile_worker._private_jobs) as drained");
        return (rows as { drained: boolean }[])[0]!.drained;
      },
      async stop() {
        await runner.stop();
        await look.end();
      },
    };
  },
};
