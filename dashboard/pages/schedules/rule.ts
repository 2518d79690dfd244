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

export const ruleHint = "cron (*/10 9-17 * * MON-FRI), every 15m, FREQ=MONTHLY;BYDAY=FR, or a rule as JSON";

/**
 * What somebody typed as the rule it means; what it does not know is cron, and the server says what is wrong with it.
 */
export function ruleOf(text: string, tz: string): unknown {
  if (text.startsWith("{")) {
    try {
      return JSON.parse(text);
    } catch {
      throw new Error("this is not JSON");
    }
  }
  if (text.startsWith("every ")) return { every: text.slice(6).trim() };
  if (/^FREQ=/i.test(text)) return { rrule: text, tz, anchor: new Date().toISOString() };
  return { cron: text, ...(tz && { tz }) };
}

/** A rule as it can be typed again: `ruleOf` makes the same of it. */
export function ruleParts(rule: Json): { readonly text: string; readonly zone: string } {
  const { cron, tz = "", ...rest } = (rule ?? {}) as Record<string, Json | undefined>;
  const isPlain = typeof cron === "string" && typeof tz === "string" && Object.keys(rest).length === 0;
  return isPlain ? { text: cron, zone: tz } : { text: JSON.stringify(rule), zone: "" };
}
