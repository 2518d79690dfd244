import { describe, expect, it } from "vitest";
import { jitterMs } from "../../src/schedule/jitter.js";
import { parseRule } from "../../src/schedule/parse-rule.js";
import type { RuleInput } from "../../src/schedule/rule.js";
import { Slots } from "../../src/schedule/slots.js";
import { Random } from "../simulation/random.js";

const createdAt = Date.parse("2026-06-01T00:00Z");
const weekMs = 7 * 86_400_000;
const slotsOf = (rule: RuleInput, blocked?: ReadonlySet<string>): Slots =>
  new Slots(parseRule(rule), blocked ? { createdAt, blocked } : { createdAt });
const at = (text: string): number => Date.parse(text);
const texts = (slots: readonly number[]): string[] =>
  slots.map((slot) => new Date(slot).toISOString().replace(":00.000Z", "Z"));

describe("slots", () => {
  it("one moment, and a list of moments in any order", () => {
    const once = slotsOf({ at: "2026-07-01T12:00:00+02:00" });
    expect(once.next(0)).toBe(at("2026-07-01T10:00Z"));
    expect(once.next(at("2026-07-01T10:00Z"))).toBeNull();
    const times = slotsOf({ times: [new Date("2026-08-01T00:00Z"), "2026-07-01T00:00Z", "2026-07-01T02:00:00+02:00"] });
    expect(texts(times.between(0, Infinity, 10))).toEqual(["2026-07-01T00:00Z", "2026-08-01T00:00Z"]);
  });

  it("cron with seconds, names, last days and numbered weekdays", () => {
    const first = (cron: string, count = 2): string[] =>
      texts(slotsOf({ cron }).between(createdAt - 1, Infinity, count));
    expect(first("*/30 * * * * *", 3)).toEqual(["2026-06-01T00:00Z", "2026-06-01T00:00:30.000Z", "2026-06-01T00:01Z"]);
    expect(first("0 12 * jun-jul Mon")).toEqual(["2026-06-01T12:00Z", "2026-06-08T12:00Z"]);
    expect(first("0 0 L * *")).toEqual(["2026-06-30T00:00Z", "2026-07-31T00:00Z"]);
    expect(first("0 0 * * 5#2")).toEqual(["2026-06-12T00:00Z", "2026-07-10T00:00Z"]);
    expect(first("0 0 * * FRI#L")).toEqual(["2026-06-26T00:00Z", "2026-07-31T00:00Z"]);
    expect(first("0 0 * * 7")).toEqual(first("0 0 * * SUN"));
    expect(first("0 0 29 2 *")).toEqual(["2028-02-29T00:00Z", "2032-02-29T00:00Z"]);
    expect(first("@Monthly")).toEqual(["2026-06-01T00:00Z", "2026-07-01T00:00Z"]);
    expect(first("@yearly")).toEqual(first("@annually"));
    expect(first("@daily")).toEqual(first("@midnight"));
    expect(first("@weekly")).toEqual(["2026-06-07T00:00Z", "2026-06-14T00:00Z"]);
  });

  it("starts with startsAt, ends before endsAt", () => {
    const rule = { cron: "0 * * * *", startsAt: "2026-06-01T05:00Z", endsAt: "2026-06-01T08:00Z" };
    expect(texts(slotsOf(rule).between(0, Infinity, 10))).toEqual([
      "2026-06-01T05:00Z",
      "2026-06-01T06:00Z",
      "2026-06-01T07:00Z",
    ]);
    expect(texts(slotsOf(rule).latest(0, Infinity, 2))).toEqual(["2026-06-01T06:00Z", "2026-06-01T07:00Z"]);
  });

  it("says that it never fires", () => {
    expect(slotsOf({ cron: "0 0 30 2 *", tz: "Europe/Berlin" }).next(createdAt - 1)).toBeNull();
    expect(slotsOf({ at: "2026-05-31T00:00Z" }).next(createdAt - 1)).toBeNull();
    expect(slotsOf({ every: "1d", endsAt: "2026-06-01T00:00Z" }).next(createdAt - 1)).toBeNull();
    expect(slotsOf({ every: "1d" }).next(createdAt - 1)).not.toBeNull();
    expect(slotsOf({ cron: "* * * * *", except: ["1970-01-01/9999-12-31"] }).next(createdAt - 1)).toBeNull();
    expect(
      slotsOf({ cron: "* * * * *", tz: "Europe/Berlin", except: ["1970-01-01/9999-12-31"] }).next(createdAt - 1),
    ).toBeNull();
    expect(slotsOf({ every: "P1D", tz: "Europe/Berlin" }).next(Date.UTC(9999, 11, 31, 23))).toBeNull();
  });

  it("leaves out days of the zone, those of the rule and those passed in", () => {
    const rule = { cron: "30 0,12 * * *", tz: "America/New_York", except: ["2026-06-02", "2026-06-04/2026-06-05"] };
    expect(texts(slotsOf(rule, new Set(["2026-06-06"])).between(createdAt, Infinity, 7))).toEqual([
      "2026-06-01T04:30Z",
      "2026-06-01T16:30Z",
      "2026-06-03T04:30Z",
      "2026-06-03T16:30Z",
      "2026-06-07T04:30Z",
      "2026-06-07T16:30Z",
      "2026-06-08T04:30Z",
    ]);
    expect(
      texts(
        slotsOf({ times: ["2026-12-25T08:00Z", "2026-12-26T08:00Z"], except: ["2026-12-25"] }).between(0, Infinity, 3),
      ),
    ).toEqual(["2026-12-26T08:00Z"]);
  });

  it("leaves out a day that clocks enter twice, and nothing else", () => {
    // St. John's, November 7, 2010: one minute after midnight it was 23:01 of the 6th again.
    const rule = { cron: "*/30 * * * *", tz: "America/St_Johns" };
    const [from, to] = [at("2010-11-06T00:00Z"), at("2010-11-08T12:00Z")];
    const clock = new Intl.DateTimeFormat("sv-SE", { timeZone: rule.tz });
    for (const day of ["2010-11-06", "2010-11-07"]) {
      const expected = slotsOf(rule)
        .between(from, to, 1000)
        .filter((slot) => clock.format(slot) !== day);
      expect(texts(slotsOf({ ...rule, except: [day] }).between(from, to, 1000))).toEqual(texts(expected));
      expect(texts(slotsOf(rule, new Set([day])).between(from, to, 1000))).toEqual(texts(expected));
    }
  });

  it("the latest are the end of all, whatever the rule and the range", () => {
    const random = new Random(75);
    const rules: RuleInput[] = [
      { every: "7s" },
      { cron: "* 9-10 * * MON", tz: "Europe/Berlin" },
      { cron: "*/5 * * * *", tz: "Australia/Lord_Howe", except: ["2026-06-04"] },
      { every: "P1D", tz: "Europe/Berlin" },
      { rrule: "FREQ=HOURLY;BYDAY=SU", anchor: "2026-01-01T00:00Z" },
      { times: ["2026-06-02T00:00Z", "2026-06-02T00:00:00.001Z", "2026-06-05T00:00Z"] },
    ];
    for (const rule of rules) {
      const slots = slotsOf(rule);
      for (let round = 0; round < 10; round += 1) {
        const from = createdAt + random.between(0, weekMs);
        const to = from + random.between(0, 2 * 86_400_000);
        const all = slots.between(from, to, 100_000);
        const limit = random.between(1, 50);
        expect(slots.latest(from, to, limit)).toEqual(all.slice(-limit));
        expect(slots.between(from, to, limit)).toEqual(all.slice(0, limit));
        expect(slots.count(from, to, limit)).toBe(Math.min(all.length, limit));
        expect(slots.count(from, to, 1_000_000)).toBe(all.length);
      }
    }
  });

  it("finds the latest without counting up to them", () => {
    const slots = slotsOf({ cron: "* * * * * *", tz: "Europe/Berlin" });
    let calls = 0;
    const next = slots.next.bind(slots);
    slots.next = (after) => {
      calls += 1;
      return next(after);
    };
    expect(slots.latest(createdAt, createdAt + weekMs, 10)).toHaveLength(10); // of 604,800
    expect(calls).toBeLessThan(200);
    calls = 0;
    const rare = slotsOf({ cron: "* * 9 1 1 *" }); // 3,600 of them, on New Year's Day
    rare.next = ((find) => (after: number) => {
      calls += 1;
      return find(after);
    })(rare.next.bind(rare));
    expect(texts(rare.latest(createdAt, at("2027-05-31T00:00Z"), 2))).toEqual([
      "2027-01-01T09:59:58.000Z",
      "2027-01-01T09:59:59.000Z",
    ]);
    expect(calls).toBeLessThan(400);
    expect(slots.latest(createdAt, createdAt, 5)).toEqual([]);
    expect(slots.latest(createdAt, createdAt + 1000, 0)).toEqual([]);
  });
});

describe("jitter", () => {
  it("is the same for the same schedule and slot, and spread over its range", () => {
    expect(jitterMs("report", createdAt, 60_000)).toBe(jitterMs("report", createdAt, 60_000));
    expect(jitterMs("report", createdAt, 0)).toBe(0);
    const delays = Array.from({ length: 10_000 }, (_, index) => jitterMs(`tenant-${index}`, createdAt, 60_000));
    const perSixth = Array.from(
      { length: 6 },
      (_, sixth) => delays.filter((delay) => Math.floor(delay / 10_000) === sixth).length,
    );
    expect(perSixth.reduce((sum, count) => sum + count)).toBe(10_000);
    for (const count of perSixth) expect(Math.abs(count - 10_000 / 6)).toBeLessThan(200);
    expect(
      new Set(Array.from({ length: 100 }, (_, slot) => jitterMs("report", slot * 60_000, 60_000))).size,
    ).toBeGreaterThan(90);
  });
});
