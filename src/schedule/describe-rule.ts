import { Temporal } from "temporal-polyfill";
import type { Rule } from "./rule.js";

const units = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1000],
  ["ms", 1],
] as const;
const calendarUnits = ["years", "months", "weeks", "days", "hours", "minutes", "seconds"] as const;

/** A rule in a few words: `cron 0 3 * * * in Europe/Berlin`, `every 10 s`, `10 s after each run`. */
export function describeRule(rule: Rule): string {
  if ("cron" in rule) return `cron ${rule.cron} in ${rule.tz}`;
  if ("rrule" in rule) return `rrule ${rule.rrule} from ${rule.anchor} in ${rule.tz}`;
  if ("after" in rule) return `${lengthText(rule.after)} after each run`;
  if ("at" in rule) return `once at ${rule.at}`;
  if ("times" in rule)
    return rule.times.length === 1
      ? `once at ${rule.times[0]}`
      : `${rule.times.length} times from ${rule.times[0]} to ${rule.times.at(-1)}`;
  return typeof rule.every === "number"
    ? `every ${lengthText(rule.every)}`
    : `every ${calendarText(rule.every)} in ${rule.tz}`;
}

function lengthText(ms: number): string {
  const parts: string[] = [];
  let rest = ms;
  for (const [unit, size] of units) {
    const amount = Math.floor(rest / size);
    rest -= amount * size;
    if (amount > 0) parts.push(`${amount} ${unit}`);
  }
  return parts.join(" ");
}

function calendarText(duration: string): string {
  const parsed = Temporal.Duration.from(duration);
  return calendarUnits
    .filter((unit) => parsed[unit] !== 0)
    .map((unit) => (parsed[unit] === 1 ? unit.slice(0, -1) : `${parsed[unit]} ${unit}`))
    .join(" ");
}
