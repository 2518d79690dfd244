import {
  type BackendFactory,
  type IQueueBackend,
  type PgPool,
  createPostgresBackend,
  createRedisBackend,
  runMigrations,
  withBackend,
} from "bullmq";
import pg from "pg";
import type { Input, System } from "./system.ts";

const bench = "bench";
const defaultJobOptions = { removeOnComplete: true };

/** How BullMQ reaches one of its stores, and how many jobs it works on at once there. */
interface Store<C> {
  readonly backend: BackendFactory<IQueueBackend, C>;
  /** What queues and workers connect with: `connections` at once, and one to listen on for each of the `listeners`. */
  readonly open: (
    url: string,
    connections: number,
    listeners: number,
  ) => { readonly connection: C; readonly close: () => Promise<void> };
  /** Workers that share the one queue of the benchmark, and jobs that each of them works on at once. */
  readonly workers: number;
  readonly concurrency: number;
}

function systemOn<C>({ backend, open, workers, concurrency }: Store<C>): Pick<System, "produce" | "work"> {
  const { Queue, Worker } = withBackend(backend);
  return {
    async produce(url, { connections }) {
      const { connection, close } = open(url, connections, 0);
      const queues = Array.from(
        { length: connections },
        () => new Queue<Input, void, "noop">(bench, { connection, defaultJobOptions }),
      );
      await Promise.all(queues.map((queue) => queue.waitUntilReady()));
      let turn = 0;
      const next = (): (typeof queues)[number] => queues[(turn += 1) % connections]!;
      return {
        add: (input) => next().add("noop", input),
        addMany: (inputs) => next().addBulk(inputs.map((data) => ({ name: "noop", data }))),
        async close() {
          await Promise.all(queues.map((queue) => queue.close()));
          await close();
        },
      };
    },

    async work(url, { queues = [bench], onJob }) {
      const names = queues.length === 1 ? Array.from({ length: workers }, () => queues[0]!) : queues;
      const { connection, close } = open(url, concurrency, names.length);
      const running = names.map(
        (queue) => new Worker<Input>(queue, async (job) => onJob(job.data), { connection, concurrency }),
      );
      const look = new Queue(queues[0]!, { connection });
      await Promise.all([look.waitUntilReady(), ...running.map((worker) => worker.waitUntilReady())]);
      return {
        isDrained: async () => (await look.getJobCountByTypes("wait", "active", "delayed", "prioritized")) === 0,
        async stop() {
          await Promise.all([look.close(), ...running.map((worker) => worker.close())]);
          await close();
        },
      };
    },
  };
}

/**
 * BullMQ on Redis, as a landmark outside PostgreSQL: it keeps its jobs in memory and, in this setup, may lose the last
 * second of them.
 *
 * - Redis as https://docs.bullmq.io/guide/going-to-production says: append-only file written every second, no eviction.
 * - `addBulk` stores a batch in one pipeline.
 * - Four workers with `concurrency: 25` in the one process: its guide on concurrency recommends several workers.
 *   Finishing a job fetches   the next one in the same script; there is no fetching of many, so more jobs at once are
 *   the only way to more speed.
 * - `removeOnComplete`: finished jobs are deleted at once, there is no history.
 */
export const bullmq: System = {
  ...systemOn({
    backend: createRedisBackend,
    open(url) {
      const { hostname, port } = new URL(url);
      return { connection: { host: hostname, port: Number(port), maxRetriesPerRequest: null }, close: async () => {} };
    },
    workers: 4,
    concurrency: 25,
  }),

  async setup() {},
};

/**
 * BullMQ on PostgreSQL, with what https://docs.bullmq.io/guide/postgresql has for speed:
 *
 * - `addBulk` stores a batch in one statement.
 * - `concurrency: 16`, and as many connections, as it wants; published there are 8 to 32. One statement finishes one
 *   job and fetches the next,   so every job is a transaction of its own. Tried were 8 to 100 at once, in one worker,
 *   two and four: one worker with 16 was the fastest   (1,040 jobs/s on a busy machine, where 1 x 8 made 809, 1 x 32
 *   906, 4 x 8 853 and 4 x 25 637).
 * - `removeOnComplete`: finished jobs are deleted at once, there is no history.
 * - `synchronous_commit` stays on, as for all systems, though the page offers to turn it off.
 *
 * A worker serves one queue and holds a connection to listen on, also when it is given a pool to share with others as
 * here: ten workers on a hundred queues hold a thousand.
 */
export const bullmqPostgres: System = {
  ...systemOn({
    backend: createPostgresBackend,
    open(url, connections, listeners) {
      const pool = new pg.Pool({
        connectionString: url,
        max: connections + listeners,
        options: "-c search_path=bullmq",
      });
      pool.setMaxListeners(0); // each worker adds its own
      return { connection: pool as PgPool, close: () => pool.end() };
    },
    workers: 1,
    concurrency: 16,
  }),

  claims: { pg, isClaim: (text) => text.includes("move_to_active(") || text.includes("move_to_completed_fetch(") },
  table: "bullmq.job",
  unique: { id: "'copy-' || n", seq: "nextval('bullmq.job_seq')" },

  async setup(url) {
    const pool = new pg.Pool({ connectionString: url });
    const client = await pool.connect();
    await runMigrations(client);
    client.release();
    await pool.end();
  },
};
