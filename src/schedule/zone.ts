import { Temporal } from "temporal-polyfill";

/**
 * A stretch of time in which a zone's offset from UTC does not change, and the offsets on both sides of it. All in
 * milliseconds.
 */
export interface Stretch {
  /** The first instant. */
  readonly start: number;
  /** The first instant after it. */
  readonly end: number;
  /** Wall time minus instant. */
  readonly offset: number;
  readonly offsetBefore: number;
  readonly offsetAfter: number;
}

const dayMs = 86_400_000;
/** No offset, and no clock change, is larger. */
const nearMs = 2 * dayMs;
const yearMs = 365 * dayMs;

/**
 * A time zone as a sequence of stretches. Temporal knows where clocks change; to look there costs milliseconds, so it
 * is done for a year at a time and
 * kept: one year per zone for most schedules.
 *
 * Stretches longer than a year come in pieces. They are cut where no clock change is near, so nobody notices: the
 * offset is the same on both sides.
 */
export class Zone {
  static readonly #known = new Map<string, Zone>();
  readonly #years = new Map<number, readonly Stretch[]>();

  static of(tz: string): Zone {
    let zone = Zone.#known.get(tz);
    if (!zone) {
      zone = new Zone(tz);
      Zone.#known.set(tz, zone);
    }
    return zone;
  }

  private constructor(readonly tz: string) {}

  /** The stretch, or its piece, that holds an instant. */
  at(instant: number): Stretch {
    const year = Math.floor(instant / yearMs);
    let stretches = this.#years.get(year);
    if (!stretches) {
      stretches = this.#search(year * yearMs, (year + 1) * yearMs);
      this.#years.set(year, stretches);
    }
    return stretches.find(({ end }) => instant < end)!;
  }

  /** The wall time of an instant, written as if it were UTC. */
  wall(instant: number): number {
    return instant + this.at(instant).offset;
  }

  /** The first instant, not before `from`, at which the wall clock shows `wall` or later. */
  firstAtWall(from: number, wall: number): number {
    const near = Math.max(from, wall - nearMs);
    for (let stretch = this.at(near); ; stretch = this.at(stretch.end)) {
      const instant = Math.max(near, stretch.start, wall - stretch.offset);
      if (instant < stretch.end) return instant;
    }
  }

  /** All stretches that have a part in [from, to). They reach as far as clock changes that are near. */
  #search(from: number, to: number): Stretch[] {
    const stretches: Stretch[] = [];
    let here = Temporal.Instant.fromEpochMilliseconds(from - nearMs).toZonedDateTimeISO(this.tz);
    let start = from - nearMs;
    let offsetBefore = offsetOf(here);
    while (start < to) {
      const next = here.getTimeZoneTransition("next");
      const offset = offsetOf(here);
      const change = next === null ? Infinity : next.epochMilliseconds;
      const known = next !== null && change < to + nearMs;
      const end = known ? change : to;
      stretches.push({ start, end, offset, offsetBefore, offsetAfter: known ? offsetOf(next) : offset });
      if (!known) break;
      [start, here, offsetBefore] = [change, next, offset];
    }
    return stretches;
  }
}

function offsetOf(zoned: Temporal.ZonedDateTime): number {
  return zoned.offsetNanoseconds / 1_000_000;
}
