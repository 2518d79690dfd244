import { Temporal } from "temporal-polyfill";
import type { WallPattern } from "./wall-time.js";

const dayMs = 86_400_000;
const monthMs = ((400 * 365 + 97) * dayMs) / 4800; // the mean of the calendar's 400 years

/** The first of anchor, anchor + every, … that lies after `after`. */
export function nextInterval(anchor: number, every: number, after: number): number {
  return after < anchor ? anchor : anchor + (Math.floor((after - anchor) / every) + 1) * every;
}

/** Wall times a calendar duration apart, each counted from the anchor: month ends do not creep forward. */
export function calendarPattern(anchor: number, every: string): WallPattern {
  const step = Temporal.Duration.from(every);
  const months = step.years * 12 + step.months;
  const restMs = step.with({ years: 0, months: 0, weeks: 0, days: step.weeks * 7 + step.days }).total({ unit: "milliseconds", relativeTo: "1970-01-01" });
  if (months === 0) return { next: (after) => nextInterval(anchor, restMs, after) };

  const start = Temporal.Instant.fromEpochMilliseconds(anchor).toZonedDateTimeISO("UTC").toPlainDateTime();
  const nth = (n: number): number => start.add({ months: months * n }).toZonedDateTime("UTC").epochMilliseconds + restMs * n;
  return {
    next(after) {
      if (after < anchor) return anchor;
      // A calendar month is never further from the mean than a few days, so the guess is off by one at most.
      let n = Math.max(0, Math.floor((after - anchor) / (months * monthMs + restMs)) - 1);
      let wall = nth(n);
      while (wall <= after) wall = nth((n += 1));
      return wall;
    },
  };
}
