import { Recent } from "./recent.js";
import { parseRecurrence, type RecurrenceParts } from "./rrule-parts.js";
import type { WallPattern } from "./wall-time.js";

const secondMs = 1000;
const minuteMs = 60_000;
const hourMs = 3_600_000;
const dayMs = 86_400_000;
/**
 * A rule that finds nothing for so long never will: the calendar's rarest day, a February 29 on a given weekday, comes
 * every 40 years at the latest.
 */
const horizonMs = 100 * 366 * dayMs;

export interface Recurrence extends WallPattern {
  /** The last instant, when the rule's UNTIL is in UTC. */
  readonly untilInstant: number | undefined;
}

const recent = new Recent<Recurrence>(5000, (key) => {
  const space = key.indexOf(" ");
  return recurrence(
    parseRecurrence(key.slice(space + 1)),
    Math.floor(Number(key.slice(0, space)) / secondMs) * secondMs,
  );
});

/**
 * The wall times of a recurrence rule (RFC 5545) that was checked, from an anchor in wall time.
 *
 * Where to look is worked out from the anchor, not counted up from it, so an anchor years ago costs nothing.
 */
export function recurrencePattern(text: string, anchor: number): Recurrence {
  return recent.get(`${anchor} ${text}`);
}

/** Whether a checked rule runs in every hour of its days, so that it should keep its rhythm when clocks change. */
export function recursEveryHour(text: string): boolean {
  const { freq, interval, byHour } = parseRecurrence(text);
  const unit = periodMs(freq);
  return unit !== undefined && byHour === undefined && interval * unit <= hourMs;
}

function recurrence(parts: RecurrenceParts, anchor: number): Recurrence {
  const all = periodMs(parts.freq) === undefined ? new ByDays(parts, anchor) : new ByTime(parts, anchor);
  const counted = parts.count === undefined ? all : new Counted(all, parts.count, anchor);
  return {
    untilInstant: parts.untilInstant,
    next(after) {
      const found = counted.next(Math.max(after, anchor - 1));
      return found === null || found > (parts.untilWall ?? Infinity) ? null : found;
    },
  };
}

/** The first so many of a pattern, from its anchor. */
class Counted implements WallPattern {
  readonly #found: number[] = [];

  constructor(
    readonly pattern: WallPattern,
    readonly count: number,
    readonly anchor: number,
  ) {}

  next(after: number): number | null {
    while (this.#found.length < this.count && (this.#found.at(-1) ?? -Infinity) <= after) {
      const next = this.pattern.next(this.#found.at(-1) ?? this.anchor - 1);
      if (next === null) break;
      this.#found.push(next);
    }
    return this.#found.find((wall) => wall > after) ?? null;
  }
}

/** YEARLY to DAILY: each period has days, each day has the same times. */
class ByDays implements WallPattern {
  readonly #parts: RecurrenceParts;
  readonly #anchorDay: number;
  readonly #times: readonly number[];

  constructor(parts: RecurrenceParts, anchor: number) {
    this.#anchorDay = Math.floor(anchor / dayMs);
    this.#parts = withAnchor(parts, this.#anchorDay);
    const time = anchor - this.#anchorDay * dayMs;
    this.#times = (parts.byHour ?? [Math.floor(time / hourMs)]).flatMap((hour) =>
      timesWithin(
        parts.byMinute ?? [Math.floor(time / minuteMs) % 60],
        parts.bySecond ?? [Math.floor(time / secondMs) % 60],
      ).map((ms) => hour * hourMs + ms),
    );
  }

  next(after: number): number | null {
    const today = Math.floor(after / dayMs);
    for (let period = this.#periodOf(today); ; period += 1) {
      const [first, end] = this.#period(period);
      if (!(first * dayMs <= after + horizonMs)) return null; // also when it lies beyond all dates
      const found = this.#parts.bySetPos
        ? this.#chosen(first, end, after)
        : this.#first(Math.max(first, today), end, after);
      if (found !== null) return found;
    }
  }

  #first(first: number, end: number, after: number): number | null {
    for (let day = first; day < end; day += 1) {
      if (!isDay(this.#parts, day)) continue;
      const time = this.#times.find((ms) => day * dayMs + ms > after);
      if (time !== undefined) return day * dayMs + time;
    }
    return null;
  }

  /** BYSETPOS counts all times of the period's days, from 1 or, from the end, from -1. */
  #chosen(first: number, end: number, after: number): number | null {
    const days: number[] = [];
    for (let day = first; day < end; day += 1) if (isDay(this.#parts, day)) days.push(day);
    const perDay = this.#times.length;
    const walls = places(this.#parts.bySetPos!, days.length * perDay).map(
      (place) => days[Math.floor(place / perDay)]! * dayMs + this.#times[place % perDay]!,
    );
    return walls.find((wall) => wall > after) ?? null;
  }

  /**
   * The number of the period, counted from the anchor's in steps of the interval, that holds a day; or the last before
   * it.
   */
  #periodOf(day: number): number {
    const { freq, interval } = this.#parts;
    const [now, then] = [fieldsOf(day), fieldsOf(this.#anchorDay)];
    const since =
      freq === "YEARLY"
        ? now.year - then.year
        : freq === "MONTHLY"
          ? (now.year - then.year) * 12 + now.month - then.month
          : freq === "WEEKLY"
            ? (this.#weekStart(day) - this.#weekStart(this.#anchorDay)) / 7
            : day - this.#anchorDay;
    return Math.max(0, Math.floor(since / interval));
  }

  /** The first day of a period, and the first after it. */
  #period(number: number): [number, number] {
    const { freq, interval } = this.#parts;
    const { year, month } = fieldsOf(this.#anchorDay);
    const steps = number * interval;
    if (freq === "YEARLY") return [dayOf(year + steps, 1, 1), dayOf(year + steps + 1, 1, 1)];
    if (freq === "MONTHLY") return [dayOf(year, month + steps, 1), dayOf(year, month + steps + 1, 1)];
    const first = freq === "WEEKLY" ? this.#weekStart(this.#anchorDay) + steps * 7 : this.#anchorDay + steps;
    return [first, first + (freq === "WEEKLY" ? 7 : 1)];
  }

  #weekStart(day: number): number {
    return day - modulo(weekdayOf(day) - this.#parts.weekStart, 7);
  }
}

/** HOURLY to SECONDLY: periods of a fixed length, of which some are left out. */
class ByTime implements WallPattern {
  readonly #parts: RecurrenceParts;
  readonly #base: number;
  readonly #step: number;
  /** The times within each period. */
  readonly #times: readonly number[];

  constructor(parts: RecurrenceParts, anchor: number) {
    const unit = periodMs(parts.freq)!;
    this.#parts = parts;
    this.#base = Math.floor(anchor / unit) * unit;
    this.#step = unit * parts.interval;
    const minutes = unit < hourMs ? [0] : (parts.byMinute ?? [Math.floor(anchor / minuteMs) % 60]);
    const seconds = unit < minuteMs ? [0] : (parts.bySecond ?? [Math.floor(anchor / secondMs) % 60]);
    const times = timesWithin(minutes, seconds);
    this.#times = parts.bySetPos ? places(parts.bySetPos, times.length).map((place) => times[place]!) : times;
  }

  next(after: number): number | null {
    if (this.#times.length === 0) return null;
    let start = this.#base + Math.max(0, Math.floor((after - this.#base) / this.#step)) * this.#step;
    // Every turn leaves out a minute at least. The longest search worth its time: some hundred milliseconds.
    for (let turn = 0; turn < 1_000_000 && start <= after + horizonMs; turn += 1) {
      const resume = this.#leftOutUntil(start);
      if (resume === undefined) {
        const time = this.#times.find((ms) => start + ms > after);
        if (time !== undefined) return start + time;
      }
      start = this.#base + Math.ceil(((resume ?? start + this.#step) - this.#base) / this.#step) * this.#step;
    }
    return null;
  }

  /** For a period that is left out, the next wall time worth looking at. */
  #leftOutUntil(start: number): number | undefined {
    const { freq, byHour, byMinute, bySecond } = this.#parts;
    const day = Math.floor(start / dayMs);
    const leaves = (by: readonly number[] | undefined, unit: number, of: number): boolean =>
      by !== undefined && !by.includes(Math.floor(start / unit) % of);
    if (!isDay(this.#parts, day)) return (day + 1) * dayMs;
    if (leaves(byHour, hourMs, 24)) return (Math.floor(start / hourMs) + 1) * hourMs;
    if (freq !== "HOURLY" && leaves(byMinute, minuteMs, 60)) return (Math.floor(start / minuteMs) + 1) * minuteMs;
    if (freq === "SECONDLY" && leaves(bySecond, secondMs, 60)) return start + secondMs;
    return undefined;
  }
}

/** What the rule does not say about its days comes from the anchor. */
function withAnchor(parts: RecurrenceParts, anchorDay: number): RecurrenceParts {
  const { freq, byMonth, byWeekNo, byYearDay, byMonthDay, byDay } = parts;
  const { month, dayOfMonth } = fieldsOf(anchorDay);
  if (byYearDay || byMonthDay || byDay || freq === "DAILY") return parts;
  if (freq === "WEEKLY" || byWeekNo) return { ...parts, byDay: [{ weekday: weekdayOf(anchorDay), nth: 0 }] };
  if (freq === "MONTHLY" || byMonth) return { ...parts, byMonthDay: [dayOfMonth] };
  return { ...parts, byMonth: [month], byMonthDay: [dayOfMonth] };
}

/** Whether a day passes all parts that speak of days. */
function isDay(parts: RecurrenceParts, day: number): boolean {
  const { byMonth, byWeekNo, byYearDay, byMonthDay, byDay } = parts;
  if (!(byMonth || byWeekNo || byYearDay || byMonthDay || byDay)) return true;
  const { year, month, dayOfMonth } = fieldsOf(day);
  if (byMonth && !byMonth.includes(month)) return false;
  if (byMonthDay && !isPlace(byMonthDay, dayOfMonth, monthLength(year, month))) return false;
  if (byYearDay && !isPlace(byYearDay, day - dayOf(year, 1, 1) + 1, yearLength(year))) return false;
  if (byWeekNo && !isPlace(byWeekNo, ...weekOf(day, parts.weekStart))) return false;
  if (!byDay) return true;
  const weekday = weekdayOf(day);
  const ofMonth = parts.freq === "MONTHLY" || byMonth !== undefined;
  const [place, length] = ofMonth
    ? [dayOfMonth, monthLength(year, month)]
    : [day - dayOf(year, 1, 1) + 1, yearLength(year)];
  return byDay.some(
    (by) =>
      by.weekday === weekday &&
      (by.nth === 0 ||
        (by.nth > 0 ? Math.ceil(place / 7) === by.nth : Math.ceil((length - place + 1) / 7) === -by.nth)),
  );
}

/**
 * The number of a day's week and how many weeks that year has. The first week is the first with four days of the year.
 */
function weekOf(day: number, weekStart: number): [number, number] {
  const firstWeek = (year: number): number => {
    const fourth = dayOf(year, 1, 4);
    return fourth - modulo(weekdayOf(fourth) - weekStart, 7);
  };
  const around = fieldsOf(day).year;
  const year = day < firstWeek(around) ? around - 1 : day >= firstWeek(around + 1) ? around + 1 : around;
  return [Math.floor((day - firstWeek(year)) / 7) + 1, (firstWeek(year + 1) - firstWeek(year)) / 7];
}

/** Whether a place, counted from 1, is listed, counted from either end. */
function isPlace(listed: readonly number[], place: number, length: number): boolean {
  return listed.includes(place) || listed.includes(place - length - 1);
}

/** The listed places among `length`, from 0, in order. */
function places(listed: readonly number[], length: number): number[] {
  const found = listed
    .map((place) => (place > 0 ? place - 1 : length + place))
    .filter((place) => place >= 0 && place < length);
  return [...new Set(found)].toSorted((a, b) => a - b);
}

function timesWithin(minutes: readonly number[], seconds: readonly number[]): number[] {
  return minutes.flatMap((minute) => seconds.map((second) => minute * minuteMs + second * secondMs));
}

function periodMs(freq: RecurrenceParts["freq"]): number | undefined {
  return freq === "HOURLY" ? hourMs : freq === "MINUTELY" ? minuteMs : freq === "SECONDLY" ? secondMs : undefined;
}

function fieldsOf(day: number): { year: number; month: number; dayOfMonth: number } {
  const date = new Date(day * dayMs);
  return { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, dayOfMonth: date.getUTCDate() };
}

/** Days since 1970-01-01; months beyond 12 are of later years. */
function dayOf(year: number, month: number, dayOfMonth: number): number {
  return Date.UTC(year, month - 1, dayOfMonth) / dayMs;
}

function monthLength(year: number, month: number): number {
  return dayOf(year, month + 1, 1) - dayOf(year, month, 1);
}

function yearLength(year: number): number {
  return dayOf(year + 1, 1, 1) - dayOf(year, 1, 1);
}

/** 0 (Monday) to 6; 1970-01-01 was a Thursday. */
function weekdayOf(day: number): number {
  return modulo(day + 3, 7);
}

function modulo(a: number, n: number): number {
  return ((a % n) + n) % n;
}
