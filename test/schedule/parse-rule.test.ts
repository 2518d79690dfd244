import { describe, expect, it } from "vitest";
import { InvalidArgumentError } from "../../src/db/errors.js";
import { describeRule } from "../../src/schedule/describe-rule.js";
import { parseRule } from "../../src/schedule/parse-rule.js";

const anchor = "2026-01-01T00:00:00Z";
const rrule = (text: string): unknown => ({ rrule: text, anchor });

/** Bad rules and what the message must say. */
const refused: readonly (readonly [rule: unknown, message: string])[] = [
  // the shape
  [undefined, "a rule is not an object"],
  ["0 3 * * *", "a rule is not an object"],
  [[], "a rule is not an object"],
  [{}, "a rule does not say when (give one of cron, every, after, rrule, times, at)"],
  [{ cron: undefined }, "a rule does not say when"],
  [{ cron: "* * * * *", every: "1m" }, "a rule has both cron and every"],
  [{ cron: "* * * * *", startAt: anchor }, 'a rule has no "startAt" (did you mean startsAt?)'],
  [{ cron: "* * * * *", colour: 1 }, 'a rule has no "colour" (besides cron it may have dst, tz,'],
  [{ cron: "* * * * *", anchor }, "anchor means nothing in a rule with cron"],
  [{ at: anchor, dst: {} }, "dst means nothing in a rule with at"],
  [{ every: "10s", dst: {} }, "dst means nothing for elapsed time"],
  // cron
  [{ cron: 5 }, "cron is not a text"],
  [{ cron: "" }, 'the cron expression "" has 0 fields'],
  [{ cron: "* * * *" }, 'the cron expression "* * * *" has 4 fields (give five'],
  [{ cron: "* * * * * * *" }, "has 7 fields"],
  [{ cron: "2026-01-01T00:00:00" }, "has 1 field ("],
  [{ cron: "@reboot" }, 'the cron expression "@reboot" is not known (use @yearly'],
  [{ cron: "61 * * * *" }, 'the cron expression "61 * * * *" is wrong in field 1 (minute), at character 1: "61"'],
  [{ cron: "0 24 * * *" }, 'field 2 (hour), at character 3: "24"'],
  [{ cron: "0  0   32 * *" }, 'field 3 (day of month), at character 8: "32"'],
  [{ cron: "0 0 * 13 *" }, "field 4 (month), at character 7"],
  [{ cron: "0 0 * JAN1 *" }, "field 4 (month)"],
  [{ cron: "0 0 * * MONDAY" }, "field 5 (weekday), at character 9"],
  [{ cron: "0 0 * * 8" }, "field 5 (weekday)"],
  [{ cron: "0 0 * * FRI#6" }, "field 5 (weekday)"],
  [{ cron: "0 0 * * FRI-MON" }, "field 5 (weekday)"],
  [{ cron: "0 22-2 * * *" }, 'field 2 (hour), at character 3: "22-2" (hours are 0 to 23'],
  [{ cron: "*/0 * * * *" }, "field 1 (minute)"],
  [{ cron: "5/15 * * * *" }, "field 1 (minute)"],
  [{ cron: "1,,2 * * * *" }, "field 1 (minute)"],
  [{ cron: "-5 * * * *" }, "field 1 (minute)"],
  [{ cron: "1.5 * * * *" }, "field 1 (minute)"],
  [{ cron: "60 * * * * *" }, "field 1 (second)"],
  [{ cron: "0 0 1L2 * *" }, "field 3 (day of month)"],
  [{ cron: "x y * * *" }, "field 1 (minute)"],
  // zones
  [{ cron: "* * * * *", tz: "Europe/Berln" }, 'there is no time zone "Europe/Berln" (did you mean "Europe/Berlin"'],
  [{ cron: "* * * * *", tz: "berlin" }, 'did you mean "Europe/Berlin"?'],
  [{ cron: "* * * * *", tz: "Middle-earth/Shire" }, 'use a name such as "Europe/Berlin"'],
  [{ cron: "* * * * *", tz: "2026-01-01T00:00[Europe/Berlin]" }, "there is no time zone"],
  [{ cron: "* * * * *", tz: "+02:00" }, "there is no time zone"],
  [{ cron: "* * * * *", tz: "" }, "there is no time zone"],
  [{ cron: "* * * * *", tz: 1 }, "tz is not a text"],
  // daylight saving
  [{ cron: "* * * * *", dst: "next" }, 'dst cannot be "next"'],
  [{ cron: "* * * * *", dst: { skipped: "later" } }, 'dst.skipped cannot be "later" (give'],
  [{ cron: "* * * * *", dst: { repeated: "never" } }, 'dst.repeated cannot be "never"'],
  [{ cron: "* * * * *", dst: { skip: "next" } }, 'dst has no "skip"'],
  // lengths
  ...(["every", "after"] as const).flatMap((kind): [unknown, string][] => [
    [{ [kind]: 0 }, `${kind} cannot be 0 (give 100 ms or more)`],
    [{ [kind]: -5 }, `${kind} cannot be -5`],
    [{ [kind]: Number.NaN }, `${kind} cannot be NaN`],
    [{ [kind]: Infinity }, `${kind} cannot be Infinity`],
    [{ [kind]: null }, `${kind} cannot be null`],
    [{ [kind]: "99ms" }, "give 100 ms or more"],
    [{ [kind]: "soon" }, `${kind} cannot be "soon"`],
    [{ [kind]: "PT0S" }, "greater than zero"],
    [{ [kind]: "-PT5M" }, "greater than zero"],
    [{ [kind]: "P" }, "write ISO 8601 durations"],
    [{ [kind]: 1e15 }, "100 years or less"],
  ]),
  [{ every: "-P1M" }, "greater than zero"],
  [{ every: "P1.5M" }, "write ISO 8601 durations"],
  [{ every: "P101Y" }, "100 years or less"],
  [{ after: "P1D" }, "give elapsed time"],
  [{ every: "1m", jitter: -1 }, "jitter cannot be -1"],
  [{ every: "1m", jitter: "32d" }, "31 days or less"],
  // moments
  [{ at: "tomorrow" }, 'at cannot be "tomorrow" (give a Date, or a text with its offset'],
  [{ at: "2026-01-01T00:00:00" }, "with its offset"],
  [{ at: "2026-02-30T00:00:00Z" }, "at cannot be"],
  [{ at: new Date(Number.NaN) }, "at cannot be an invalid"],
  [{ at: 1_700_000_000_000 }, "at cannot be"],
  [{ at: "1969-12-31T00:00:00Z" }, "from 1970 to 9999"],
  [{ times: [] }, "times is not a list of moments"],
  [{ times: anchor }, "times is not a list of moments"],
  [{ times: [anchor, "never"] }, 'times[1] cannot be "never"'],
  [{ times: Array.from({ length: 10_001 }, () => anchor) }, "10,000 is the most"],
  [{ every: "1m", startsAt: anchor, endsAt: anchor }, "is not after startsAt"],
  [{ every: "1m", startsAt: "2026-01-02T00:00Z", endsAt: anchor }, "is not after startsAt"],
  [{ every: "1m", anchor: "x" }, 'anchor cannot be "x"'],
  // days
  [{ every: "1m", except: "2026-12-25" }, "except is not a list"],
  [{ every: "1m", except: ["25.12.2026"] }, 'except has "25.12.2026", which is no day'],
  [{ every: "1m", except: ["2026-02-30"] }, "which is no day"],
  [{ every: "1m", except: ["2026-12-24/"] }, "which is no day"],
  [{ every: "1m", except: ["2026-12-24/2026-12-25/2026-12-26"] }, "which is no day"],
  [{ every: "1m", except: [5] }, "which is no day"],
  [{ every: "1m", except: ["2026-12-26/2026-12-24"] }, "ends before it begins"],
  // recurrence rules
  [{ rrule: "FREQ=DAILY" }, "needs an anchor"],
  [{ rrule: 7, anchor }, "rrule is not a text"],
  [rrule(""), "it has an empty part"],
  [rrule("BYDAY=MO"), "no FREQ"],
  [rrule("FREQ=OFTEN"), "is wrong: FREQ=OFTEN (FREQ is one of YEARLY"],
  [rrule("FREQ=DAILY;BYDAYS=MO"), "BYDAYS=MO is not known (did you mean BYDAY?)"],
  [rrule("FREQ=DAILY;BYEASTER=1"), "BYEASTER=1 is not known"],
  [rrule("FREQ=DAILY;FREQ=DAILY"), "FREQ comes twice"],
  [rrule("FREQ=DAILY;INTERVAL=0"), "INTERVAL=0"],
  [rrule("FREQ=DAILY;INTERVAL=x"), "INTERVAL=X"],
  [rrule("FREQ=DAILY;COUNT=10001"), "COUNT is a whole number from 1 to 10,000; for more, give UNTIL or endsAt"],
  [rrule("FREQ=DAILY;COUNT=5;UNTIL=20270101"), "COUNT or UNTIL"],
  [rrule("FREQ=DAILY;UNTIL=20270230"), "write UNTIL as"],
  [rrule("FREQ=DAILY;UNTIL=soon"), "write UNTIL as"],
  [rrule("FREQ=DAILY;BYHOUR=24"), "BYHOUR=24 (BYHOUR is 0 to 23)"],
  [rrule("FREQ=MONTHLY;BYMONTHDAY=0"), "1 to 31, or -1 to -31 from the end"],
  [rrule("FREQ=MONTHLY;BYDAY=XX"), "BYDAY=XX (weekdays are MO"],
  [rrule("FREQ=MONTHLY;BYDAY=0MO"), "numbers are 1 to 53"],
  [rrule("FREQ=WEEKLY;BYDAY=1MO"), "numbered weekdays need FREQ=MONTHLY or YEARLY"],
  [rrule("FREQ=WEEKLY;BYMONTHDAY=1"), "does not go with FREQ=WEEKLY"],
  [rrule("FREQ=DAILY;BYYEARDAY=1"), "does not go with FREQ=DAILY"],
  [rrule("FREQ=MONTHLY;BYWEEKNO=1"), "BYWEEKNO needs FREQ=YEARLY"],
  [rrule("FREQ=DAILY;BYSETPOS=1"), "BYSETPOS chooses"],
  [rrule("DTSTART:20260101T000000Z\nRRULE:FREQ=DAILY"), "DTSTART is not part of it (give the start as anchor"],
  [rrule("FREQ=DAILY\nEXDATE:20260101"), "EXDATE is not part of it (give days without slots as except"],
  [rrule("FREQ=DAILY\nRRULE:FREQ=WEEKLY"), "several lines"],
];

describe("parseRule", () => {
  it.each(refused.map(([rule, message]) => [JSON.stringify(rule)?.slice(0, 80), message, rule] as const))(
    "refuses %s",
    (_, message, rule) => {
      const error = thrown(() => parseRule(rule));
      expect(error).toBeInstanceOf(InvalidArgumentError);
      expect((error as InvalidArgumentError).message).toContain(message);
      expect((error as InvalidArgumentError).remedy).toBeTruthy();
    },
  );

  it("fills in what was not said", () => {
    const once = { skipped: "next", repeated: "first" };
    expect(parseRule({ cron: " 0  3 * * * " })).toEqual({ cron: "0 3 * * *", tz: "UTC", dst: once });
    expect(parseRule({ cron: "@hourly", dst: { repeated: "first" } })).toEqual({
      cron: "@hourly",
      tz: "UTC",
      dst: { skipped: "skip", repeated: "first" },
    });
    expect(parseRule({ every: "1h 30m", jitter: "1m" })).toEqual({ every: 5_400_000, tz: "UTC", jitter: 60_000 });
    expect(parseRule({ every: "p1m", tz: "europe/berlin" })).toEqual({ every: "P1M", tz: "Europe/Berlin", dst: once });
    expect(parseRule({ cron: "* * * * *", tz: "US/Eastern" }).tz).toBe("US/Eastern");
    expect(parseRule({ cron: "* * * * *", tz: "Asia/Kolkata" }).tz).toBe("Asia/Kolkata");
  });

  it("gives a rule that can be stored as JSON and parsed again", () => {
    for (const input of [
      {
        cron: "*/15 8-18 * * MON-FRI",
        tz: "Asia/Tokyo",
        startsAt: new Date(0),
        endsAt: "2030-01-01T00:00+09:00",
        except: ["2026-12-25"],
        jitter: 5000,
      },
      { every: "P1M", anchor: new Date(86_400_000), dst: { skipped: "skip" } },
      { every: "PT15M" },
      { after: { seconds: 10 } },
      { rrule: "rrule:freq=daily;count=3;", anchor },
      { times: [new Date(2000), new Date(1000)] },
      { at: anchor },
    ]) {
      const rule = parseRule(input);
      expect(parseRule(JSON.parse(JSON.stringify(rule)))).toEqual(rule);
      expect(Object.isFrozen(rule)).toBe(true);
    }
  });

  it.each([
    [{ cron: "0 3 * * *", tz: "Europe/Berlin" }, "cron 0 3 * * * in Europe/Berlin"],
    [{ every: "10s" }, "every 10 s"],
    [{ every: "1d 90m" }, "every 1 d 1 h 30 min"],
    [{ every: "P1M", tz: "Europe/Berlin" }, "every month in Europe/Berlin"],
    [{ every: "P2W" }, "every 2 weeks in UTC"],
    [{ after: "10s" }, "10 s after each run"],
    [{ rrule: "FREQ=DAILY", anchor }, "rrule FREQ=DAILY from 2026-01-01T00:00:00.000Z in UTC"],
    [{ at: anchor }, "once at 2026-01-01T00:00:00.000Z"],
    [{ times: [anchor, "2026-01-02T00:00Z"] }, "2 times from 2026-01-01T00:00:00.000Z to 2026-01-02T00:00:00.000Z"],
  ])("describes %j", (input, text) => {
    expect(describeRule(parseRule(input))).toBe(text);
  });
});

function thrown(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  return undefined;
}
