import { BlockedDays } from "./blocked-days.js";
import { cronPattern } from "./cron.js";
import { calendarPattern, nextInterval } from "./interval.js";
import { recurrencePattern } from "./rrule.js";
import type { DaylightSaving, Rule } from "./rule.js";
import { nextInstant, type WallPattern } from "./wall-time.js";
import { Zone } from "./zone.js";

/** The end of the year 9999: later than any slot. */
export const lastInstant = Date.UTC(10_000, 0, 1) - 1;

/** What a rule does not say itself. */
export interface SlotsContext {
  /** When the schedule was made, in epoch milliseconds: intervals without an anchor count from it. */
  readonly createdAt: number;
  /** Dates such as `"2026-12-25"`, in the rule's zone, on which there are no slots, besides the rule's own `except`. */
  readonly blocked?: ReadonlySet<string>;
}

/**
 * The slots of a rule: the instants at which it is due, in epoch milliseconds, strictly increasing.
 *
 * A rule with `after` has no slots of its own: each comes from the end of the run before. It knows the next one only,
 * counted from what is passed.
 *
 * @example
 * ```ts
 * const slots = new Slots(parseRule({ cron: "0 3 * * *", tz: "Europe/Berlin" }), { createdAt });
 * slots.next(now); // tonight at three in Berlin
 * ```
 */
export class Slots {
  readonly #due: (after: number) => number | null;
  readonly #zone: Zone;
  readonly #blocked: BlockedDays;
  readonly #from: number;
  readonly #createdAt: number;
  readonly #chained: boolean;
  #end: number;

  constructor(
    readonly rule: Rule,
    { createdAt, blocked = new Set() }: SlotsContext,
  ) {
    this.#createdAt = Math.floor(createdAt); // the database counts microseconds
    this.#zone = Zone.of(rule.tz);
    this.#blocked = new BlockedDays(rule.except ?? [], blocked);
    this.#from = rule.startsAt === undefined ? 0 : Date.parse(rule.startsAt);
    this.#end = rule.endsAt === undefined ? lastInstant + 1 : Date.parse(rule.endsAt);
    this.#chained = "after" in rule;
    this.#due = this.#dueOf(rule);
  }

  /** The first slot strictly after an instant; null when there is none, ever. */
  next(after: number): number | null {
    let from = Math.max(Math.floor(after), this.#from - 1);
    while (from < this.#end) {
      const slot = this.#due(from);
      if (slot === null || slot >= this.#end) return null;
      const free = this.#blocked.firstFree(slot, this.#zone);
      if (free === slot) return slot;
      // there is no rhythm to fall back into: as soon as the day allows
      if (this.#chained) return free < this.#end ? free : null;
      from = free - 1;
    }
    return null;
  }

  /** The first `limit` slots after `from`, up to and including `to`. */
  between(from: number, to: number, limit: number): number[] {
    const slots: number[] = [];
    const most = this.#chained ? Math.min(limit, 1) : limit;
    for (let slot = this.next(from); slot !== null && slot <= to && slots.length < most; slot = this.next(slot))
      slots.push(slot);
    return slots;
  }

  /** How many slots there are after `from`, up to and including `to`; `most` when there are more. */
  count(from: number, to: number, most: number): number {
    if (this.#chained) return this.between(from, to, most).length;
    let count = 0;
    for (let slot = this.next(from); slot !== null && slot <= to && count < most; slot = this.next(slot)) count += 1;
    return count;
  }

  /**
   * The last `limit` slots after `from`, up to and including `to`, in ascending order.
   *
   * Looks back from `to` in spans that grow until they hold enough, and are halved when they hold too many: the cost
   * depends on `limit`, not on how many slots there are.
   */
  latest(from: number, to: number, limit: number): number[] {
    if (this.#chained) return this.between(from, to, limit);
    const start = Math.max(from, this.#from - 1);
    let found: number[] = [];
    let high = Math.min(to, this.#end - 1);
    let span = 1000 * limit;
    let growing = true; // until a span has held more than we want: what is missing lies within it
    while (high > start && found.length < limit) {
      const low = Math.max(start, high - span);
      const wanted = limit - found.length;
      const slots = this.between(low, high, wanted + 1);
      if (slots.length > wanted) {
        span = Math.ceil((high - low) / 2);
        growing = false;
      } else {
        found = [...slots, ...found];
        high = low;
        if (growing) span *= 2;
      }
    }
    return found;
  }

  #dueOf(rule: Rule): (after: number) => number | null {
    const start = rule.startsAt === undefined ? this.#createdAt : this.#from;
    const anchor = "anchor" in rule && rule.anchor !== undefined ? Date.parse(rule.anchor) : start;
    if ("cron" in rule) return this.#inZone(cronPattern(rule.cron), rule.dst);
    if ("rrule" in rule) {
      const recurrence = recurrencePattern(rule.rrule, this.#zone.wall(anchor));
      this.#end = Math.min(this.#end, (recurrence.untilInstant ?? Infinity) + 1);
      return this.#inZone(recurrence, rule.dst);
    }
    if ("after" in rule) {
      // Before it may start, there is no end of a run to count from.
      return (after) => (after < this.#from ? this.#from : after + rule.after);
    }
    if ("every" in rule) {
      if ("dst" in rule) return this.#inZone(calendarPattern(this.#zone.wall(anchor), rule.every), rule.dst);
      return (after) => nextInterval(anchor, rule.every, after);
    }
    const times = "at" in rule ? [Date.parse(rule.at)] : rule.times.map((time) => Date.parse(time));
    return (after) => firstAfter(times, after);
  }

  #inZone(pattern: WallPattern, dst: Required<DaylightSaving>): (after: number) => number | null {
    return (after) => nextInstant(pattern, this.#zone, dst, after);
  }
}

function firstAfter(times: readonly number[], after: number): number | null {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (times[middle]! <= after) low = middle + 1;
    else high = middle;
  }
  return times[low] ?? null;
}
