import { Temporal } from "temporal-polyfill";
import { durationMs, type Duration } from "../job/duration.js";
import { InvalidArgumentError } from "../db/errors.js";
import { checkExcept } from "./blocked-days.js";
import { checkCron, runsEveryHour } from "./cron.js";
import { nearestNames } from "./nearest-names.js";
import { recursEveryHour } from "./rrule.js";
import { normalRecurrence, parseRecurrence } from "./rrule-parts.js";
import type { DaylightSaving, Rule } from "./rule.js";
import { lastInstant } from "./slots.js";
import { checkZone } from "./zone-names.js";

const kinds = ["cron", "every", "after", "rrule", "times", "at"] as const;
type Kind = (typeof kinds)[number];
const options = ["tz", "startsAt", "endsAt", "jitter", "except", "calendars"];
const optionsOfKind: Readonly<Record<Kind, readonly string[]>> = {
  cron: ["dst"],
  every: ["anchor", "dst"],
  after: [],
  rrule: ["anchor", "dst"],
  times: [],
  at: [],
};

/** Shorter than this, a schedule would be a loop. */
const shortestMs = 100;
const yearMs = 31_556_952_000;
const longestMs = 100 * yearMs;
const longestJitterMs = 31 * 86_400_000;
const maxTimes = 10_000;
const maxCalendars = 100;
/**
 * Of an expression, a name or a moment. The longest that says something is a recurrence that lists all days of a year:
 * 1500 characters.
 */
const longestText = 4096;
const momentRemedy = 'give a Date, or a text with its offset such as "2026-03-01T09:00:00+01:00"';

type Input = Readonly<Record<string, unknown>>;

/**
 * Check a rule and fill in its defaults.
 *
 * @throws InvalidArgumentError that names what is wrong and what to write instead.
 *
 * @example
 * ```ts
 * parseRule({ cron: "0 3 * * *", tz: "Europe/Berlin" });
 * // { cron: "0 3 * * *", tz: "Europe/Berlin", dst: { skipped: "next", repeated: "first" } }
 * ```
 */
export function parseRule(input: unknown): Rule {
  if (typeof input !== "object" || input === null || Array.isArray(input) || input instanceof Date) {
    throw new InvalidArgumentError(
      "a rule is not an object",
      'give one such as { cron: "0 3 * * *" } or { every: "10s" }',
    );
  }
  const given = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined));
  checkLengths(given);
  const kind = kindOf(given);
  checkKeys(given, kind);
  const rule = { ...checkKind(given, kind), ...checkOptions(given) };
  return Object.freeze(rule) as Rule;
}

/** Before any of it is read: whoever asks for a preview must not keep others waiting. */
function checkLengths(given: Input): void {
  const refuseLonger = (name: string, text: unknown): void => {
    if (typeof text === "string" && text.length > longestText)
      throw new InvalidArgumentError(
        `${name} has ${text.length} characters; 4,096 is the most`,
        "give less, or make several schedules of it",
      );
  };
  for (const [name, value] of Object.entries(given)) {
    refuseLonger("a name in a rule", name);
    refuseLonger(name, value);
    if (Array.isArray(value)) for (const item of value) refuseLonger(name, item);
  }
}

function kindOf(given: Input): Kind {
  const [kind, another] = kinds.filter((name) => name in given);
  if (kind === undefined) throw new InvalidArgumentError("a rule does not say when", `give one of ${kinds.join(", ")}`);
  if (another !== undefined)
    throw new InvalidArgumentError(`a rule has both ${kind} and ${another}`, "give one of them, or make two schedules");
  return kind;
}

function checkKeys(given: Input, kind: Kind): void {
  const known = [kind, ...optionsOfKind[kind], ...options];
  for (const key of Object.keys(given)) {
    if (known.includes(key)) continue;
    const elsewhere = Object.values(optionsOfKind).some((keys) => keys.includes(key));
    const [near] = nearestNames(key, known);
    throw new InvalidArgumentError(
      elsewhere ? `${key} means nothing in a rule with ${kind}` : `a rule has no ${JSON.stringify(key)}`,
      elsewhere
        ? "leave it out"
        : near
          ? `did you mean ${near}?`
          : `besides ${kind} it may have ${known.slice(1).join(", ")}`,
    );
  }
}

function checkKind(given: Input, kind: Kind): object {
  switch (kind) {
    case "cron": {
      const cron = checkCron(given["cron"]);
      return { cron, dst: checkDst(given["dst"], runsEveryHour(cron)) };
    }
    case "every":
      return checkEvery(given);
    case "after":
      return { after: checkLength("after", given["after"]) };
    case "rrule": {
      if (typeof given["rrule"] !== "string")
        throw new InvalidArgumentError("rrule is not a text", 'give a rule such as "FREQ=WEEKLY;BYDAY=MO"');
      if (given["anchor"] === undefined)
        throw new InvalidArgumentError(
          "a rule with rrule needs an anchor",
          "give the moment it counts from (DTSTART) as anchor",
        );
      parseRecurrence(given["rrule"]);
      const rrule = normalRecurrence(given["rrule"]);
      return { rrule, anchor: moment("anchor", given["anchor"]), dst: checkDst(given["dst"], recursEveryHour(rrule)) };
    }
    case "times":
      return { times: checkTimes(given["times"]) };
    case "at":
      return { at: moment("at", given["at"]) };
  }
}

function checkEvery(given: Input): object {
  const every = isoDuration("every", given["every"]) ?? checkLength("every", given["every"]);
  const anchor = given["anchor"] === undefined ? {} : { anchor: moment("anchor", given["anchor"]) };
  if (typeof every === "string") return { every, ...anchor, dst: checkDst(given["dst"], false) };
  if (given["dst"] === undefined) return { every, ...anchor };
  throw new InvalidArgumentError(
    "dst means nothing for elapsed time",
    'leave it out, or give a calendar duration such as every: "P1D"',
  );
}

function checkOptions(given: Input): object {
  const { tz, startsAt, endsAt, jitter, except, calendars } = given;
  const from = startsAt === undefined ? undefined : moment("startsAt", startsAt);
  const to = endsAt === undefined ? undefined : moment("endsAt", endsAt);
  if (from !== undefined && to !== undefined && Date.parse(to) <= Date.parse(from)) {
    throw new InvalidArgumentError(`endsAt (${to}) is not after startsAt (${from})`, "give a later end");
  }
  return {
    tz: tz === undefined ? "UTC" : checkZone(tz),
    ...(from === undefined ? {} : { startsAt: from }),
    ...(to === undefined ? {} : { endsAt: to }),
    ...(jitter === undefined ? {} : { jitter: checkLength("jitter", jitter, 0, longestJitterMs) }),
    ...(except === undefined ? {} : { except: checkExcept(except) }),
    ...(calendars === undefined ? {} : { calendars: checkCalendars(calendars) }),
  };
}

function checkCalendars(input: unknown): readonly string[] {
  if (
    Array.isArray(input) &&
    input.length <= maxCalendars &&
    input.every((name) => typeof name === "string" && name !== "")
  )
    return Object.freeze([...(input as string[])]);
  throw new InvalidArgumentError(
    `calendars cannot be ${JSON.stringify(input)}`,
    'give up to 100 names of calendars, such as ["holidays"]',
  );
}

function checkDst(input: unknown, everyHour: boolean): Required<DaylightSaving> {
  const usual = everyHour
    ? ({ skipped: "skip", repeated: "both" } as const)
    : ({ skipped: "next", repeated: "first" } as const);
  if (input === undefined) return Object.freeze({ ...usual });
  const remedy = 'give { skipped: "next" or "skip", repeated: "first", "second" or "both" }';
  if (typeof input !== "object" || input === null)
    throw new InvalidArgumentError(`dst cannot be ${JSON.stringify(input)}`, remedy);
  const { skipped = usual.skipped, repeated = usual.repeated, ...more } = input as DaylightSaving;
  const [unknown] = Object.keys(more);
  if (unknown !== undefined) throw new InvalidArgumentError(`dst has no ${JSON.stringify(unknown)}`, remedy);
  if (!["next", "skip"].includes(skipped))
    throw new InvalidArgumentError(`dst.skipped cannot be ${JSON.stringify(skipped)}`, remedy);
  if (!["first", "second", "both"].includes(repeated))
    throw new InvalidArgumentError(`dst.repeated cannot be ${JSON.stringify(repeated)}`, remedy);
  return Object.freeze({ skipped, repeated });
}

/** Elapsed time in milliseconds. */
function checkLength(name: string, input: unknown, least = shortestMs, most = longestMs): number {
  const iso = isoDuration(name, input);
  if (typeof iso === "string") {
    throw new InvalidArgumentError(
      `${name} cannot be ${JSON.stringify(input)}`,
      'give elapsed time such as "10s", "1d" or "PT15M": days and months differ in length',
    );
  }
  const ms = Math.round(iso ?? durationMs(input as Duration, name));
  if (ms >= least && ms <= most) return ms;
  const remedy =
    ms < least ? `give ${least} ms or more` : most === longestMs ? "give 100 years or less" : "give 31 days or less";
  throw new InvalidArgumentError(`${name} cannot be ${JSON.stringify(input)}`, remedy);
}

/**
 * An ISO 8601 duration: milliseconds when it is elapsed time, a text when it counts on the calendar, undefined when it
 * is none.
 */
function isoDuration(name: string, input: unknown): number | string | undefined {
  if (typeof input !== "string" || !/^\s*[+-]?P/i.test(input)) return undefined;
  const refuse = (remedy: string): InvalidArgumentError =>
    new InvalidArgumentError(`${name} cannot be ${JSON.stringify(input)}`, remedy);
  let duration: Temporal.Duration;
  try {
    duration = Temporal.Duration.from(input.trim());
  } catch {
    throw refuse('write ISO 8601 durations as "P1M", "P2W", "P1DT12H" or "PT15M"');
  }
  if (duration.sign <= 0) throw refuse("give a length of time greater than zero");
  const { years, months, weeks, days } = duration;
  const dayish = ((years * 12 + months) * yearMs) / 12 + (weeks * 7 + days) * 86_400_000;
  const time = duration.with({ years: 0, months: 0, weeks: 0, days: 0 }).total("milliseconds");
  if (dayish === 0) return time;
  if (dayish + time > longestMs) throw refuse("give 100 years or less");
  return duration.toString();
}

function checkTimes(input: unknown): readonly string[] {
  if (!Array.isArray(input) || input.length === 0)
    throw new InvalidArgumentError("times is not a list of moments", momentRemedy);
  if (input.length > maxTimes)
    throw new InvalidArgumentError(
      `times has ${input.length} moments; 10,000 is the most`,
      "use a rule, or several schedules",
    );
  const times = input.map((time, index) => moment(`times[${index}]`, time));
  return Object.freeze([...new Set(times)].toSorted());
}

/** A moment as an ISO text in UTC. All of them have the same length, so their order is that of the texts. */
function moment(name: string, input: unknown): string {
  const ms = input instanceof Date ? input.getTime() : typeof input === "string" ? instantOf(input) : Number.NaN;
  if (ms >= 0 && ms <= lastInstant) return new Date(ms).toISOString();
  const shown = input instanceof Date ? "an invalid or very distant Date" : JSON.stringify(input);
  throw new InvalidArgumentError(
    `${name} cannot be ${shown}`,
    Number.isNaN(ms) ? momentRemedy : "give a moment from 1970 to 9999",
  );
}

function instantOf(text: string): number {
  try {
    return Temporal.Instant.from(text.trim()).epochMilliseconds;
  } catch {
    return Number.NaN;
  }
}
