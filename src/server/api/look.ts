import type { FindFilter, JobId, JobRecord } from "../../db/types.js";
import type { Call } from "./route.js";

/** Counting goes no further than this. */
const countedMost = 10_000;
/** A page has no more than this, so that jobs with large inputs make more pages and not larger ones. */
export const pageBytes = 8_388_608;

type Looking = Pick<Call, "mill" | "looks">;
export type JobFilter = Omit<FindFilter, "before" | "limit" | "seconds">;

/**
 * Jobs that match, newest first, and where to go on. A look takes two seconds at most, so that a page may be short, or
 * empty, and have a next one.
 */
export async function findJobs(
  { mill: { engine }, looks }: Looking,
  filter: JobFilter,
  {
    limit,
    before,
    isBrief,
  }: { readonly limit: number; readonly before?: JobId | undefined; readonly isBrief?: boolean | undefined },
): Promise<{ readonly items: readonly JobRecord[]; readonly next?: string }> {
  const { ids, next } = await looks(() =>
    engine.server.find({ ...filter, limit, ...(before === undefined ? {} : { before }) }),
  );
  if (isBrief) {
    const found = ids.length === 0 ? [] : await engine.server.briefByIds(ids);
    return { items: found, ...(next === null ? {} : { next }) };
  }
  const items = ids.length === 0 ? [] : await engine.server.byIds(ids, pageBytes);
  const last = items.at(-1)?.id;
  if (last !== undefined && last !== ids.at(-1)) return { items, next: last };
  return { items, ...(next === null ? {} : { next }) };
}

/** How many jobs match: exactly up to ten thousand, as long as that takes two seconds at most. */
export async function countJobs(
  { mill: { engine }, looks }: Looking,
  filter: JobFilter,
): Promise<{ readonly count: number; readonly isExact: boolean }> {
  const { ids, next } = await looks(() => engine.server.find({ ...filter, limit: countedMost }));
  return { count: ids.length, isExact: next === null };
}
