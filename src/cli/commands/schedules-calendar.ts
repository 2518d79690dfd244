import { Temporal } from "temporal-polyfill";
import { type Command, type Context, type ExitCode, databaseOptions } from "../command.js";
import { type Database, withDatabase } from "../database.js";
import { plural } from "../format.js";
import { textTable } from "../text-table.js";
import { UsageError } from "../usage-error.js";

const mostDays = 10_000;

export const schedulesCalendarCommand: Command = {
  name: "schedules calendar",
  summary: "name days on which schedules with this calendar make no run, or show them",
  details: [
    "Days that are given replace those there were. Without days, those of the calendar are shown; without a name, all calendars. The exit code is 1 when there is no such calendar.",
  ],
  arguments: [
    { name: "NAME", help: "the calendar (default: show all)", optional: true },
    {
      name: "DAY",
      help: "a day, such as 2026-12-25, or the first and the last of several, 2026-12-24/2027-01-01",
      optional: true,
      many: true,
    },
  ],
  options: { forget: { help: "forget the calendar" }, ...databaseOptions },
  examples: [
    "millrace schedules calendar holidays 2026-12-25 2026-12-29/2027-01-01",
    "millrace schedules calendar holidays",
    "millrace schedules calendar holidays --forget",
  ],
  async run({ args, options, out }) {
    const [name, ...entries] = args;
    const days = [...new Set(entries.flatMap(daysOf))].toSorted();
    const forget = options.flag("forget");
    if (forget && (name === undefined || days.length > 0))
      throw new UsageError("--forget needs the name of a calendar, and no days", "give one of the two");
    return withDatabase(options, async (database) => {
      if (name === undefined) return list(database, out);
      if (days.length === 0 && !(await daysOfCalendar(database, name))) {
        out.result(null, `there is no calendar ${name}`);
        return 1;
      }
      if (forget || days.length > 0) await database.engine.schedules.calendarPut(name, days);
      const now = (await daysOfCalendar(database, name)) ?? [];
      out.result(
        { name, days: now },
        forget ? `${name} is forgotten` : days.length > 0 ? `${name} has ${plural(now.length, "day")}` : now,
      );
      return 0;
    });
  },
};

async function list({ read }: Database, out: Context["out"]): Promise<ExitCode> {
  const calendars = await read<{ name: string; days: string[] }>(
    "select name, days::text[] as days from :calendars order by name",
  );
  out.result(
    calendars,
    calendars.length === 0
      ? "no calendars"
      : textTable(
          [{ title: "NAME" }, { title: "DAYS", align: "right" }, { title: "FIRST" }, { title: "LAST" }],
          calendars.map(({ name, days }) => [name, String(days.length), days.toSorted()[0]!, days.toSorted().at(-1)!]),
          out.width,
        ),
  );
  return 0;
}

async function daysOfCalendar({ read }: Database, name: string): Promise<string[] | undefined> {
  const [row] = await read<{ days: string[] }>("select days::text[] as days from :calendars where name = $1", [name]);
  return row?.days.toSorted();
}

/** The days of `2026-12-25`, or of `2026-12-24/2027-01-01`. */
function daysOf(entry: string): string[] {
  const [first, last = first, ...more] = entry.split("/").map(dayOf);
  if (!first || !last || more.length > 0 || Temporal.PlainDate.compare(first, last) > 0) {
    throw new UsageError(
      `"${entry}" is not a day`,
      "give days such as 2026-12-25, or the first and the last of several, 2026-12-24/2027-01-01",
    );
  }
  const { days } = first.until(last);
  if (days >= mostDays) throw new UsageError(`"${entry}" has more than 10,000 days`, "give fewer");
  return Array.from({ length: days + 1 }, (_, n) => first.add({ days: n }).toString());
}

function dayOf(text: string): Temporal.PlainDate | undefined {
  try {
    return /^\d{4}-\d\d-\d\d$/.test(text) ? Temporal.PlainDate.from(text) : undefined;
  } catch {
    return undefined;
  }
}
