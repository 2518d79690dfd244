import { Temporal } from "temporal-polyfill";
import type { Json } from "../db/types.js";
import { describeRule } from "../schedule/describe-rule.js";
import { parseRule } from "../schedule/parse-rule.js";
import type { Rule } from "../schedule/rule.js";
import type { OptionTable } from "./command.js";
import type { Options } from "./options.js";
import { UsageError } from "./usage-error.js";

/** Options that say when: the kinds of rules that have slots of their own, and what rules may say besides. */
export const ruleOptions: OptionTable = {
  cron: { value: "PATTERN", help: 'a cron expression, such as "0 3 * * MON-FRI"' },
  every: {
    value: "DURATION",
    help: 'a fixed rate: elapsed time such as "10s", or on the calendar, such as "P1D" or "P1M"',
  },
  rrule: { value: "RULE", help: 'a recurrence of RFC 5545, such as "FREQ=WEEKLY;BYDAY=MO"; needs --anchor' },
  at: { value: "TIMES", help: "one moment or several, such as 2026-03-01T09:00Z,2026-04-01T09:00Z" },
  anchor: { value: "TIME", help: "what --every and --rrule count from (--every: default now)" },
  tz: { value: "ZONE", help: "the time zone, such as Europe/Berlin (default UTC)" },
  "starts-at": { value: "TIME", help: "nothing before this moment" },
  "ends-at": { value: "TIME", help: "nothing at this moment or later" },
  except: { value: "DAYS", help: "days left out, in the zone: 2026-12-25,2026-12-29/2027-01-01" },
  "dst-skipped": {
    value: "WHAT",
    help: "a time that the clocks leave out (default next; of rules that run in every hour skip)",
    choices: ["next", "skip"],
  },
  "dst-repeated": {
    value: "WHAT",
    help: "a time that comes twice (default first; of rules that run in every hour both)",
    choices: ["first", "second", "both"],
  },
};

/** The options of a rule that are named differently here, and lists. */
const listed = (text: string | undefined): string[] | undefined => text?.split(",").map((part) => part.trim());

/** The rule that options say, checked; undefined when they say none. */
export function ruleOf(options: Options, kinds: readonly string[]): Rule | undefined {
  if (kinds.every((kind) => options.given(kind) === undefined)) return undefined;
  const given = (name: string): string | undefined => (options.known.has(name) ? options.given(name) : undefined);
  const moments = listed(given("at"));
  const [skipped, repeated] = [given("dst-skipped"), given("dst-repeated")];
  return parseRule({
    cron: given("cron"),
    every: given("every"),
    after: given("after"),
    rrule: given("rrule"),
    ...(moments?.length === 1 ? { at: moments[0] } : { times: moments }),
    anchor: given("anchor"),
    tz: given("tz"),
    startsAt: given("starts-at"),
    endsAt: given("ends-at"),
    jitter: given("jitter"),
    except: listed(given("except")),
    calendars: listed(given("calendars")),
    dst:
      skipped === undefined && repeated === undefined
        ? undefined
        : { ...(skipped && { skipped }), ...(repeated && { repeated }) },
  });
}

/** A stored rule, checked. One that was put there by SQL may be wrong. */
export function readRule(rule: Json): Rule | undefined {
  try {
    return parseRule(rule);
  } catch {
    return undefined;
  }
}

/** A stored rule in words; as it is when it cannot be read. */
export function ruleText(rule: Json): string {
  const read = readRule(rule);
  return read ? describeRule(read) : JSON.stringify(rule);
}

/** A moment with its offset, or the beginning of a day in a zone. */
export function momentOf(name: string, text: string, zone: string): Date {
  try {
    const isDay = /^\d{4}-\d\d-\d\d$/.test(text);
    const instant = isDay
      ? Temporal.PlainDate.from(text).toZonedDateTime(zone).toInstant()
      : Temporal.Instant.from(text);
    return new Date(instant.epochMilliseconds);
  } catch {
    throw new UsageError(
      `--${name} cannot be "${text}"`,
      "give a time with its offset, such as 2026-03-01T08:00Z, or a day, such as 2026-03-01",
    );
  }
}

/**
 * A moment as the clocks of a zone show it, with the day of the week and the offset: `Sun 2026-03-29 03:00:00 +02:00`.
 */
export function zonedTime(date: Date, zone: string): string {
  const zoned = Temporal.Instant.fromEpochMilliseconds(date.getTime()).toZonedDateTimeISO(zone);
  const day = zoned.toLocaleString("en", { weekday: "short" });
  return `${day} ${zoned.toPlainDate().toString()} ${zoned.toPlainTime().toString({ smallestUnit: zoned.millisecond === 0 ? "second" : "millisecond" })} ${zoned.offset}`;
}

/** The same for programs: `2026-03-29T03:00:00+02:00[Europe/Berlin]`. */
export function zonedText(date: Date, zone: string): string {
  return Temporal.Instant.fromEpochMilliseconds(date.getTime()).toZonedDateTimeISO(zone).toString();
}
