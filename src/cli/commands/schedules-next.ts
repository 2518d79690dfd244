import type { ScheduleRecord } from "../../db/schedule-engine.js";
import { describeRule } from "../../schedule/describe-rule.js";
import type { Rule } from "../../schedule/rule.js";
import { parseRule } from "../../schedule/parse-rule.js";
import { Slots } from "../../schedule/slots.js";
import { type Command, type Context, type ExitCode, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import type { Options } from "../options.js";
import { momentOf, ruleOf, ruleOptions, zonedText, zonedTime } from "../schedule-rule.js";
import { textTable } from "../text-table.js";
import { UsageError } from "../usage-error.js";

export const schedulesNextCommand: Command = {
  name: "schedules next",
  summary: "show when a schedule, or a rule you want to try, runs next, in its zone and in UTC",
  details: [
    "A rule needs no database. With `--from` you see the slots of any time, such as the night on which clocks change. Jitter is not added. The exit code is 1 when there are none.",
  ],
  arguments: [{ name: "NAME", help: "the schedule; none with --cron, --every, --rrule or --at", optional: true }],
  options: {
    count: { value: "N", help: "how many", default: "10" },
    from: {
      value: "TIME",
      help: "those after this time, such as 2026-03-28T12:00Z, or from this day on, such as 2026-03-28 (default now)",
    },
    ...ruleOptions,
    ...databaseOptions,
  },
  examples: [
    "millrace schedules next nightly",
    'millrace schedules next --cron "30 2 * * *" --tz Europe/Berlin --from 2026-03-28 --count 3',
    "millrace schedules next --every P1M --anchor 2026-01-31T08:00Z --json",
  ],
  async run({ args, options, out }) {
    const [name] = args as [string?];
    const count = options.integer("count", 1, 10_000);
    const rule = ruleOf(options, ["cron", "every", "rrule", "at"]);
    if ((name === undefined) === (rule === undefined))
      throw new UsageError(
        "nothing says when",
        "give the NAME of a schedule, or one of --cron, --every, --rrule and --at",
      );
    if (rule)
      return show(
        slotsAfter(new Slots(rule, { createdAt: Date.now() }), fromOf(options, rule, Date.now()), count),
        rule,
        out,
      );
    return withDatabase(options, async ({ engine }) => {
      const [[schedule], now] = await Promise.all([engine.schedules.list({ name: name! }), engine.schedules.now()]);
      if (!schedule) {
        out.result(null, `there is no schedule ${name}`);
        return 1;
      }
      const stored = parseRule(schedule.rule);
      if (schedule.pausedAt ?? schedule.finishedAt) out.note(`${name} is ${schedule.health}: it makes no runs`);
      if ("after" in stored) {
        if (!schedule.nextSlot)
          out.note(`the next slot of ${name} counts from the end of a run: ${describeRule(stored)}`);
        return show(schedule.nextSlot ? [schedule.nextSlot] : [], stored, out);
      }
      const blocked = await engine.schedules.blockedDays(stored.calendars ?? []);
      const slots = new Slots(stored, { createdAt: schedule.createdAt.getTime(), blocked: new Set(blocked) });
      return show(slotsAfter(slots, fromOf(options, stored, afterLast(schedule, now)), count), stored, out);
    });
  },
};

/** A slot that was made does not come again. */
const afterLast = ({ lastSlot }: ScheduleRecord, now: Date): number =>
  Math.max(now.getTime(), lastSlot?.getTime() ?? 0);

function fromOf(options: Options, { tz }: Rule, otherwise: number): number {
  const from = options.given("from");
  return from === undefined ? otherwise : momentOf("from", from, tz).getTime() - 1;
}

const slotsAfter = (slots: Slots, after: number, count: number): Date[] =>
  slots.between(after, Infinity, count).map((slot) => new Date(slot));

function show(slots: readonly Date[], { tz }: Rule, out: Context["out"]): ExitCode {
  const zones = tz === "UTC" ? ["UTC"] : [tz, "UTC"];
  out.result(
    slots.map((slot) => ({ slot, local: zonedText(slot, tz) })),
    slots.length === 0
      ? "no slots"
      : textTable(
          zones.map((zone) => ({ title: zone })),
          slots.map((slot) => zones.map((zone) => zonedTime(slot, zone))),
          out.width,
        ),
  );
  return slots.length === 0 ? 1 : 0;
}
