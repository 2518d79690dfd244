import { InvalidArgumentError } from "../db/errors.js";
import { nearestNames } from "./nearest-names.js";

export const frequencies = ["YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY", "SECONDLY"] as const;
export type Frequency = (typeof frequencies)[number];

/**
 * The parts of a recurrence rule. Lists are sorted, without doubles; an absent one is undefined. Weekdays are 0
 * (Monday) to 6.
 */
export interface RecurrenceParts {
  readonly freq: Frequency;
  readonly interval: number;
  readonly weekStart: number;
  readonly count?: number;
  /** The last wall time, when UNTIL has no zone. */
  readonly untilWall?: number;
  /** The last instant, when UNTIL is in UTC. */
  readonly untilInstant?: number;
  readonly byMonth?: readonly number[];
  readonly byWeekNo?: readonly number[];
  readonly byYearDay?: readonly number[];
  readonly byMonthDay?: readonly number[];
  readonly byDay?: readonly { readonly weekday: number; readonly nth: number }[];
  readonly byHour?: readonly number[];
  readonly byMinute?: readonly number[];
  readonly bySecond?: readonly number[];
  readonly bySetPos?: readonly number[];
}

const maxCount = 10_000;
const days = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"];
/** Lists of numbers: smallest, largest, and whether they count from the end when negative. */
const lists = {
  BYMONTH: ["byMonth", 1, 12, false],
  BYWEEKNO: ["byWeekNo", 1, 53, true],
  BYYEARDAY: ["byYearDay", 1, 366, true],
  BYMONTHDAY: ["byMonthDay", 1, 31, true],
  BYHOUR: ["byHour", 0, 23, false],
  BYMINUTE: ["byMinute", 0, 59, false],
  BYSECOND: ["bySecond", 0, 59, false],
  BYSETPOS: ["bySetPos", 1, 366, true],
} as const;
const known = ["FREQ", "INTERVAL", "COUNT", "UNTIL", "WKST", "BYDAY", ...Object.keys(lists)];
const outside: Readonly<Record<string, string>> = {
  DTSTART: "give the start as anchor, its zone as tz",
  TZID: "give the zone as tz",
  EXDATE: "give days without slots as except",
  EXRULE: "give days without slots as except",
  RDATE: "give moments as a rule of their own: { times: [...] }",
};

/** Understand the text of a recurrence rule, or say which part is wrong. */
export function parseRecurrence(text: string): RecurrenceParts {
  const parts = splitParts(text);
  const freq = frequencies.find((name) => name === parts.get("FREQ"));
  if (!freq)
    throw wrong(
      text,
      parts.has("FREQ") ? `FREQ=${parts.get("FREQ")}` : "no FREQ",
      `FREQ is one of ${frequencies.join(", ")}`,
    );
  const result: Record<string, unknown> = {
    freq,
    interval: whole(text, parts, "INTERVAL", 1_000_000) ?? 1,
    weekStart: parts.has("WKST") ? weekdayOf(text, "WKST", parts.get("WKST")!) : 0,
  };
  const count = whole(text, parts, "COUNT", maxCount);
  if (count !== undefined) result["count"] = count;
  if (parts.has("UNTIL")) Object.assign(result, until(text, parts.get("UNTIL")!));
  for (const [name, [key, low, high, negative]] of Object.entries(lists)) {
    if (parts.has(name)) result[key] = numbers(text, name, parts.get(name)!, low, high, negative);
  }
  if (parts.has("BYDAY")) result["byDay"] = weekdays(text, parts.get("BYDAY")!);
  const recurrence = result as unknown as RecurrenceParts;
  checkTogether(text, parts, recurrence);
  return recurrence;
}

/** The text without its prefix, in capitals: what is stored. */
export function normalRecurrence(text: string): string {
  return text
    .trim()
    .toUpperCase()
    .replace(/^RRULE:/, "")
    .replace(/;$/, "");
}

function splitParts(text: string): Map<string, string> {
  const parts = new Map<string, string>();
  const normal = normalRecurrence(text);
  const foreign = /(?:^|[\s;])(DTSTART|TZID|EXDATE|EXRULE|RDATE)\b/.exec(normal)?.[1];
  if (foreign) throw wrong(text, `${foreign} is not part of it`, outside[foreign]!);
  if (/\s/.test(normal))
    throw wrong(text, "it has spaces or several lines", "give one RRULE; several are several schedules");
  for (const part of normal.split(";")) {
    const [name = "", value = "", ...more] = part.split("=");
    if (!known.includes(name)) {
      const [near] = nearestNames(name, known);
      throw wrong(
        text,
        part === "" ? "it has an empty part" : `${part} is not known`,
        near ? `did you mean ${near}?` : `parts are ${known.join(", ")}`,
      );
    }
    if (value === "" || more.length > 0) throw wrong(text, part, `write ${name}=value`);
    if (parts.has(name)) throw wrong(text, `${name} comes twice`, "join the values with commas");
    parts.set(name, value);
  }
  return parts;
}

/** What RFC 5545 does not allow together: it would be ignored, or mean something else than it says. */
function checkTogether(
  text: string,
  parts: ReadonlyMap<string, string>,
  { freq, byDay, byWeekNo }: RecurrenceParts,
): void {
  const refuse = (name: string, why: string, when: boolean): void => {
    if (when && parts.has(name)) throw wrong(text, `${name}=${parts.get(name)}`, why);
  };
  const within = frequencies.indexOf(freq);
  refuse("UNTIL", "give COUNT or UNTIL, not both", parts.has("COUNT"));
  refuse("BYWEEKNO", "BYWEEKNO needs FREQ=YEARLY", freq !== "YEARLY");
  refuse("BYYEARDAY", `BYYEARDAY does not go with FREQ=${freq}`, within >= 1 && within <= 3);
  refuse("BYMONTHDAY", "BYMONTHDAY does not go with FREQ=WEEKLY", freq === "WEEKLY");
  const numbered = byDay?.some(({ nth }) => nth !== 0) ?? false;
  refuse("BYDAY", "numbered weekdays need FREQ=MONTHLY or YEARLY", numbered && within > 1);
  refuse("BYDAY", "numbered weekdays do not go with BYWEEKNO", numbered && byWeekNo !== undefined);
  const chosen = [...parts.keys()].some((name) => name.startsWith("BY") && name !== "BYSETPOS");
  refuse("BYSETPOS", "BYSETPOS chooses among the days and times of another BY part: give one", !chosen);
}

function whole(text: string, parts: ReadonlyMap<string, string>, name: string, most: number): number | undefined {
  const value = parts.get(name);
  if (value === undefined) return undefined;
  const number = /^\d{1,9}$/.test(value) ? Number(value) : 0;
  if (number < 1 || number > most) {
    const more = name === "COUNT" ? "; for more, give UNTIL or endsAt" : "";
    throw wrong(text, `${name}=${value}`, `${name} is a whole number from 1 to ${most.toLocaleString("en")}${more}`);
  }
  return number;
}

function numbers(text: string, name: string, value: string, low: number, high: number, negative: boolean): number[] {
  const found = value.split(",").map((item) => (/^[+-]?\d{1,3}$/.test(item) ? Number(item) : Number.NaN));
  const fits = (n: number): boolean => (n >= low && n <= high) || (negative && n <= -low && n >= -high);
  if (!found.every(fits))
    throw wrong(
      text,
      `${name}=${value}`,
      `${name} is ${low} to ${high}${negative ? `, or -${low} to -${high} from the end` : ""}`,
    );
  return [...new Set(found)].toSorted((a, b) => a - b);
}

function weekdays(text: string, value: string): { weekday: number; nth: number }[] {
  return value.split(",").map((item) => {
    const [, nth = "0", day = ""] = /^([+-]?\d{1,2})?([A-Z]{2})$/.exec(item) ?? [];
    const number = Number(nth);
    if (Math.abs(number) > 53 || (number === 0 && item.length > 2))
      throw wrong(text, `BYDAY=${value}`, "numbers are 1 to 53, or -1 to -53 from the end");
    return { weekday: weekdayOf(text, "BYDAY", day === "" ? item : day, value), nth: number };
  });
}

function weekdayOf(text: string, name: string, day: string, whole = day): number {
  const weekday = days.indexOf(day);
  if (weekday < 0) throw wrong(text, `${name}=${whole}`, `weekdays are ${days.join(", ")}`);
  return weekday;
}

/** UNTIL as a date (that whole day), a wall time, or an instant in UTC. */
function until(text: string, value: string): { untilWall: number } | { untilInstant: number } {
  const [, y, mo, d, h, mi, s, utc] = /^(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)(Z)?)?$/.exec(value) ?? [];
  const iso = `${y}-${mo}-${d}T${h ?? "23"}:${mi ?? "59"}:${s ?? "59"}.000Z`;
  const ms = Date.parse(iso);
  if (Number.isNaN(ms) || new Date(ms).toISOString() !== iso) {
    throw wrong(
      text,
      `UNTIL=${value}`,
      "write UNTIL as 20261231 (that day too), 20261231T180000 (wall time), or 20261231T170000Z (UTC)",
    );
  }
  return utc ? { untilInstant: ms } : { untilWall: ms };
}

function wrong(text: string, what: string, remedy: string): InvalidArgumentError {
  return new InvalidArgumentError(`the recurrence rule ${JSON.stringify(text)} is wrong: ${what}`, remedy);
}
