import type { Duration } from "../job/duration.js";

/** A moment: a `Date`, or an ISO 8601 text with its offset, such as `"2026-03-01T09:00:00+01:00"`. */
export type Moment = Date | string;

/**
 * What happens to wall times that a clock change removes or repeats.
 *
 * Most rules run once on such a day: a time that is skipped runs when the clock has jumped, one that comes twice runs
 * the first time. A rule that runs in every hour (every 15 minutes, `@hourly`) keeps its rhythm instead: nothing for
 * the skipped hour, both of the repeated ones.
 */
export interface DaylightSaving {
  /** A wall time that does not exist: run at the end of the gap (several are one run), or not at all. */
  readonly skipped?: "next" | "skip";
  /** A wall time that comes twice: which of the two runs. */
  readonly repeated?: "first" | "second" | "both";
}

/** What every kind of rule may say besides. */
export interface RuleOptions {
  /** The zone of wall times and of the days in `except`; `"UTC"` unless given. */
  readonly tz?: string;
  /** No slot before this moment. */
  readonly startsAt?: Moment;
  /** No slot at this moment or later. */
  readonly endsAt?: Moment;
  /** Each run starts up to this much later than its slot. How much is fixed by the schedule's name and the slot. */
  readonly jitter?: Duration;
  /** Days without slots: `"2026-12-25"`, or from the first to the last, `"2026-12-24/2027-01-01"`. */
  readonly except?: readonly string[];
  /** Names of calendars (`mill.schedules.calendar`) on whose days there are no slots. */
  readonly calendars?: readonly string[];
}

/**
 * A cron expression: minute, hour, day of month, month, weekday; seconds may stand in front. Names (`MON`, `JAN`), `L`
 * (last day), `5#2` and `FRI#L` (second, last Friday), `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`.
 *
 * @example
 * ```ts
 * const rule: RuleInput = { cron: "0 3 * * MON-FRI", tz: "Europe/Berlin" };
 * ```
 */
export interface CronRule extends RuleOptions {
  readonly cron: string;
  readonly dst?: DaylightSaving;
}

/**
 * A fixed rate, counted from `anchor` (unless given: `startsAt`, else when the schedule was made). The anchor is the
 * first slot.
 *
 * A length such as `"10s"` or `"1d"` is elapsed time, so `"1d"` is 24 hours. An ISO 8601 duration with days or more
 * (`"P1D"`, `"P2W"`, `"P1M"`) counts on the calendar of `tz`: the same wall time, whatever the clocks do. From January
 * 31, `"P1M"` gives February 28 and March 31.
 *
 * @example
 * ```ts
 * const quarterly: RuleInput = { every: "P3M", anchor: "2026-01-31T08:00:00Z" };
 * const often: RuleInput = { every: "10s" };
 * ```
 */
export interface EveryRule extends RuleOptions {
  readonly every: Duration;
  readonly anchor?: Moment;
  /** Only for calendar durations: elapsed time knows no clock changes. */
  readonly dst?: DaylightSaving;
}

/**
 * A fixed delay: the next run is due this long after the last one ended. The first is due at once, or at `startsAt`.
 *
 * @example
 * ```ts
 * const rule: RuleInput = { after: "10s" };
 * ```
 */
export interface AfterRule extends RuleOptions {
  readonly after: Duration;
}

/**
 * A recurrence rule of RFC 5545 (iCalendar), counted from `anchor` in the wall time of `tz`.
 *
 * @example
 * ```ts
 * const lastWorkday: RuleInput = {
 *   rrule: "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1",
 *   anchor: "2026-01-01T18:00:00+01:00",
 *   tz: "Europe/Berlin",
 * };
 * ```
 */
export interface RecurrenceRule extends RuleOptions {
  readonly rrule: string;
  readonly anchor: Moment;
  readonly dst?: DaylightSaving;
}

/** A list of moments, at most 10,000. */
export interface TimesRule extends RuleOptions {
  readonly times: readonly Moment[];
}

/** One moment. */
export interface AtRule extends RuleOptions {
  readonly at: Moment;
}

/** When something recurs: exactly one of `cron`, `every`, `after`, `rrule`, `times` and `at`. */
export type RuleInput = CronRule | EveryRule | AfterRule | RecurrenceRule | TimesRule | AtRule;

/** What every checked rule holds. */
interface CheckedOptions {
  readonly tz: string;
  readonly startsAt?: string;
  readonly endsAt?: string;
  readonly jitter?: number;
  readonly except?: readonly string[];
  readonly calendars?: readonly string[];
}

/**
 * A rule as `parseRule` returns it: checked, frozen, all defaults filled in but the anchor's, plain JSON. It is a
 * `RuleInput` itself, and parsing it again gives the same rule, so it can be stored as it is.
 *
 * Moments are ISO texts in UTC. Lengths of elapsed time are milliseconds; a calendar duration stays a text (`"P1M"`).
 */
export type Rule = CheckedOptions &
  (
    | { readonly cron: string; readonly dst: Required<DaylightSaving> }
    | { readonly every: number; readonly anchor?: string }
    | { readonly every: string; readonly anchor?: string; readonly dst: Required<DaylightSaving> }
    | { readonly after: number }
    | { readonly rrule: string; readonly anchor: string; readonly dst: Required<DaylightSaving> }
    | { readonly times: readonly string[] }
    | { readonly at: string }
  );
