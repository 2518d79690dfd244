import type { Site } from "../site.js";

/** A run of a job, as the cell that had it knows it. */
export interface Run {
  readonly job: string;
  readonly group: string | null;
  readonly startedAt: number;
  readonly finishedAt: number;
}

/** All runs of a queue in one cell, by their start. */
export async function runsIn(site: Site, queue: string): Promise<Run[]> {
  return site.sqlInTheEnd<Run & Record<string, unknown>>(
    `select a.job_id::text as job, j."group", extract(epoch from a.started_at)::float8 as "startedAt", extract(epoch from a.finished_at)::float8 as "finishedAt"
       from millrace.attempts a join millrace.jobs j on j.id = a.job_id where j.queue = $1 and a.started_at is not null order by a.started_at, a.job_id`,
    [queue],
  );
}

/** How many runs were under way at once, at most. */
export function mostAtOnce(runs: readonly Run[]): number {
  const changes = runs
    .flatMap(({ startedAt, finishedAt }) => [
      { at: startedAt, by: 1 },
      { at: finishedAt, by: -1 },
    ])
    .toSorted((a, b) => a.at - b.at || a.by - b.by);
  let [now, most] = [0, 0];
  for (const { by } of changes) most = Math.max(most, (now += by));
  return most;
}

/**
 * What is wrong with the order of groups whose jobs were run in one cell after another: runs that overlap, and jobs
 * that came before an earlier one.
 */
export function disorder(cells: readonly (readonly Run[])[]): { readonly overlaps: number; readonly early: number } {
  const runs = cells
    .flatMap((own, cell) => own.map((run) => ({ ...run, cell })))
    .toSorted((a, b) => a.startedAt - b.startedAt);
  const last = new Map<string | null, (typeof runs)[number]>();
  let [overlaps, early] = [0, 0];
  for (const run of runs) {
    const before = last.get(run.group);
    if (before && before.finishedAt > run.startedAt) overlaps += 1;
    if (before && (before.cell > run.cell || (before.cell === run.cell && BigInt(before.job) > BigInt(run.job))))
      early += 1;
    last.set(run.group, run);
  }
  return { overlaps, early };
}
