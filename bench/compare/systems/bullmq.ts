import { Queue, Worker } from "bullmq";
import type { Input, System } from "./system.ts";

/**
 * BullMQ on Redis, as a landmark outside PostgreSQL: it keeps its jobs in memory and, in this setup, may lose the last second of them.
 *
 * - Redis as https://docs.bullmq.io/guide/going-to-production says: append-only file written every second, no eviction.
 * - `addBulk` stores a batch in one pipeline.
 * - Four workers with `concurrency: 25` in the one process: its guide on concurrency recommends several workers. Finishing a job fetches
 *   the next one in the same script; there is no fetching of many, so more jobs at once are the only way to more speed.
 * - `removeOnComplete`: finished jobs are deleted at once, there is no history.
 */
const name = "bench";
const connectionOf = (url: string): { host: string; port: number; maxRetriesPerRequest: null } => {
  const { hostname, port } = new URL(url);
  return { host: hostname, port: Number(port), maxRetriesPerRequest: null };
};
const defaultJobOptions = { removeOnComplete: true };

export const bullmq: System = {
  async setup() {},

  async produce(url, { connections }) {
    const queues = Array.from({ length: connections }, () => new Queue<Input>(name, { connection: connectionOf(url), defaultJobOptions }));
    await Promise.all(queues.map((queue) => queue.waitUntilReady()));
    let turn = 0;
    const next = (): Queue<Input> => queues[(turn += 1) % connections]!;
    return {
      add: (input) => next().add("noop", input),
      addMany: (inputs) => next().addBulk(inputs.map((data) => ({ name: "noop", data }))),
      async close() {
        await Promise.all(queues.map((queue) => queue.close()));
      },
    };
  },

  async work(url, { queues = [name], onJob }) {
    const connection = connectionOf(url);
    const names = queues.length === 1 ? Array.from({ length: 4 }, () => queues[0]!) : queues;
    const workers = names.map((queue) => new Worker<Input>(queue, async (job) => onJob(job.data), { connection, concurrency: 25 }));
    const look = new Queue(queues[0]!, { connection });
    await Promise.all([look.waitUntilReady(), ...workers.map((worker) => worker.waitUntilReady())]);
    return {
      isDrained: async () => (await look.getJobCountByTypes("wait", "active", "delayed", "prioritized")) === 0,
      async stop() {
        await Promise.all([look.close(), ...workers.map((worker) => worker.close())]);
      },
    };
  },
};
