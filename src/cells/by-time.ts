import type { Cell } from "./cell.js";
import { labelled } from "./ways.js";

interface Entry {
  readonly id: string;
  readonly at: Date;
}

/** Where a page of a cell begins: before one of its own entries, or before a time. */
export interface PageStart {
  readonly before?: string;
  readonly until?: Date;
}

/**
 * What was noted in several cells, newest first. The `id` of an entry is its place among all of them: its time, its
 * cell, and its number there.
 */
export async function newestOfAll<T extends Entry>(
  { before, limit = 100 }: { readonly before?: string | undefined; readonly limit?: number | undefined },
  ask: (one: (cell: Cell) => PageStart) => Promise<readonly { readonly cell: Cell; readonly answer: readonly T[] }[]>,
): Promise<(T & { readonly cell: string })[]> {
  const last = before === undefined ? undefined : placeOf(before);
  // entries of one millisecond may be in several cells: those that were shown are left out below
  const found = await ask(({ name }) =>
    last === undefined ? {} : name === last.cell ? { before: last.id } : { until: new Date(last.ms + 1) },
  );
  const entries = labelled(found).map((entry) => ({ ...entry, id: `${entry.at.getTime()}:${entry.cell}:${entry.id}` }));
  return entries
    .filter(({ at, cell }) => last === undefined || at.getTime() < last.ms || cell >= last.cell)
    .toSorted((a, b) => comparePlaces(placeOf(a.id), placeOf(b.id)))
    .slice(0, limit);
}

interface Place {
  readonly ms: number;
  readonly cell: string;
  readonly id: string;
}

function placeOf(id: string): Place {
  const [ms = "", cell = "", own = ""] = id.split(":");
  return { ms: Number(ms), cell, id: own };
}

function comparePlaces(a: Place, b: Place): number {
  if (a.ms !== b.ms) return b.ms - a.ms;
  if (a.cell !== b.cell) return a.cell < b.cell ? -1 : 1;
  return BigInt(a.id) < BigInt(b.id) ? 1 : -1;
}
