import type pg from "pg";
import type { Engine } from "../../src/db/engine.js";

/**
 * What is wrong after everything was drained: jobs that have not ended, or not exactly once; a depth that is not zero.
 */
export async function openEnds(pool: pg.Pool, engine: Engine, queues: readonly string[]): Promise<string[]> {
  const { rows } = await pool.query<{ what: string; jobs: number }>(`
    select 'ended ' || n || ' times' as what, count(*)::int as jobs from (
      select (select count(*) from millrace.attempt a where a.slot = j.slot and a.job_id = j.id and a.state is not null)
           + (select count(*) from millrace.streak s where s.slot = j.slot and s.first_place <= p.place and s.first_place + s.length > p.place)
           + (select count(*) from millrace.amendment m where m.slot = j.slot and m.job_id = j.id and m.closed_at is not null) as n
        from millrace.job j cross join lateral (select millrace.job_place(j.id) as place offset 0) p) x
     where n <> 1 group by n
    union all select 'is still ' || state, count(*)::int from millrace.jobs where state in ('ready', 'delayed', 'running', 'blocked') group by state`);
  const findings = rows.map(({ what, jobs }) => `${jobs} jobs: ${what}`);
  for (const queue of queues) {
    const depth = await engine.queueDepth(queue);
    if (depth.ready + depth.delayed + depth.running !== 0)
      findings.push(`depth of ${queue} says ${JSON.stringify(depth)}`);
  }
  return findings;
}

/** A connection that went away, or a server that does not run. A wait that took too long is something else. */
export function isDisconnect(error: unknown): boolean {
  const { code, message } = error as { code?: string; message: string };
  if (/timeout/i.test(message)) return false;
  return (
    /^(MR009|57P0.|ECONN.*|EPIPE)$/.test(code ?? "") || /Connection terminated|not queryable|ECONNRESET/.test(message)
  );
}
