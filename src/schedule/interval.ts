import { Temporal } from "temporal-polyfill";
import { Recent } from "./recent.js";
import type { WallPattern } from "./wall-time.js";

const dayMs = 86_400_000;
const monthMs = ((400 * 365 + 97) * dayMs) / 4800; // the mean of the calendar's 400 years

/** The first of anchor, anchor + every, … that lies after `after`. */
export function nextInterval(anchor: number, every: number, after: number): number {
  return after < anchor ? anchor : anchor + (Math.floor((after - anchor) / every) + 1) * every;
}

/** Wall times a calendar duration apart, each counted from the anchor: month ends do not creep forward. */
export function calendarPattern(anchor: number, every: string): WallPattern {
  const { months, restMs } = steps.get(every);
  if (months === 0) return { next: (after) => nextInterval(anchor, restMs, after) };
  return {
    next(after) {
      if (after < anchor) return anchor;
      // Months are never further from their mean than a few days, so this is the last one before it, or the one before
      // that.
      let n = Math.max(0, Math.floor((after - anchor) / (months * monthMs + restMs)) - 1);
      let wall: number;
      do {
        wall = addMonths(anchor, months * n) + restMs * n;
        n += 1;
      } while (wall <= after);
      return wall;
    },
  };
}

/** A calendar duration as months, which differ in length, and the rest, which on a wall clock does not. */
const steps = new Recent(1000, (every) => {
  const { years, months, weeks, days, hours, minutes, seconds, milliseconds } = Temporal.Duration.from(every);
  return {
    months: years * 12 + months,
    restMs: (weeks * 7 + days) * dayMs + hours * 3_600_000 + minutes * 60_000 + seconds * 1000 + milliseconds,
  };
});

/** The same day and time so many months later, or the last day of that month where it is shorter. */
function addMonths(wall: number, months: number): number {
  const date = new Date(wall);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth() + months];
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  const day = Math.min(date.getUTCDate(), lastDay);
  return Date.UTC(year, month, day) + (wall - Math.floor(wall / dayMs) * dayMs);
}
