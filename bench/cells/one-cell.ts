import type pg from "pg";
import type { Millrace } from "../../src/client/with-workers.js";
import type { migrate } from "../../src/db/migrate.js";
import type { Engine } from "../../src/db/engine.js";
import { busyMs } from "../engine/processor.js";
import { newDatabase } from "./servers.js";

/** A release, as its index has it. */
export interface Release {
  readonly Millrace: typeof Millrace;
  readonly migrate: typeof migrate;
}

/** A client in a database of its own, on one connection. */
export interface Side {
  readonly mill: Millrace;
  /** Of the one backend. */
  readonly pid: number;
  close(): Promise<void>;
}

let databases = 0;

export async function openSide(
  url: string,
  release: Release,
  optionsOf: (pool: pg.Pool) => ConstructorParameters<typeof Millrace>[0],
): Promise<Side> {
  const pool = await newDatabase(url, `one_cell_${(databases += 1)}`, { max: 1, idleTimeoutMillis: 0 });
  await release.migrate(pool);
  const { rows } = await pool.query<{ pid: number }>("select pg_backend_pid() as pid");
  const mill = new release.Millrace(optionsOf(pool));
  return {
    mill,
    pid: rows[0]!.pid,
    async close() {
      await mill.close();
      await pool.end();
    },
  };
}

/** Processor time of the backend per job, in µs, for jobs that are enqueued, claimed and completed. */
export async function passCost(
  { mill, pid }: Side,
  batch: readonly Record<string, unknown>[],
  jobs: number,
): Promise<number> {
  const busy = busyMs(pid);
  for (let done = 0; done < jobs; done += batch.length) await mill.enqueueMany("noop", batch);
  const engine: Engine = mill.engine;
  for (let done = 0; done < jobs;) {
    const claimed = await engine.claim({ limit: batch.length, queues: ["default"] });
    const [first] = claimed;
    if (!first) throw new Error(`the queue is empty after ${done} of ${jobs} jobs`);
    await engine.completeMany(
      first.token,
      claimed.map(({ id }) => id),
    );
    done += claimed.length;
  }
  return ((busyMs(pid) - busy) / jobs) * 1000;
}
