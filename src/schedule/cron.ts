import { CronDate, CronPattern } from "croner";
import { InvalidArgumentError } from "../db/errors.js";
import { Recent } from "./recent.js";
import type { WallPattern } from "./wall-time.js";

interface Field {
  readonly name: string;
  /**
   * What the field may look like at all. The parser replaces names within words, so that it would read `JAN1` as
   * November.
   */
  readonly shape: RegExp;
  readonly hint: string;
}

const numbers = String.raw`\*|\?|\d+(-\d+)?`;
const months = "JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC";
const weekdays = "SUN|MON|TUE|WED|THU|FRI|SAT";
const second: Field = {
  name: "second",
  shape: list(numbers),
  hint: "seconds are 0 to 59, lists 0,30, ranges 0-29, steps */10",
};
const fiveFields: readonly Field[] = [
  { name: "minute", shape: list(numbers), hint: "minutes are 0 to 59, lists 0,30, ranges 0-29, steps */10" },
  {
    name: "hour",
    shape: list(numbers),
    hint: "hours are 0 to 23, lists 9,17, ranges 9-17 (over midnight: 22-23,0-5), steps */2",
  },
  {
    name: "day of month",
    shape: list(`${numbers}|\\d+W|LW|L`),
    hint: "days are 1 to 31, L is the last, 15W the weekday nearest to the 15th",
  },
  {
    name: "month",
    shape: list(`\\*|\\?|(\\d+|${months})(-(\\d+|${months}))?`),
    hint: "months are 1 to 12 or JAN to DEC, ranges go upwards",
  },
  {
    name: "weekday",
    shape: list(`\\*|\\?|(\\d|${weekdays})(-(\\d|${weekdays}))?(#[1-5L]|L)?`, String.raw`\+?`),
    hint: "weekdays are 0 to 7 (0 and 7 are Sunday) or SUN to SAT, ranges go upwards, FRI#2 is the second and FRI#L the last Friday of the month",
  },
];
const nicknames: Readonly<Record<string, string>> = {
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
  "@monthly": "0 0 1 * *",
  "@weekly": "0 0 * * 0",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@hourly": "0 * * * *",
};
const mode = { mode: "5-or-6-parts" } as const;
/**
 * Every pattern of the parser holds its own 10,000 years, which none of ours looks at. They share one list, or each
 * would take 80 kB.
 */
const everyYear: number[] = [];

const patterns = new Recent(5000, (text) => new Cron(text));

/** The wall times of a cron expression that was checked. */
export function cronPattern(text: string): WallPattern {
  return patterns.get(text);
}

/**
 * Whether a checked expression runs in every hour of its days, so that it should keep its rhythm when clocks change.
 */
export function runsEveryHour(text: string): boolean {
  const hour = fieldsOf(text).at(-4)?.text;
  return hour !== undefined && /^([*?](\/1)?|0-23(\/1)?)$/.test(hour);
}

/** Refuse a cron expression that cannot be understood, naming the field. Returns it with single spaces. */
export function checkCron(input: unknown): string {
  if (typeof input !== "string")
    throw new InvalidArgumentError("cron is not a text", 'give an expression such as "0 3 * * *"');
  const fields = fieldsOf(input);
  if (fields[0]?.text.startsWith("@")) {
    throw new InvalidArgumentError(
      `the cron expression ${quote(input)} is not known`,
      `use ${Object.keys(nicknames).join(", ")}, or five fields`,
    );
  }
  if (fields.length !== 5 && fields.length !== 6) {
    throw new InvalidArgumentError(
      `the cron expression ${quote(input)} has ${fields.length} field${fields.length === 1 ? "" : "s"}`,
      'give five: minute, hour, day of month, month, weekday ("0 3 * * *"), or six with seconds first',
    );
  }
  const text = input.trim().replaceAll(/\s+/g, " ");
  const known = fields.length === 6 ? [second, ...fiveFields] : fiveFields;
  if (fields.every((field, index) => known[index]!.shape.test(field.text)) && parses(text)) return text;
  // Which one it is, the parser does not say: try each with all others left open.
  const wrong = fields.findIndex((field, index) => {
    return (
      !known[index]!.shape.test(field.text) ||
      !parses(fields.map((_, other) => (other === index ? field.text : "*")).join(" "))
    );
  });
  const { name, hint } = known[wrong]!;
  const { text: field, position } = fields[wrong]!;
  throw new InvalidArgumentError(
    `the cron expression ${quote(input)} is wrong in field ${wrong + 1} (${name}), at character ${position + 1}: ${quote(field)}`,
    hint,
  );
}

/**
 * One expression, which remembers its last answer: schedules that share an expression mostly ask for the same minute.
 */
class Cron implements WallPattern {
  readonly #pattern: CronPattern;
  #asked = 0;
  #answer: number | null = 0; // nothing between the two

  constructor(text: string) {
    this.#pattern = new CronPattern(nicknames[text.toLowerCase()] ?? text, undefined, mode);
    this.#pattern.year = everyYear;
  }

  next(after: number): number | null {
    if (after >= this.#asked && (this.#answer === null || after < this.#answer)) return this.#answer;
    // An offset of 0 keeps the library's own reading of zones out of it: these are wall times.
    const found = new CronDate(new Date(after), 0).increment(this.#pattern, {}, false);
    this.#asked = after;
    this.#answer = found === null ? null : found.getTime();
    return this.#answer;
  }
}

function fieldsOf(text: string): { readonly text: string; readonly position: number }[] {
  const expanded = nicknames[text.trim().toLowerCase()] ?? text;
  return [...expanded.matchAll(/\S+/g)].map(({ 0: field, index }) => ({ text: field, position: index }));
}

function parses(text: string): boolean {
  try {
    return Boolean(patterns.get(text));
  } catch {
    return false;
  }
}

function list(item: string, prefix = ""): RegExp {
  const one = `(${item})(/\\d+)?`;
  return new RegExp(`^${prefix}${one}(,${one})*$`, "i");
}

function quote(text: string): string {
  return JSON.stringify(text);
}
