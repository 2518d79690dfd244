import type pg from "pg";
import type { Worker } from "../worker/worker.js";

/**
 * Looks in a row that must find nothing to run. A job that ends between the delivery of a look and its count lets
 * others go on that only the next look sees.
 */
export const looksUntilIdle = 3;

/**
 * How many jobs these workers could run now, or somebody runs. Those whose time has come count also while somebody
 * brings them in, whose transaction nobody sees yet.
 */
export async function jobsLeft(pool: pg.Pool, schema: string, workers: readonly Worker[]): Promise<number> {
  const { rows } = await pool.query<{ left: number }>(
    `select ((select coalesce(sum(l.waiting), 0) from "${schema}".lanes l
               where l.queue = any ($1) and l.type = any ($2))
           + (select count(*) from "${schema}".claims c where c.queue = any ($1) and c.type = any ($2))
           + (select count(*) from "${schema}".agenda a
                join "${schema}".lane l on l.key = a.lane
                join "${schema}".queue q on q.id = l.queue_id
               where q.name = any ($1) and l.type = any ($2) and a.chain is null
                 and a.due_at <= "${schema}".clock_now()))::int as left`,
    partsOf(workers),
  );
  return rows[0]!.left;
}

/** Milliseconds until something is due that these workers could run; null when nothing ever will be. */
export async function msUntilDue(pool: pg.Pool, schema: string, workers: readonly Worker[]): Promise<number | null> {
  const { rows } = await pool.query<{ ms: number | null }>(
    `select ceil(1000 * extract(epoch from min(a.due_at) - "${schema}".clock_now()))::float8 as ms
       from "${schema}".agenda a
       join "${schema}".lane l on l.key = a.lane
       join "${schema}".queue q on q.id = l.queue_id
      where q.name = any ($1) and l.type = any ($2) and a.due_at < 'infinity'`,
    partsOf(workers),
  );
  return rows[0]!.ms;
}

/**
 * End the leases of a queue's claims now, as those of a process that is gone end by themselves. Returns how many claims
 * there are: who takes them back passes over one that somebody has locked.
 */
export async function endLeases(pool: pg.Pool, schema: string, queue: string): Promise<number> {
  const { rowCount } = await pool.query(
    `update "${schema}".claim set until = "${schema}".clock_now()
      where lane in (select l.key from "${schema}".lane l
                       join "${schema}".queue q on q.id = l.queue_id where q.name = $1)`,
    [queue],
  );
  return rowCount ?? 0;
}

function partsOf(workers: readonly Worker[]): [queues: readonly string[], types: readonly string[]] {
  return [workers.flatMap((worker) => worker.settings.queues), workers.flatMap((worker) => worker.types)];
}
