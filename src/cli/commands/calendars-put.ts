import { Temporal } from "temporal-polyfill";
import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { plural } from "../format.js";
import { UsageError } from "../usage-error.js";
import { daysOfCalendar } from "./calendars.js";

const maxDays = 10_000;

export const calendarsPutCommand: Command = {
  name: "calendars put",
  summary: "create or replace a calendar: days on which its schedules do not run",
  details: [
    "The days replace those there were. The exit code is 1 when a calendar that shall be forgotten is not there.",
  ],
  arguments: [
    { name: "NAME", help: "the calendar" },
    {
      name: "DAY",
      help: "a day, such as 2026-12-25, or the first and the last of several, 2026-12-24/2027-01-01",
      optional: true,
      many: true,
    },
  ],
  options: { forget: { help: "forget the calendar" }, ...databaseOptions },
  examples: [
    "millrace calendars put holidays 2026-12-25 2026-12-29/2027-01-01",
    "millrace calendars put holidays --forget",
  ],
  async run({ args, options, out }) {
    const [name, ...entries] = args as [string, ...string[]];
    const days = [...new Set(entries.flatMap(daysOf))].toSorted();
    const forget = options.flag("forget");
    if (forget === days.length > 0) throw new UsageError("neither days nor --forget, or both", "give one of the two");
    return withDatabase(options, async (database) => {
      if (forget && !(await daysOfCalendar(database, name))) {
        out.result(null, `there is no calendar ${name}`);
        return 1;
      }
      await database.engine.schedules.calendarPut(name, days);
      out.result({ name, days }, forget ? `${name} is forgotten` : `${name} has ${plural(days.length, "day")}`);
      return 0;
    });
  },
};

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
  if (days >= maxDays) throw new UsageError(`"${entry}" has more than 10,000 days`, "give fewer");
  return Array.from({ length: days + 1 }, (_, n) => first.add({ days: n }).toString());
}

function dayOf(text: string): Temporal.PlainDate | undefined {
  try {
    return /^\d{4}-\d\d-\d\d$/.test(text) ? Temporal.PlainDate.from(text) : undefined;
  } catch {
    return undefined;
  }
}
