import { InvalidArgumentError } from "../db/errors.js";
import type { Zone } from "./zone.js";

const dayMs = 86_400_000;
const remedy = 'give days such as "2026-12-25", or the first and the last of several, "2026-12-24/2027-01-01"';

/** Days on which a schedule has no slots. */
export class BlockedDays {
  readonly #ranges: readonly (readonly [first: number, last: number])[];
  readonly #days: ReadonlySet<string>;

  /** `except` as the rule has it, checked; `days` are the dates of named calendars. */
  constructor(except: readonly string[], days: ReadonlySet<string>) {
    this.#ranges = except.map(parseRange);
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
    const range = this.#ranges.find(([first, last]) => first <= day && day <= last);
    if (range) return range[1] + 1;
    return this.#days.size > 0 && this.#days.has(dateOf(day)) ? day + 1 : day;
  }
}

/** Refuse what is not a list of days. */
export function checkExcept(input: unknown): readonly string[] {
  if (!Array.isArray(input)) throw new InvalidArgumentError("except is not a list", remedy);
  if (input.length > 10_000) throw new InvalidArgumentError(`except has ${input.length} entries; 10,000 is the most`, "join neighbouring days into ranges");
  for (const entry of input) parseRange(entry);
  return Object.freeze([...(input as string[])]);
}

function parseRange(entry: unknown): [number, number] {
  const [first, last = first, ...more] = typeof entry === "string" ? entry.split("/").map(dayOf) : [];
  if (first === undefined || last === undefined || Number.isNaN(first + last) || more.length > 0) {
    throw new InvalidArgumentError(`except has ${JSON.stringify(entry)}, which is no day`, remedy);
  }
  if (last < first) throw new InvalidArgumentError(`except has ${JSON.stringify(entry)}, which ends before it begins`, "give the earlier day first");
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
