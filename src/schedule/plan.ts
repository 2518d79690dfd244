import type { DueSchedule, FireTarget } from "../db/schedule-engine.js";
import { jitterMs } from "./jitter.js";
import { parseRule } from "./parse-rule.js";
import { Recent } from "./recent.js";
import type { Rule } from "./rule.js";
import { Slots } from "./slots.js";

/** A slot that is late by no more than this was not missed. */
const toleranceMs = 60_000;
/** More missed slots than this are not counted one by one. */
const maxCounted = 10_000;

/** By their text: most schedules that are due were due before. */
const rules = new Recent<Rule>(100_000, (text) => parseRule(JSON.parse(text)));

/**
 * What to make of a schedule that is due, and when its next slot comes. Decided by its rule and by the database's time
 * alone, so that whoever decides it comes to the same.
 */
export function planFire(due: DueSchedule, nowMs: number): FireTarget {
  const { name, revision, expected } = due;
  const target = { name, revision, expected, slots: [], nextMs: null };
  try {
    const rule = rules.get(JSON.stringify(due.rule));
    const slots = new Slots(rule, {
      createdAt: due.createdMs,
      ...(due.blocked ? { blocked: new Set(due.blocked) } : {}),
    });
    if (due.slotMs === null) return { ...target, nextMs: slots.next(baseOf(due, rule)) };
    if ("after" in rule) return { ...target, slots: [slot(due, rule, due.slotMs, false)], awaitsEnd: true };
    return { ...target, ...catchUp(due, rule, slots, due.slotMs, nowMs), nextMs: slots.next(nowMs) };
  } catch (error) {
    return { ...target, wrong: error instanceof Error ? error.message : String(error) };
  }
}

/** What the next slot is the first after. One that counts from the end of a run begins at once. */
function baseOf({ baseMs, isFirst }: DueSchedule, rule: Rule): number {
  return "after" in rule && isFirst ? baseMs - rule.after : baseMs;
}

/**
 * Of the slots up to now those that are to be made, by the rule for missed ones; the newest was not missed, when it has
 * only just come.
 */
function catchUp(
  due: DueSchedule,
  rule: Rule,
  slots: Slots,
  slotMs: number,
  nowMs: number,
): Pick<FireTarget, "slots" | "missed"> {
  const { missed = "last" } = due.options;
  const most = typeof missed === "object" ? ("all" in missed ? missed.all : maxCounted) : 1;
  const sinceMs =
    typeof missed === "object" && "withinSeconds" in missed ? nowMs - missed.withinSeconds * 1000 : -Infinity;
  const later = slots.latest(slotMs, nowMs, most);
  const newest = later.at(-1) ?? slotMs;
  const candidates = later.length < most ? [slotMs, ...later] : later;
  const isOnTime = nowMs - newest <= toleranceMs;
  const made = candidates.filter((atMs) => (atMs === newest && isOnTime) || (missed !== "none" && atMs >= sinceMs));
  const left = 1 + slots.count(slotMs, nowMs, maxCounted) - made.length;
  return {
    slots: made.map((atMs) => slot(due, rule, atMs, made.length > 1)),
    ...(left > 0 ? { missed: { slots: left, fromMs: slotMs } } : {}),
  };
}

function slot({ name }: DueSchedule, rule: Rule, atMs: number, late: boolean): FireTarget["slots"][number] {
  return { atMs, runAtMs: atMs + (rule.jitter === undefined ? 0 : jitterMs(name, atMs, rule.jitter)), late };
}
