import type { Site } from "./site.js";
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
  const books = await Promise.all(world.sites.map((site) => read(site, world)));
  const sum = (key: "jobs" | "lost" | "twice" | "repeated"): number =>
    books.reduce((total, book) => total + book[key], 0);
  return {
    jobs: sum("jobs"),
    lost: sum("lost"),
    twice: sum("twice"),
    repeated: sum("repeated"),
    recoverySeconds: longestGap(books.flatMap(({ starts }) => starts)),
  };
}

/** The books of one server, on the jobs that it has. */
async function read(
  site: Site,
  world: World,
): Promise<Record<"jobs" | "lost" | "twice" | "repeated", number> & { readonly starts: readonly number[] }> {
  const [row] = await site.sqlInTheEnd<{
    jobs: number;
    lost: number;
    ended_twice: number;
    ledger_twice: number;
    undone_ran: number;
    repeated: number;
    starts: number[];
  }>(
    `select (select count(*)::int from millrace.jobs) as jobs,
            (select count(*)::int from unnest($1::bigint[]) id left join millrace.jobs j using (id) where j.state is distinct from 'succeeded') as lost,
            (select count(*)::int from (select job_id from millrace.attempts where final_state is not null group by job_id having count(*) > 1) x) as ended_twice,
            (select count(*)::int from (select job from chaos.ledger group by job having count(*) > 1) x)
              + (select count(*)::int from millrace.jobs j where j.type = 'exact' and j.state = 'succeeded' and not exists (select from chaos.ledger l where l.job = j.id)) as ledger_twice,
            (select count(*)::int from unnest($2::bigint[]) id where exists (select from chaos.effect e where e.job = id)) as undone_ran,
            (select (count(*) - count(distinct job))::int from chaos.effect) as repeated,
            (select coalesce(array_agg(extract(epoch from at)::float8), '{}') from chaos.effect) as starts`,
    [idsIn(site, world.acknowledged), idsIn(site, world.undone)],
  );
  if (!row) throw new Error("the books could not be read");
  const { jobs, lost, repeated, starts } = row;
  return { jobs, lost, repeated, starts, twice: row.ended_twice + row.ledger_twice + row.undone_ran };
}

/** Of these jobs the ids of those that a server has. */
export function idsIn({ name }: Site, handles: Iterable<string>): string[] {
  const prefix = name === "" ? "" : `${name}:`;
  return [...handles].filter((id) => id.startsWith(prefix)).map((id) => id.slice(prefix.length));
}

function longestGap(times: readonly number[]): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted.reduce((longest, time, i) => Math.max(longest, time - (sorted[i - 1] ?? time)), 0);
}
