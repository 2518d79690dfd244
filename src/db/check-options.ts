import { inspect, types } from "node:util";
import { InvalidArgumentError } from "./errors.js";
import { bounds, maxTime, minTime } from "./limits.js";
import { type Kind, type Most, maxOf } from "./option-table.js";

/** A value as a message shows it, whatever it is. */
export function shown(value: unknown): string {
  return typeof value === "string"
    ? JSON.stringify(value.slice(0, 100))
    : inspect(value, { depth: 1, breakLength: Infinity }).slice(0, 100);
}

/** Options are an object: null, say, would end in a TypeError somewhere inside. */
export function checkObject(value: unknown, what: string): void {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new InvalidArgumentError(`${what} cannot be ${shown(value)}`, "give an object, or leave it out");
  }
}

/** A list, such as the inputs of many jobs. */
export function checkList(value: unknown, what: string): void {
  if (!Array.isArray(value)) throw new InvalidArgumentError(`${what} cannot be ${shown(value)}`, "give an array");
}

/** PostgreSQL's text holds neither NUL nor half a surrogate pair; drivers would store something else in its place. */
export function checkText(text: unknown, what: string): string {
  if (typeof text !== "string") throw new InvalidArgumentError(`${what} cannot be ${shown(text)}`, "give a text");
  if (text.includes("\0"))
    throw new InvalidArgumentError(`${what} contains NUL`, "PostgreSQL text cannot hold it; use a payload for bytes");
  if (!text.isWellFormed())
    throw new InvalidArgumentError(
      `${what} contains half a surrogate pair`,
      "cut texts between characters; use a payload for bytes",
    );
  return text;
}

/** A text of 1 to so many characters, as PostgreSQL counts them: one outside of the first plane is one. */
export function checkName(text: unknown, what: string, most: Most): string {
  const name = checkText(text, what);
  const longest = maxOf(most);
  if (!isWithin(name, longest))
    throw new InvalidArgumentError(`${what} must have 1 to ${longest} characters`, "give another text, or none");
  return name;
}

/** Whether a text has 1 to so many characters. Few have to be counted. */
export function isWithin(text: string, most: number): boolean {
  return text.length > 0 && (text.length <= most || (text.length <= 2 * most && Array.from(text).length <= most));
}

/** One of the values that there are. */
export function checkChoice(value: unknown, what: string, choices: readonly (string | boolean)[]): unknown {
  if (choices.includes(value as string)) return value;
  const shownChoices = choices.map((choice) => JSON.stringify(choice)).join(", ");
  throw new InvalidArgumentError(
    `${what} cannot be ${shown(value)}`,
    `use ${shownChoices.replace(/, ([^,]+)$/, " or $1")}`,
  );
}

/** A number within its range, or the word that stands for one. */
export function checkNumber(
  value: unknown,
  what: string,
  { is, least, most, word }: Extract<Kind, { readonly least: number }>,
): number | string {
  const highest = maxOf(most);
  const fits =
    typeof value === "number" && value >= least && value <= highest && (is === "number" || Number.isInteger(value));
  if (fits || (word !== undefined && value === word)) return value;
  const wanted =
    is === "integer"
      ? `an integer from ${least} to ${highest}`
      : `${least === 0 ? "0 or more" : `at least ${least}`}, at most ${highest}`;
  throw new InvalidArgumentError(
    `${what} cannot be ${shown(value)}`,
    `give ${wanted}${word === undefined ? "" : `, or "${word}"`}`,
  );
}

const isoTime = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d(?::?\d\d)?)?)?$/i;
const timeRemedy = `give a Date or an ISO 8601 text between ${new Date(minTime).toISOString()} and ${new Date(maxTime).toISOString()}`;

/**
 * A time as it is sent: within what ids, PostgreSQL and JavaScript can hold. A text stays as it is, for its
 * microseconds.
 */
export function checkTime(value: unknown, what: string): string {
  const ms = value instanceof Date ? value.getTime() : typeof value === "string" ? parseTime(value) : Number.NaN;
  if (!(ms >= minTime && ms <= maxTime))
    throw new InvalidArgumentError(`${what} cannot be ${shown(value)}`, timeRemedy);
  return value instanceof Date ? value.toISOString() : (value as string);
}

/** PostgreSQL would take "tomorrow" and "infinity" too, and JavaScript the 30th of February. */
function parseTime(text: string): number {
  const [, day = "", time = "00:00", zone = "Z"] = isoTime.exec(text) ?? [];
  const midnight = new Date(`${day}T00:00Z`);
  if (Number.isNaN(midnight.getTime()) || !midnight.toISOString().startsWith(day)) return Number.NaN;
  return Date.parse(
    `${day}T${time}${/^[+-]\d\d$/.test(zone) ? `${zone}:00` : zone.replace(/(\d\d)(\d\d)$/, "$1:$2")}`.toUpperCase(),
  );
}

/** Seconds that are stored: a finite number from 0 to the longest duration. */
export function isDuration(seconds: unknown): boolean {
  return typeof seconds === "number" && seconds >= 0 && seconds <= bounds.seconds;
}

/** A policy of retries, with delays that can be added to a time. */
export function checkRetry(policy: unknown, what: string): void {
  const { base, cap } =
    typeof policy === "object" && policy !== null && !Array.isArray(policy) ? (policy as Record<string, unknown>) : {};
  const delays =
    typeof policy === "number" ? [policy] : Array.isArray(policy) ? (policy as unknown[]) : [base ?? 0, cap ?? 0];
  if ((typeof policy !== "number" && typeof policy !== "object") || policy === null || !delays.every(isDuration)) {
    throw new InvalidArgumentError(
      `${what} cannot be ${shown(policy)}`,
      `give seconds from 0 to ${bounds.seconds}, a list of them, or base, factor, cap and jitter`,
    );
  }
}

/** Bytes. A text would be stored in whatever encoding the driver likes. */
export function checkPayload(payload: unknown): void {
  if (payload === undefined || types.isUint8Array(payload)) return;
  throw new InvalidArgumentError(`payload cannot be ${shown(payload)}`, 'give bytes, such as Buffer.from("text")');
}
