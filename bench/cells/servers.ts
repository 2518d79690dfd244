import pg from "pg";
import { Millrace } from "../../src/client/with-workers.js";
import { migrate } from "../../src/db/migrate.js";
import type { EmbeddedServer } from "../../src/embedded/server.js";
import { defineJob } from "../../src/job/define-job.js";
import { cpuOfChildren } from "../engine/processor.js";

const noop = defineJob("noop");

/** A cell in a new database on each server. */
export async function newCells(urls: readonly string[], database: string): Promise<Record<string, string>> {
  const own: string[] = [];
  for (const url of urls) {
    const pool = await newDatabase(url, database, { max: 1 });
    await migrate(pool);
    await pool.end();
    own.push(pool.options.connectionString!);
  }
  return Object.fromEntries(own.map((url, n) => [`cell-${n}`, url]));
}

/** Connections to a new database on a server. */
export async function newDatabase(url: string, name: string, options: pg.PoolConfig): Promise<pg.Pool> {
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  await admin.query(`create database ${name}`);
  await admin.end();
  const own = new URL(url);
  own.pathname = `/${name}`;
  const pool = new pg.Pool({ ...options, connectionString: own.href });
  pool.on("error", () => {});
  return pool;
}

/** A new queue in a cell: one of the names that the list gives to it. */
export async function queueIn(mill: Millrace, cell: string): Promise<string> {
  for (let n = 0; ; n += 1) {
    const queue = `work-${n}`;
    if (mill.cells && (await mill.cells.whereIs(queue)) !== cell) continue;
    await mill.queues.put(queue);
    return queue;
  }
}

/** Some servers with a cell on each, and a queue in each cell. */
export class Spread {
  private constructor(
    readonly mill: Millrace,
    readonly servers: readonly EmbeddedServer[],
    readonly queues: readonly string[],
  ) {}

  static async open(servers: readonly EmbeddedServer[]): Promise<Spread> {
    const urls = servers.map(({ url }) => url);
    const cells = await newCells(urls, `over_${servers.length}`);
    const mill = new Millrace({ cells, logger: false });
    const queues: string[] = [];
    for (const name of Object.keys(cells)) queues.push(await queueIn(mill, name));
    return new Spread(mill, servers, queues);
  }

  /**
   * As many jobs for each server, enqueued in batches and drained by one worker over all of them. The processor time
   * of the servers per job, in µs, and jobs per second.
   */
  async run(jobs: number, batch: readonly unknown[]): Promise<{ cpuMicros: number; perSecond: number }> {
    const all = jobs * this.servers.length;
    let done = 0;
    let finish: () => void;
    const finished = new Promise<void>((resolve) => (finish = resolve));
    const worker = this.mill.worker({ queues: [...this.queues], concurrency: 100 });
    worker.handle(noop, () => {
      if ((done += 1) === all) finish();
    });
    const [before, since] = [this.#busy(), performance.now()];
    const put = async (queue: string): Promise<void> => {
      for (let n = 0; n < jobs; n += batch.length)
        await this.mill.enqueueMany(noop, batch.slice(0, jobs - n), { queue });
    };
    await Promise.all(this.queues.map(put));
    await worker.start();
    await finished;
    await worker.stop(); // outcomes that are on their way count too
    const [after, until] = [this.#busy(), performance.now()];
    return { cpuMicros: ((after - before) / all) * 1e6, perSecond: (all / (until - since)) * 1000 };
  }

  #busy(): number {
    return this.servers.reduce((sum, { pid }) => sum + cpuOfChildren(pid), 0);
  }

  close(): Promise<void> {
    return this.mill.close();
  }
}
