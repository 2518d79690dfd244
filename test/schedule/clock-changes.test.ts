import { describe, expect, it } from "vitest";
import { parseRule } from "../../src/schedule/parse-rule.js";
import type { RuleInput } from "../../src/schedule/rule.js";
import { Slots } from "../../src/schedule/slots.js";

/** The slots of a rule within a range, in UTC and without seconds. */
function slots(rule: RuleInput, from: string, to: string): string[] {
  const found = new Slots(parseRule(rule), { createdAt: 0 }).between(Date.parse(from) - 1, Date.parse(to), 1000);
  return found.map((slot) => new Date(slot).toISOString().replace(":00.000Z", "Z"));
}

const spring = ["2026-03-28T12:00Z", "2026-03-30T12:00Z"] as const; // Berlin: March 29, from 02:00 to 03:00
const autumn = ["2026-10-24T12:00Z", "2026-10-26T12:00Z"] as const; // Berlin: October 25, from 03:00 to 02:00
const tz = "Europe/Berlin";

describe("days on which clocks change", () => {
  it("[#75] runs a daily job once on each of them", () => {
    for (const hour of [0, 1, 2, 3, 4, 12, 23]) {
      for (const [from, to] of [
        ["2026-03-28T23:00Z", "2026-03-29T21:59Z"],
        ["2026-10-24T22:00Z", "2026-10-25T22:59Z"],
      ] as const) {
        expect(slots({ cron: `30 ${hour} * * *`, tz }, from, to), `${hour}:30`).toHaveLength(1);
      }
    }
  });

  it("[#75] a time that is skipped runs when the clock has jumped, or not at all", () => {
    expect(slots({ cron: "30 2 * * *", tz }, ...spring)).toEqual(["2026-03-29T01:00Z", "2026-03-30T00:30Z"]);
    expect(slots({ cron: "30 2 * * *", tz, dst: { skipped: "skip" } }, ...spring)).toEqual(["2026-03-30T00:30Z"]);
  });

  it("[#75] several skipped times are one run, and one with a time of that moment", () => {
    expect(slots({ cron: "0,20,40 2,3 * * *", tz }, ...spring).slice(0, 3)).toEqual([
      "2026-03-29T01:00Z",
      "2026-03-29T01:20Z",
      "2026-03-29T01:40Z",
    ]);
    expect(slots({ cron: "10,20 2 * * *", tz }, ...spring)).toEqual([
      "2026-03-29T01:00Z",
      "2026-03-30T00:10Z",
      "2026-03-30T00:20Z",
    ]);
  });

  it.each([
    ["first", ["2026-10-25T00:30Z", "2026-10-26T01:30Z"]],
    ["second", ["2026-10-25T01:30Z", "2026-10-26T01:30Z"]],
    ["both", ["2026-10-25T00:30Z", "2026-10-25T01:30Z", "2026-10-26T01:30Z"]],
  ] as const)("[#75] a time that comes twice runs the %s", (repeated, expected) => {
    expect(slots({ cron: "30 2 * * *", tz, dst: { repeated } }, ...autumn)).toEqual(expected);
  });

  it("[#75] an expression for every hour keeps its rhythm", () => {
    for (const cron of ["*/15 * * * *", "*/15 */1 * * *", "*/15 0-23 * * *", "0 */15 * * * *"]) {
      for (const [from, to] of [spring, autumn]) {
        const found = slots({ cron, tz }, from, to);
        expect(found).toHaveLength(48 * 4 + 1);
        expect(new Set(found.map((slot, index) => Date.parse(slot) - Date.parse(found[0]!) - index * 900_000))).toEqual(
          new Set([0]),
        );
      }
    }
    expect(slots({ cron: "@hourly", tz: "Australia/Lord_Howe" }, "2026-04-04T13:00Z", "2026-04-04T17:30Z")).toEqual([
      "2026-04-04T13:00Z", // 00:00 in summer time
      "2026-04-04T14:00Z",
      "2026-04-04T15:30Z", // 02:00: half an hour came twice, 01:30 to 02:00
      "2026-04-04T16:30Z",
      "2026-04-04T17:30Z",
    ]);
  });

  it("[#75] instants come out in their own order where wall times come twice", () => {
    expect(
      slots({ cron: "30,45 2 * * *", tz, dst: { repeated: "both" } }, "2026-10-25T00:00Z", "2026-10-25T03:00Z"),
    ).toEqual(["2026-10-25T00:30Z", "2026-10-25T00:45Z", "2026-10-25T01:30Z", "2026-10-25T01:45Z"]);
  });

  it("[#75] the second pass is not lost when the next time is far away, or there is none", () => {
    const both = { tz, dst: { repeated: "both" } } as const;
    const expected = ["2026-10-25T00:30Z", "2026-10-25T01:30Z"];
    expect(slots({ cron: "30 2 25 10 *", ...both }, ...autumn)).toEqual(expected);
    expect(slots({ rrule: "FREQ=DAILY;COUNT=1", anchor: "2026-10-25T02:30:00+02:00", ...both }, ...autumn)).toEqual(
      expected,
    );
  });

  it("[#75] a day that is left out altogether", () => {
    const apia = { tz: "Pacific/Apia" }; // after December 29, 2011 came December 31
    const range = ["2011-12-29T00:00Z", "2012-01-01T00:00Z"] as const;
    expect(slots({ cron: "0 9 * * *", ...apia }, ...range)).toEqual([
      "2011-12-29T19:00Z",
      "2011-12-30T10:00Z",
      "2011-12-30T19:00Z",
      "2011-12-31T19:00Z",
    ]);
    expect(slots({ cron: "0 9 * * *", ...apia, dst: { skipped: "skip" } }, ...range)).toEqual([
      "2011-12-29T19:00Z",
      "2011-12-30T19:00Z",
      "2011-12-31T19:00Z",
    ]);
    expect(
      slots({ every: "P1D", anchor: "2011-12-27T19:00Z", ...apia, dst: { skipped: "skip" } }, ...range),
    ).toHaveLength(3);
  });

  it("[#75] clocks that change at midnight", () => {
    // São Paulo: November 4, 2018 began at 01:00; February 16, 2019 had its last hour twice.
    const sao = { cron: "0 0 * * *", tz: "America/Sao_Paulo" };
    expect(slots(sao, "2018-11-03T12:00Z", "2018-11-05T12:00Z")).toEqual(["2018-11-04T03:00Z", "2018-11-05T02:00Z"]);
    expect(slots({ ...sao, cron: "30 23 * * *" }, "2019-02-16T12:00Z", "2019-02-18T12:00Z")).toEqual([
      "2019-02-17T01:30Z",
      "2019-02-18T02:30Z",
    ]);
    expect(slots(sao, "2019-02-16T12:00Z", "2019-02-18T12:00Z")).toEqual(["2019-02-17T03:00Z", "2019-02-18T03:00Z"]);
  });

  it("[#75] calendar intervals and recurrence rules keep their wall time, elapsed time does not", () => {
    const anchor = "2026-03-01T08:00:00+01:00";
    const range = ["2026-03-28T00:00Z", "2026-03-30T12:00Z"] as const;
    const expected = ["2026-03-28T07:00Z", "2026-03-29T06:00Z", "2026-03-30T06:00Z"];
    expect(slots({ every: "P1D", anchor, tz }, ...range)).toEqual(expected);
    expect(slots({ rrule: "FREQ=DAILY", anchor, tz }, ...range)).toEqual(expected);
    expect(slots({ every: "1d", anchor, tz }, ...range)).toEqual([
      "2026-03-28T07:00Z",
      "2026-03-29T07:00Z",
      "2026-03-30T07:00Z",
    ]);
  });

  it("[#75] a rule that ends within the hour that comes twice still has the second", () => {
    const rule: RuleInput = {
      rrule: "FREQ=DAILY;COUNT=2",
      anchor: "2026-10-24T02:30:00+02:00",
      tz,
      dst: { repeated: "second" },
    };
    expect(slots(rule, "2026-10-01T00:00Z", "2026-12-01T00:00Z")).toEqual(["2026-10-24T00:30Z", "2026-10-25T01:30Z"]);
  });
});
