import type { Millrace } from "../../client/millrace.js";
import type { Queryable } from "../../db/queryable.js";
import type { JobId, JobRecord, ListFilter } from "../../db/types.js";

/** A look back through the log of jobs goes on for about this long; then the answer says where to go on. */
const patienceMs = 1500;
/** One statement may take this long at most. */
const statementMs = 10_000;
const countedMost = 10_000;
const firstSpanMs = 60_000;
const beginning = Date.UTC(2020, 0, 1);

/** Jobs that match, newest first, and where to go on. It goes back in time by ever longer steps, so that a filter that matches little does not read the whole log in one go. */
export async function findJobs(
  mill: Millrace,
  filter: Omit<ListFilter, "before" | "limit">,
  page: { readonly limit: number; readonly before?: JobId | undefined },
): Promise<{ readonly items: JobRecord[]; readonly next?: string }> {
  const until = performance.now() + patienceMs;
  const now = (await mill.engine.schedules.now()).getTime();
  const items: JobRecord[] = [];
  const earliest = filter.createdFrom?.getTime() ?? beginning;
  let to = Math.min(filter.createdTo?.getTime() ?? Infinity, page.before === undefined ? now + 86_400_000 : createdMs(page.before) + 1);
  for (let spanMs = firstSpanMs; ; spanMs *= 8) {
    const from = spanMs > 90 * 86_400_000 ? earliest : Math.max(earliest, Math.min(to, now) - spanMs);
    const span = { ...filter, createdFrom: new Date(from), createdTo: new Date(to), limit: page.limit - items.length };
    items.push(...(await bounded(mill, (tx) => mill.engine.list({ ...span, ...(page.before === undefined ? {} : { before: page.before }) }, { tx }))));
    if (items.length >= page.limit) return { items, next: items.at(-1)!.id };
    if (from <= earliest) return { items };
    to = from;
    if (performance.now() > until) return { items, next: firstIdAt(from) };
  }
}

/** How many jobs match: exactly up to ten thousand, and as long as it does not take too long. */
export async function countJobs(mill: Millrace, filter: Omit<ListFilter, "before" | "limit"> & { readonly isLive?: boolean }): Promise<{ readonly count: number; readonly isExact: boolean }> {
  const until = performance.now() + patienceMs;
  const now = (await mill.engine.schedules.now()).getTime();
  const earliest = filter.createdFrom?.getTime() ?? beginning;
  let to = filter.createdTo?.getTime() ?? now + 86_400_000;
  let count = 0;
  for (let spanMs = firstSpanMs; ; spanMs *= 8) {
    const from = spanMs > 90 * 86_400_000 ? earliest : Math.max(earliest, Math.min(to, now) - spanMs);
    const most = countedMost - count;
    count += await bounded(mill, (tx) => mill.engine.countUpTo(most, { ...filter, createdFrom: new Date(from), createdTo: new Date(to) }, { tx }));
    if (count >= countedMost) return { count, isExact: false };
    if (from <= earliest) return { count, isExact: true };
    if (performance.now() > until) return { count, isExact: false };
    to = from;
  }
}

/** One statement with an end to waiting. */
async function bounded<T>(mill: Millrace, work: (tx: Queryable) => Promise<T>): Promise<T> {
  return mill.engine.transaction(async (tx) => {
    await tx.query({ text: "select set_config('statement_timeout', $1, true)", values: [String(statementMs)] });
    return work(tx);
  });
}

/** The time inside an id, and the lowest id of a time. */
const createdMs = (id: JobId): number => Math.floor(Number(BigInt(id) >> 12n) / 1000) + beginning;
const firstIdAt = (ms: number): string => String(BigInt(Math.max(0, Math.floor((ms - beginning) * 1000))) << 12n);
