import { Temporal } from "temporal-polyfill";

/** A stretch of time in which a zone's offset from UTC does not change, and the offsets on both sides of it. All in milliseconds. */
export interface Stretch {
  /** The first instant, or -Infinity. */
  readonly start: number;
  /** The first instant after it, or Infinity. */
  readonly end: number;
  /** Wall time minus instant. */
  readonly offset: number;
  readonly offsetBefore: number;
  readonly offsetAfter: number;
}

const dayMs = 86_400_000;
/**
 * Where no change is found ahead, we believe that for this long only. The search ends three years ahead of the instant or of the host's clock,
 * whichever is later; a shorter belief makes the answer independent of that clock.
 */
const sureMs = 2 * 365 * dayMs;

/**
 * A time zone as a sequence of stretches. Temporal knows where they begin; looking there costs a fraction of a millisecond, so every stretch found is
 * kept: a few hundred per zone at most.
 */
export class Zone {
  static readonly #known = new Map<string, Zone>();
  readonly #stretches: Stretch[] = []; // in order; not every one between two that are here
  #last: Stretch;

  static of(tz: string): Zone {
    let zone = Zone.#known.get(tz);
    if (!zone) {
      zone = new Zone(tz);
      Zone.#known.set(tz, zone);
    }
    return zone;
  }

  private constructor(readonly tz: string) {
    this.#last =
      tz === "UTC"
        ? { start: -Infinity, end: Infinity, offset: 0, offsetBefore: 0, offsetAfter: 0 }
        : { start: 0, end: 0, offset: 0, offsetBefore: 0, offsetAfter: 0 };
  }

  /** The stretch that holds an instant. */
  at(instant: number): Stretch {
    if (instant < this.#last.start || instant >= this.#last.end) this.#last = this.#find(instant);
    return this.#last;
  }

  /** The wall time of an instant, written as if it were UTC. */
  wall(instant: number): number {
    return instant + this.at(instant).offset;
  }

  /** The first instant, not before `from`, at which the wall clock shows `wall` or later. */
  firstAtWall(from: number, wall: number): number {
    const near = Math.max(from, wall - 2 * dayMs); // offsets are less than two days
    for (let stretch = this.at(near); ; stretch = this.at(stretch.end)) {
      const instant = Math.max(near, stretch.start, wall - stretch.offset);
      if (instant < stretch.end) return instant;
    }
  }

  #find(instant: number): Stretch {
    let low = 0;
    let high = this.#stretches.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#stretches[middle]!.end <= instant) low = middle + 1;
      else high = middle;
    }
    const near = this.#stretches[low];
    if (near && near.start <= instant) return near;
    const found = this.#search(instant);
    // Without a change ahead, a stretch is known piece by piece: the longer piece takes the place of the shorter.
    if (low > 0 && this.#stretches[low - 1]!.start === found.start) this.#stretches[low - 1] = found;
    else this.#stretches.splice(low, 0, found);
    return found;
  }

  #search(instant: number): Stretch {
    const here = this.#zoned(instant);
    const start = this.#zoned(instant + 1).getTimeZoneTransition("previous")?.epochMilliseconds ?? -Infinity;
    const end = here.getTimeZoneTransition("next")?.epochMilliseconds ?? instant + sureMs;
    const offset = offsetOf(here);
    return {
      start,
      end,
      offset,
      offsetBefore: start === -Infinity ? offset : offsetOf(this.#zoned(start - 1)),
      offsetAfter: offsetOf(this.#zoned(end)),
    };
  }

  #zoned(instant: number): Temporal.ZonedDateTime {
    return Temporal.Instant.fromEpochMilliseconds(instant).toZonedDateTimeISO(this.tz);
  }
}

function offsetOf(zoned: Temporal.ZonedDateTime): number {
  return zoned.offsetNanoseconds / 1_000_000;
}
