import { duration } from "../../format.js";
import type { Json } from "../../wire.js";

/** A rule in a few words: `0 3 * * *, Europe/Berlin`. */
export function ruleText(rule: Json): string {
  if (rule === null || typeof rule !== "object" || Array.isArray(rule)) return String(rule);
  const { cron, every, after, rrule, times, at, tz } = rule as Record<string, Json | undefined>;
  const text = (value: Json | undefined) =>
    typeof value === "string" ? value : typeof value === "number" ? duration(value / 1000) : JSON.stringify(value);
  const zone = tz && tz !== "UTC" ? `, ${text(tz)}` : "";
  if (cron !== undefined) return `${text(cron)}${zone}`;
  if (every !== undefined) return `every ${text(every)}${zone}`;
  if (after !== undefined) return `${text(after)} after each run`;
  if (rrule !== undefined) return `${text(rrule)}${zone}`;
  if (at !== undefined) return `once, ${text(at)}`;
  return Array.isArray(times) ? `at ${times.length} times` : JSON.stringify(rule);
}
