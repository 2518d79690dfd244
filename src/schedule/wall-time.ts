import type { DaylightSaving } from "./rule.js";
import type { Zone } from "./zone.js";

/**
 * A pattern of wall times, without a zone: a wall time is written as the milliseconds it would be in UTC.
 * `next` gives the first one strictly after, or null when there is none.
 */
export interface WallPattern {
  next(after: number): number | null;
}

const twoDaysMs = 2 * 86_400_000;

/**
 * The first instant strictly after `after` at which a pattern of wall times is due in a zone.
 *
 * We go by stretches of constant offset, in the order of instants. Within one, an instant and its wall time differ by a
 * constant, so order is kept and nothing is lost or doubled. What a clock change skips or repeats lies at the ends of a
 * stretch: a gap belongs to the stretch it opens, and of two passes over the same wall times the rule closes one by
 * cutting off that end.
 */
export function nextInstant(
  pattern: WallPattern,
  zone: Zone,
  dst: Required<DaylightSaving>,
  after: number,
): number | null {
  let from = after + 1;
  for (;;) {
    const stretch = zone.at(from);
    const { start, end, offset, offsetBefore, offsetAfter } = stretch;

    if (from <= start && offset > offsetBefore && dst.skipped === "next") {
      const skipped = pattern.next(start + offsetBefore - 1);
      if (skipped !== null && skipped < start + offset) return start;
    }
    const first =
      dst.repeated === "first" && offsetBefore > offset ? Math.max(from + offset, start + offsetBefore) : from + offset;
    const last = dst.repeated === "second" && offsetAfter < offset ? end + offsetAfter : end + offset;
    const wall = pattern.next(first - 1);
    if (wall !== null && wall < last) return wall - offset;

    // The next stretch. When it repeats wall times, it may hold some before `first`; else there is nothing until
    // `wall`, which may be far away.
    if (offsetAfter < offset) from = end;
    else if (wall === null) return null;
    else from = Math.max(end, wall - twoDaysMs);
  }
}
