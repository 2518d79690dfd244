import { InvalidArgumentError } from "../db/errors.js";
import type { Zone } from "./zone.js";

const dayMs = 86_400_000;
const remedy = 'give days such as "2026-12-25", or the first and the last of several, "2026-12-24/2027-01-01"';

/** Days since 1970-01-01. */
type Range = readonly [first: number, last: number];

/** Days on which a schedule has no slots. */
export class BlockedDays {
  /** In order, none touching another, so that a day is found without walking along all of them. */
  readonly #ranges: readonly Range[];
  readonly #days: ReadonlySet<string>;

  /** `except` as the rule has it, checked; `days` are the dates of named calendars. */
  constructor(except: readonly string[], days: ReadonlySet<string>) {
    this.#ranges = merged(except.map(parseRange));
    this.#days = days;
  }

  /** The first instant, not before this one, that lies on a day which is not blocked. */
  firstFree(instant: number, zone: Zone): number {
    if (this.#ranges.length === 0 && this.#days.size === 0) return instant;
    let free = instant;
    for (;;) {
      const today = Math.floor(zone.wall(free) / dayMs);
      let day = today;
      for (let next = this.#after(day); next !== day; next = this.#after(day)) day = next;
      if (day === today) return free;
      // Clocks that go back over midnight enter the day before again, which may be free.
      const { end, offset, offsetAfter } = zone.at(free);
      const backToYesterday = end + offsetAfter < today * dayMs && end + offset < day * dayMs;
      free = backToYesterday ? end : zone.firstAtWall(free, day * dayMs);
    }
  }

  /** The day after those that block this one, or this one. */
  #after(day: number): number {
    const range = this.#ranges[this.#lastFrom(day)];
    if (range && day <= range[1]) return range[1] + 1;
    return this.#days.size > 0 && this.#days.has(dateOf(day)) ? day + 1 : day;
  }

  /** Where the last range is that begins on a day or before; -1 when none does. */
  #lastFrom(day: number): number {
    let low = 0;
    let high = this.#ranges.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#ranges[middle]![0] <= day) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
}

function merged(ranges: readonly Range[]): Range[] {
  const result: [number, number][] = [];
  for (const [first, last] of ranges.toSorted(([a], [b]) => a - b)) {
    const before = result.at(-1);
    if (before && first <= before[1] + 1) before[1] = Math.max(before[1], last);
    else result.push([first, last]);
  }
  return result;
}

/** Refuse what is not a list of days. */
export function checkExcept(input: unknown): readonly string[] {
  if (!Array.isArray(input)) throw new InvalidArgumentError("except is not a list", remedy);
  if (input.length > 10_000)
    throw new InvalidArgumentError(
      `except has ${input.length} entries; 10,000 is the most`,
      "join neighbouring days into ranges",
    );
  for (const entry of input) parseRange(entry);
  return Object.freeze([...(input as string[])]);
}

function parseRange(entry: unknown): [number, number] {
  const [first, last = first, ...more] = typeof entry === "string" ? entry.split("/").map(dayOf) : [];
  if (first === undefined || last === undefined || Number.isNaN(first + last) || more.length > 0) {
    throw new InvalidArgumentError(`except has ${JSON.stringify(entry)}, which is no day`, remedy);
  }
  if (last < first)
    throw new InvalidArgumentError(
      `except has ${JSON.stringify(entry)}, which ends before it begins`,
      "give the earlier day first",
    );
  return [first, last];
}

/** Days since 1970-01-01, or NaN for what is not on the calendar. */
function dayOf(date: string): number {
  const ms = /^\d{4}-\d\d-\d\d$/.test(date) ? Date.parse(date) : Number.NaN;
  return Number.isNaN(ms) || dateOf(ms / dayMs) !== date ? Number.NaN : ms / dayMs;
}

function dateOf(day: number): string {
  return new Date(day * dayMs).toISOString().slice(0, 10);
}
