import { createRequire } from "node:module";
import { describe, expect, it } from "vitest";
import { parseRule } from "../../src/schedule/parse-rule.js";
import type { RecurrenceRule } from "../../src/schedule/rule.js";
import { Slots } from "../../src/schedule/slots.js";
import { Random } from "../simulation/random.js";

const { RRule } = createRequire(import.meta.url)("rrule") as typeof import("rrule"); // its ES modules are not for Node
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const seconds = Number(process.env["SIMULATION_SECONDS"] ?? 0) / 4;
const seed = Number(process.env["SIMULATION_SEED"] ?? Date.now() % 1_000_000);

function slotsOf(text: string, anchor = "2026-01-01T09:00:00Z", more: Partial<RecurrenceRule> = {}): Slots {
  return new Slots(parseRule({ rrule: text, anchor, ...more }), { createdAt: 0 });
}

function first(count: number, text: string, anchor?: string, more?: Partial<RecurrenceRule>): string[] {
  return slotsOf(text, anchor, more)
    .between(0, Infinity, count)
    .map((slot) => new Date(slot).toISOString().replace(":00.000Z", "Z"));
}

describe("recurrence rules", () => {
  it("understands rules as calendars write them", () => {
    expect(first(3, "RRULE:FREQ=WEEKLY;BYDAY=TU,MO")).toEqual([
      "2026-01-05T09:00Z",
      "2026-01-06T09:00Z",
      "2026-01-12T09:00Z",
    ]);
    expect(first(3, "freq=monthly;byday=-1fr")).toEqual([
      "2026-01-30T09:00Z",
      "2026-02-27T09:00Z",
      "2026-03-27T09:00Z",
    ]);
    expect(first(3, "FREQ=MONTHLY", "2026-01-31T09:00Z")).toEqual([
      "2026-01-31T09:00Z",
      "2026-03-31T09:00Z",
      "2026-05-31T09:00Z",
    ]);
    expect(first(2, "FREQ=YEARLY;BYWEEKNO=53")).toEqual(["2026-12-31T09:00Z", "2032-12-30T09:00Z"]);
    expect(first(3, "FREQ=DAILY;BYHOUR=17,9")).toEqual(["2026-01-01T09:00Z", "2026-01-01T17:00Z", "2026-01-02T09:00Z"]);
    expect(first(2, "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29")).toEqual(["2028-02-29T09:00Z", "2032-02-29T09:00Z"]);
  });

  it("ends by COUNT and by UNTIL", () => {
    expect(first(10, "FREQ=DAILY;COUNT=2")).toHaveLength(2);
    expect(first(10, "FREQ=DAILY;UNTIL=20260103")).toHaveLength(3); // the last day counts whole
    expect(first(10, "FREQ=DAILY;UNTIL=20260103T090000Z")).toHaveLength(3);
    expect(first(10, "FREQ=DAILY;UNTIL=20260103T085959Z")).toHaveLength(2);
    const newYork = { tz: "America/New_York" }; // 09:00 there is 14:00 in UTC
    expect(first(10, "FREQ=DAILY;UNTIL=20260103T090000", "2026-01-01T14:00Z", newYork)).toHaveLength(3);
    expect(first(10, "FREQ=DAILY;UNTIL=20260103T090000Z", "2026-01-01T14:00Z", newYork)).toHaveLength(2);
  });

  it("[#75] keeps the rhythm of what runs every hour when clocks change, and the wall time of the rest", () => {
    const berlin = { tz: "Europe/Berlin" };
    const night = [Date.parse("2026-10-24T22:00Z"), Date.parse("2026-10-25T04:00Z")] as const;
    expect(slotsOf("FREQ=MINUTELY;INTERVAL=30", "2026-01-01T00:00Z", berlin).between(...night, 100)).toHaveLength(12);
    expect(slotsOf("FREQ=DAILY;BYHOUR=2", "2026-01-01T00:00Z", berlin).between(...night, 100)).toEqual([
      Date.parse("2026-10-25T00:00Z"),
    ]);
  });

  it(
    "agrees with another implementation on rules by days, weeks, months and years",
    { timeout: seconds * 1000 + 60_000 },
    () => {
      const random = new Random(seed);
      const end = performance.now() + seconds * 1000;
      let compared = 0;
      // The other one takes some ten milliseconds for each.
      for (let round = 0; round < 40 || performance.now() < end; round += 1) {
        const text = randomRule(random);
        const anchor = new Date(
          Date.UTC(2020, random.between(0, 11), random.between(1, 28), random.between(0, 23), random.between(0, 59)),
        );
        const until = new Date(anchor.getTime() + 3 * 366 * dayMs);
        const slots = slotsOf(text, anchor.toISOString());
        // the other one would look for the next until the year 9999, for half a minute
        if (slots.next(until.getTime()) === null) continue;
        compared += 1;
        const theirs: number[] = [];
        new RRule({ ...RRule.parseString(text), dtstart: anchor, until }, true).all(
          (date) => theirs.push(date.getTime()) < 60,
        );
        const about = `${text} from ${anchor.toISOString()}; SIMULATION_SEED=${seed}`;
        expect(slots.between(0, until.getTime(), theirs.length === 60 ? 60 : 1000).map(iso), about).toEqual(
          theirs.map(iso),
        );
        const after = random.between(anchor.getTime(), until.getTime());
        const later = theirs.find((slot) => slot > after);
        if (later !== undefined) expect(iso(slots.next(after)!), about).toBe(iso(later));
      }
      expect(compared).toBeGreaterThan(20);
    },
  );

  it.each([
    // each second, minute or day is tried, one by one, by what the rule says in words
    ["FREQ=HOURLY;INTERVAL=5", 60, (m: number) => m % 300 === 0],
    ["FREQ=HOURLY;BYMINUTE=40,10;BYDAY=MO", 60, (m: number) => [10, 40].includes(m % 60) && weekday(m) === 1],
    ["FREQ=HOURLY;BYMINUTE=0,20,40;BYSETPOS=-1", 60, (m: number) => m % 60 === 40],
    ["FREQ=MINUTELY;INTERVAL=90;BYHOUR=3", 60, (m: number) => m % 90 === 0 && hour(m) === 3],
    [
      "FREQ=MINUTELY;INTERVAL=7;BYHOUR=2,3;BYMINUTE=0,1,2,3;BYMONTH=1",
      60,
      (m: number) => m % 7 === 0 && [2, 3].includes(hour(m)) && m % 60 < 4 && month(m) === 1,
    ],
    ["FREQ=MINUTELY;BYDAY=SA;BYMONTHDAY=-1", 60, (m: number) => weekday(m) === 6 && month(m + 1440) !== month(m)],
    ["FREQ=SECONDLY;INTERVAL=61;BYMINUTE=7", 1, (s: number) => s % 61 === 0 && Math.floor(s / 60) % 60 === 7],
    [
      "FREQ=SECONDLY;INTERVAL=4;BYSECOND=0,30;BYHOUR=0",
      1,
      (s: number) => s % 4 === 0 && [0, 30].includes(s % 60) && Math.floor(s / 3600) % 24 === 0,
    ],
    [
      "FREQ=WEEKLY;INTERVAL=2;BYDAY=TH,MO",
      86_400,
      (d: number) => [1, 4].includes(weekday(d * 1440)) && Math.floor((d + 3) / 7) % 2 === 0,
    ],
    [
      "FREQ=WEEKLY;INTERVAL=2;BYDAY=SU,MO;WKST=SU",
      86_400,
      (d: number) => [0, 1].includes(weekday(d * 1440)) && Math.floor((d + 4) / 7) % 2 === 0,
    ],
    ["FREQ=WEEKLY;BYDAY=MO,FR;BYSETPOS=2", 86_400, (d: number) => weekday(d * 1440) === 5], // also in the anchor's week
    [
      "FREQ=MONTHLY;BYDAY=-1SA",
      86_400,
      (d: number) => weekday(d * 1440) === 6 && month((d + 7) * 1440) !== month(d * 1440),
    ],
    ["FREQ=MONTHLY;BYMONTHDAY=13;BYDAY=FR", 86_400, (d: number) => weekday(d * 1440) === 5 && date(d) === 13],
    [
      "FREQ=YEARLY;BYYEARDAY=-1,32",
      86_400,
      (d: number) => (date(d) === 31 && month(d * 1440) === 12) || (date(d) === 1 && month(d * 1440) === 2),
    ],
    ["FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1", 86_400, isLastWorkday],
  ] as const)("agrees with trying every one for %s", (text, unit, matches) => {
    const start = Date.UTC(2026, 0, 1) / 1000;
    const expected: number[] = [];
    for (let second = start; second < start + (unit === 1 ? 3 : unit === 60 ? 45 : 1000) * 86_400; second += unit) {
      if (matches((second - start) / unit)) expected.push(second * 1000);
    }
    expect(expected.length).toBeGreaterThan(2);
    const slots = slotsOf(text, new Date(start * 1000).toISOString());
    expect(slots.between(0, expected.at(-1)!, 100_000)).toEqual(expected);
  });

  it("does not count up from an anchor long ago, and gives up on what never comes", () => {
    const now = Date.UTC(2026, 5, 1);
    const started = performance.now();
    for (const text of [
      "FREQ=SECONDLY",
      "FREQ=SECONDLY;INTERVAL=7;BYHOUR=3",
      "FREQ=MINUTELY;INTERVAL=13",
      "FREQ=HOURLY;BYMONTH=2;BYMONTHDAY=29",
      "FREQ=DAILY",
    ]) {
      expect(slotsOf(text, "1971-01-01T00:00Z").next(now)).toBeGreaterThan(now);
    }
    for (const text of [
      "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30",
      "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30",
      "FREQ=SECONDLY;INTERVAL=2;BYSECOND=1",
      "FREQ=HOURLY;INTERVAL=2;BYHOUR=3",
      "FREQ=YEARLY;INTERVAL=1000000;BYMONTHDAY=31;BYMONTH=2",
      "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30;COUNT=5",
    ]) {
      expect(slotsOf(text, "2026-01-01T00:00Z").next(-1), text).toBeNull();
    }
    // about 0.2 s on an idle machine; the bound only says that it ends
    expect(performance.now() - started).toBeLessThan(10_000);
  });
});

/** A rule that both implementations read alike: their lists are in order, since the other one does not sort. */
function randomRule(random: Random): string {
  const some = (values: readonly (number | string)[], most: number): string => {
    const chosen = new Set(Array.from({ length: random.between(1, most) }, () => random.between(0, values.length - 1)));
    return [...chosen]
      .toSorted((a, b) => a - b)
      .map((index) => values[index])
      .join(",");
  };
  const range = (low: number, high: number): number[] =>
    Array.from({ length: high - low + 1 }, (_, index) => low + index);
  const days = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"];
  const freq = random.pick(["DAILY", "WEEKLY", "MONTHLY", "YEARLY"]);
  const parts = [`FREQ=${freq}`];
  const maybe = (chance: number, part: () => string): void => {
    if (random.chance(chance)) parts.push(part());
  };
  maybe(0.5, () => `INTERVAL=${random.between(1, freq === "YEARLY" ? 2 : 5)}`);
  maybe(0.3, () => `WKST=${random.pick(days)}`);
  maybe(0.3, () => `BYMONTH=${some(range(1, 12), 4)}`);
  if (freq === "MONTHLY" || freq === "YEARLY") {
    maybe(0.3, () => `BYMONTHDAY=${random.chance(0.3) ? -random.between(1, 5) : some(range(1, 31), 5)}`);
    maybe(
      0.4,
      () => `BYDAY=${random.chance(0.5) ? some(days, 4) : `${random.pick([1, 2, 3, -1, -2])}${random.pick(days)}`}`,
    );
  } else {
    maybe(0.5, () => `BYDAY=${some(days, 4)}`);
  }
  const numbered = parts.some((part) => /BYDAY=-?\d/.test(part));
  if (freq === "YEARLY" && !numbered) maybe(0.2, () => `BYWEEKNO=${some(range(2, 51), 3)};BYDAY=${random.pick(days)}`);
  maybe(0.3, () => `BYHOUR=${some(range(0, 23), 3)}`);
  maybe(0.2, () => `BYMINUTE=${some(range(0, 59), 2)}`);
  // In a week, the other one counts places from the anchor's day.
  if (freq !== "WEEKLY" && parts.some((part) => /^BY(DAY|MONTHDAY|HOUR)/.test(part)))
    maybe(0.3, () => `BYSETPOS=${random.pick([1, 2, -1])}`);
  const names = parts.join(";").match(/BYDAY/g) ?? [];
  return names.length > 1 ? randomRule(random) : parts.join(";");
}

function hour(minutes: number): number {
  return Math.floor(minutes / 60) % 24;
}

/** Of minutes since 2026-01-01, as a Date counts weekdays. */
function weekday(minutes: number): number {
  return new Date(Date.UTC(2026, 0, 1) + minutes * 60_000).getUTCDay();
}

function date(day: number): number {
  return new Date(Date.UTC(2026, 0, 1 + day)).getUTCDate();
}

/** A workday after which its month has no other. */
function isLastWorkday(day: number): boolean {
  const isWorkday = (other: number): boolean => ![0, 6].includes(weekday(other * 1440));
  const rest = [1, 2, 3].filter((more) => month((day + more) * 1440) === month(day * 1440));
  return isWorkday(day) && !rest.some((more) => isWorkday(day + more)) && rest.length < 3;
}

function month(minutes: number): number {
  return new Date(Date.UTC(2026, 0, 1) + minutes * 60_000).getUTCMonth() + 1;
}

function iso(instant: number): string {
  return new Date(instant).toISOString();
}
