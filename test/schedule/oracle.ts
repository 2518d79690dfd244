/**
 * What the rules say, worked out the long way: every minute of a window is asked of Intl what the clocks on the wall
 * show, and wall times are matched one by one. Nothing here knows Temporal, the cron library, or offsets.
 */
import type { DaylightSaving } from "../../src/schedule/rule.js";

const minuteMs = 60_000;

/** The wall clock of a zone: minutes since 1970 as a clock there would count them. */
export function wallClock(tz: string): (instant: number) => number {
  const format = new Intl.DateTimeFormat("sv-SE", {
    timeZone: tz,
    hourCycle: "h23",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
  });
  return (instant) => Date.parse(`${format.format(instant).replace(" ", "T")}:00Z`) / minuteMs;
}

/** The instants at which the wall clock jumps, to the minute. Looks every six hours, then closer. */
export function clockChanges(tz: string, from: number, to: number): number[] {
  const clock = wallClock(tz);
  const offset = (instant: number): number => clock(instant) - Math.floor(instant / minuteMs);
  const found: number[] = [];
  for (let low = from; low < to; low += 6 * 60 * minuteMs) {
    let [a, b] = [low, low + 6 * 60 * minuteMs];
    if (offset(a) === offset(b)) continue;
    while (b - a > minuteMs) {
      const middle = a + Math.floor((b - a) / 2 / minuteMs) * minuteMs;
      if (offset(middle) === offset(a)) a = middle;
      else b = middle;
    }
    found.push(b);
  }
  return found;
}

/** A window of time, minute by minute. */
export interface Window {
  readonly from: number;
  readonly to: number;
  /** What the wall clock shows in each minute. */
  readonly walls: readonly number[];
  /** For each wall minute that exists, the instants at which it does, in order. */
  readonly instants: ReadonlyMap<number, readonly number[]>;
}

export function windowAround(tz: string, middle: number, hours: number): Window {
  const clock = wallClock(tz);
  const from = Math.floor(middle / minuteMs) * minuteMs - hours * 60 * minuteMs;
  const to = from + 2 * hours * 60 * minuteMs;
  const walls: number[] = [];
  const instants = new Map<number, number[]>();
  for (let instant = from; instant <= to; instant += minuteMs) {
    const wall = clock(instant);
    walls.push(wall);
    const same = instants.get(wall);
    if (same) same.push(instant);
    else instants.set(wall, [instant]);
  }
  return { from, to, walls, instants };
}

/** The slots within a window: those of the wall minutes that match, after the daylight-saving rule. */
export function expectedSlots(
  window: Window,
  matches: (wallMinute: number) => boolean,
  dst: Required<DaylightSaving>,
): number[] {
  const { from, walls, instants } = window;
  const slots = new Set<number>();
  for (let wall = Math.min(walls[0]!, walls.at(-1)!); wall <= walls.at(-1)!; wall += 1) {
    if (!matches(wall)) continue;
    const at = instants.get(wall);
    if (at && dst.repeated === "both") for (const instant of at) slots.add(instant);
    else if (at) slots.add(dst.repeated === "first" ? at[0]! : at.at(-1)!);
    else if (dst.skipped === "next") slots.add(from + walls.findIndex((later) => later > wall) * minuteMs);
  }
  return [...slots].toSorted((a, b) => a - b);
}
