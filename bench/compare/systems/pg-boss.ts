import { type ConstructorOptions, PgBoss } from "pg-boss";
import pg from "pg";
import type { Input, System } from "./system.ts";

/**
 * pg-boss with what its documentation has for speed, https://pgboss.io/api/workers:
 *
 * - `insert()` stores a batch in one statement; it is "the raw, high-volume path", without the checks of `send()`.
 * - `batchSize: 1000`: fetch and complete a thousand jobs per statement; the handler gets them as one array.
 * - `localConcurrency: 2`: two such loops, so that one fetches while the other completes.
 * - `burstWhenBatchFull`: while fetches come back full, the next follows at once instead of after the polling interval.
 * - `pollingIntervalSeconds: 0.5`: the smallest it accepts.
 * - `useListenNotify`, and a queue with `notify`: a job wakes workers at once. Only where a worker waits for jobs,
 *   because it makes   inserting slower; preloaded jobs and plain inserting use a queue without.
 * - `schedule: false`: no cron. Upkeep (`supervise`) stays on in workers, as it is for all systems, and off in
 *   producers.
 */
const still = "bench";
const live = "bench-live";
const handling = { batchSize: 1000, localConcurrency: 2, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 };

async function start(options: ConstructorOptions): Promise<PgBoss> {
  const boss = new PgBoss({ schedule: false, ...options });
  boss.on("error", (error) => console.error(`pg-boss: ${error.message}`));
  return boss.start();
}

export const pgBoss: System = {
  claims: { pg, isClaim: (text) => text.includes("FOR UPDATE OF j SKIP LOCKED") },
  table: "pgboss.job",

  async setup(url, queues) {
    const boss = await start({ connectionString: url });
    await boss.createQueue(still);
    for (const name of [live, ...queues]) await boss.createQueue(name, { notify: true });
    await boss.stop({ graceful: false });
  },

  async produce(url, options) {
    const boss = await start({
      connectionString: url,
      max: options.connections,
      supervise: false,
      migrate: false,
      useListenNotify: options.live,
    });
    const queue = options.live ? live : still;
    return {
      add: (input) => boss.send(queue, input),
      addMany: (inputs) =>
        boss.insert(
          queue,
          inputs.map((data) => ({ data })),
        ),
      close: () => boss.stop({ graceful: false }),
    };
  },

  async work(url, options) {
    const boss = await start({ connectionString: url, migrate: false, useListenNotify: options.live });
    for (const queue of options.queues ?? [options.live ? live : still]) {
      await boss.work<Input>(queue, handling, async (jobs) => {
        for (const job of jobs) options.onJob(job.data);
      });
    }
    const look = new pg.Pool({ connectionString: url, max: 1 });
    return {
      async isDrained() {
        const { rows } = await look.query(
          "select not exists (select from pgboss.job where state < 'completed') as drained",
        );
        return (rows as { drained: boolean }[])[0]!.drained;
      },
      async stop() {
        await boss.stop({ graceful: true, timeout: 10_000 });
        await look.end();
      },
    };
  },
};
