import type { FindFilter, Found, JobId, JobRecord, Reason } from "../../db/types.js";
import { whyText } from "../../db/why-text.js";
import { inCellOf } from "./over-cells.js";
import type { Call } from "./route.js";

/** One look counts so many at most. */
const countedMost = 10_000;
/** A page has no more than this, so that jobs with large inputs make more pages and not larger ones. */
export const pageBytes = 8_388_608;

/** One look, in the cell that the filter names, or in all. */
export function look(
  { mill, looks }: Looking,
  { cell, ...filter }: JobFilter,
  page: Pick<FindFilter, "before" | "limit">,
): Promise<Found> {
  return inCellOf(mill, cell, () => looks(() => mill.engine.server.find({ ...filter, ...page })));
}

type Looking = Pick<Call, "mill" | "looks">;
/** Which jobs; with several cells, of all or of one. */
export type JobFilter = Omit<FindFilter, "before" | "limit" | "seconds"> & { readonly cell?: string };

/**
 * Jobs that match, newest first, and where to go on. A look takes two seconds at most, so that a page may be short, or
 * empty, and have a next one.
 */
export async function findJobs(
  looking: Looking,
  filter: JobFilter,
  {
    limit,
    before,
    isBrief,
  }: { readonly limit: number; readonly before?: JobId | undefined; readonly isBrief?: boolean | undefined },
): Promise<{ readonly items: readonly JobRecord[]; readonly next?: string }> {
  const { engine } = looking.mill;
  const { ids, next } = await look(looking, filter, { limit, ...(before === undefined ? {} : { before }) });
  if (isBrief) {
    const found = ids.length === 0 ? [] : await engine.server.briefByIds(ids);
    return { items: found, ...(next === null ? {} : { next }) };
  }
  const items = ids.length === 0 ? [] : await engine.server.byIds(ids, pageBytes);
  const last = items.at(-1)?.id;
  if (last !== undefined && last !== ids.at(-1)) return { items, next: last };
  return { items, ...(next === null ? {} : { next }) };
}

/**
 * How many jobs match, before `before` where it is given, as far as one look gets: ten thousand or two seconds. It may
 * have found none yet; `next` is where to go on, and null when that was all.
 */
export async function countJobs(
  looking: Looking,
  filter: JobFilter,
  before?: JobId,
): Promise<{ readonly count: number; readonly isExact: boolean; readonly next: JobId | null }> {
  const { ids, next } = await look(looking, filter, {
    limit: countedMost,
    ...(before === undefined ? {} : { before }),
  });
  return { count: ids.length, isExact: next === null, next };
}

/** Reasons for waiting with their words. */
export function toldReasons(reasons: readonly Reason[]): (Reason & { readonly text: string })[] {
  return reasons.map((reason) => ({ ...reason, text: whyText(reason) }));
}
