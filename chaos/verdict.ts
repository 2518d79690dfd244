import type { World } from "./world.js";

/** What became of a scenario's jobs. */
export interface Verdict {
  readonly jobs: number;
  /** Confirmed, and not succeeded in the end. Must be 0. */
  readonly lost: number;
  /** With more than one final outcome, or more than one row in the ledger; undone ones that ran. Must be 0. */
  readonly twice: number;
  /** Executions beyond the first of each job. */
  readonly repeated: number;
  /** The longest time in which nothing ran while jobs were waiting. */
  readonly recoverySeconds: number;
}

/** Read the books after everything has ended. */
export async function judge(world: World): Promise<Verdict> {
  const ids = [...world.acknowledged];
  const [row] = await world.sqlInTheEnd<{
    jobs: number;
    lost: number;
    ended_twice: number;
    ledger_twice: number;
    undone_ran: number;
    repeated: number;
    gap: number;
  }>(
    `select (select count(*)::int from millrace.jobs) as jobs,
            (select count(*)::int from unnest($1::bigint[]) id left join millrace.jobs j using (id) where j.state is distinct from 'succeeded') as lost,
            (select count(*)::int from (select job_id from millrace.attempts where final_state is not null group by job_id having count(*) > 1) x) as ended_twice,
            (select count(*)::int from (select job from chaos.ledger group by job having count(*) > 1) x)
              + (select count(*)::int from millrace.jobs j where j.type = 'exact' and j.state = 'succeeded' and not exists (select from chaos.ledger l where l.job = j.id)) as ledger_twice,
            (select count(*)::int from unnest($2::bigint[]) id where exists (select from chaos.effect e where e.job = id)) as undone_ran,
            (select (count(*) - count(distinct job))::int from chaos.effect) as repeated,
            (select coalesce(max(gap), 0)::float8 from (select extract(epoch from at - lag(at) over (order by at)) as gap from chaos.effect) g) as gap`,
    [ids, [...world.undone]],
  );
  if (!row) throw new Error("the books could not be read");
  return {
    jobs: row.jobs,
    lost: row.lost,
    twice: row.ended_twice + row.ledger_twice + row.undone_ran,
    repeated: row.repeated,
    recoverySeconds: row.gap,
  };
}
