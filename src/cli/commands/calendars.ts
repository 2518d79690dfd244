import { type Command, type Context, type ExitCode, databaseOptions } from "../command.js";
import { type Database, withDatabase } from "../database.js";
import { textTable } from "../text-table.js";

export const calendarsCommand: Command = {
  name: "calendars",
  summary: "list the calendars, or the days of one",
  details: ["The exit code is 1 when there is no such calendar."],
  arguments: [{ name: "NAME", help: "the calendar (default: list all)", optional: true }],
  options: databaseOptions,
  examples: ["millrace calendars", "millrace calendars holidays"],
  async run({ args, options, out }) {
    const [name] = args;
    return withDatabase(options, async (database) => {
      if (name === undefined) return list(database, out);
      const days = await daysOfCalendar(database, name);
      if (days) out.result({ name, days }, days);
      else out.result(null, `there is no calendar ${name}`);
      return days ? 0 : 1;
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

/** The days of a calendar, in order; undefined when there is none. */
export async function daysOfCalendar({ read }: Database, name: string): Promise<string[] | undefined> {
  const [row] = await read<{ days: string[] }>("select days::text[] as days from :calendars where name = $1", [name]);
  return row?.days.toSorted();
}
