import { setTimeout as sleep } from "node:timers/promises";
import { PgBoss } from "pg-boss";
import pg from "pg";
import type { System } from "./system.ts";

/**
 * pg-boss has no steps, but graphs of jobs (`flow`), which a pass that looks for ended jobs releases, at most once a
 * second by itself, and nobody is told, so that a worker finds them half a second later. `resolveFlow()` asks for a
 * pass, and `notifyWorker()` lets a worker look: both are called all the time, which is the most that an application
 * could do. Two workers as in the comparison of queues (`compare/systems/pg-boss.ts`).
 */
const queue = "graph";
const handling = { batchSize: 1000, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 };

async function start(url: string): Promise<PgBoss> {
  const boss = new PgBoss({ connectionString: url, schedule: false });
  boss.on("error", (error) => console.error(`pg-boss: ${error.message}`));
  return boss.start();
}

export const pgBoss: System = {
  async setup(url) {
    const boss = await start(url);
    await boss.createQueue(queue);
    await boss.stop({ graceful: false });
  },

  async graphs(url) {
    const boss = await start(url);
    let ended = 0;
    const work = (): Promise<string> => boss.work(queue, handling, async (jobs) => void (ended += jobs.length));
    const workers = [await work(), await work()];
    const look = new pg.Pool({ connectionString: url, max: 1 });
    const isOpen = async (): Promise<boolean> => {
      const { rows } = await look.query("select exists (select from pgboss.job where state < 'completed') as open");
      return (rows as { open: boolean }[])[0]!.open;
    };
    return {
      async run(shape, jobs) {
        const startedAt = performance.now();
        ended = 0;
        await boss.flow(
          Array.from({ length: jobs }, (_, n) => ({
            ref: `job-${n}`,
            name: queue,
            data: { n },
            ...(n === 0 ? {} : { dependsOn: [shape === "chain" ? `job-${n - 1}` : "job-0"] }),
          })),
        );
        const storeSeconds = (performance.now() - startedAt) / 1000;
        while (ended < jobs) {
          await boss.resolveFlow();
          for (const worker of workers) boss.notifyWorker(worker);
          await sleep(1);
        }
        while (await isOpen()) await sleep(1);
        return { storeSeconds, seconds: (performance.now() - startedAt) / 1000 };
      },
      async stop() {
        await boss.stop({ graceful: true, timeout: 10_000 });
        await look.end();
      },
    };
  },
};
