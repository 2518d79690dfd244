import { setImmediate as turn } from "node:timers/promises";
import type { Engine } from "../../db/engine.js";
import { InvalidArgumentError } from "../../db/errors.js";
import type { Rule } from "../../schedule/rule.js";
import { Slots } from "../../schedule/slots.js";

/**
 * Slots that are rare are searched for, up to the year 9999: whoever asks gets those that were found after so much
 * work.
 */
const maxMs = 1000;
/** So long at a stretch; then others are served. */
const stretchMs = 20;
/** A rule with COUNT is counted from its anchor, in one go, up to where the answer begins. */
const farthestYears = 100;

/**
 * The first so many slots of a rule after a time, in epoch milliseconds; fewer where they are rare. `createdAt` is what
 * it counts from unless it says.
 */
export async function upcoming(
  engine: Engine,
  rule: Rule,
  of: { readonly createdAt: number; readonly after: number; readonly count: number },
): Promise<Date[]> {
  const { createdAt, after, count } = of;
  if (new Date(after).getUTCFullYear() > new Date().getUTCFullYear() + farthestYears)
    throw new InvalidArgumentError(
      `slots after ${new Date(after).toISOString()} cannot be told`,
      `give a time within ${farthestYears} years`,
    );
  const slots = new Slots(rule, {
    createdAt,
    blocked: new Set(await engine.schedules.blockedDays(rule.calendars ?? [])),
  });
  if ("after" in rule) return slots.between(after - rule.after, Infinity, 1).map((slot) => new Date(slot));
  const found: Date[] = [];
  let workedMs = 0;
  let began = performance.now();
  for (let slot = slots.next(after); slot !== null && found.length < count; slot = slots.next(slot)) {
    found.push(new Date(slot));
    const ms = performance.now() - began;
    if (ms < stretchMs) continue;
    workedMs += ms;
    if (workedMs > maxMs) break;
    await turn();
    began = performance.now();
  }
  return found;
}
