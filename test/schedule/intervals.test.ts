import { describe, expect, it } from "vitest";
import { parseRule } from "../../src/schedule/parse-rule.js";
import type { RuleInput } from "../../src/schedule/rule.js";
import { Slots } from "../../src/schedule/slots.js";
import { Random } from "../simulation/random.js";

const createdAt = Date.parse("2026-02-03T04:05:06.789Z");
const slotsOf = (rule: RuleInput): Slots => new Slots(parseRule(rule), { createdAt });
const days = (rule: RuleInput, count: number): string[] =>
  slotsOf(rule)
    .between(0, Infinity, count)
    .map((slot) => new Date(slot).toISOString().slice(0, 10));

describe("intervals", () => {
  it("[#75] a fixed rate counts elapsed time from when the schedule was made", () => {
    expect(slotsOf({ every: "10s" }).between(createdAt, createdAt + 30_000, 10)).toEqual(
      [10_000, 20_000, 30_000].map((ms) => createdAt + ms),
    );
    expect(slotsOf({ every: "10s" }).next(createdAt - 1)).toBe(createdAt);
    const exact = new Slots(parseRule({ every: "10s" }), { createdAt: createdAt + 0.123 }); // microseconds
    expect(exact.next(createdAt + 0.123)).toBe(createdAt + 10_000);
    expect(slotsOf({ every: "PT10S" }).rule).toEqual(slotsOf({ every: { seconds: 10 } }).rule);
  });

  it("counts from the anchor, or else from startsAt", () => {
    const anchor = new Date("2020-01-01T00:00:07Z");
    expect(slotsOf({ every: "1m", anchor }).next(createdAt)).toBe(Date.parse("2026-02-03T04:05:07Z"));
    expect(slotsOf({ every: "1h", startsAt: "2026-03-01T00:30Z" }).between(createdAt, Infinity, 2)).toEqual(
      ["2026-03-01T00:30Z", "2026-03-01T01:30Z"].map((text) => Date.parse(text)),
    );
    expect(slotsOf({ every: "1h", anchor: "2030-01-01T00:00Z" }).next(createdAt)).toBe(Date.parse("2030-01-01T00:00Z"));
  });

  it("[#75] a fixed delay counts from the end of the last run", () => {
    const slots = slotsOf({ after: "10s" });
    const ended = createdAt + 4000;
    expect(slots.next(ended)).toBe(createdAt + 14_000);
    expect(slots.next(createdAt)).toBe(createdAt + 10_000);
    expect(slots.between(createdAt, createdAt + 100_000, 10)).toEqual([createdAt + 10_000]);
    expect(slots.latest(createdAt, createdAt + 100_000, 10)).toEqual([createdAt + 10_000]);
    expect(slots.count(createdAt, createdAt + 100_000, 10)).toBe(1);
    expect(slots.next(createdAt - 1)).not.toBeNull();
  });

  it("a fixed delay keeps to its bounds and to blocked days", () => {
    const slots = slotsOf({
      after: "1h",
      startsAt: "2026-03-01T00:00Z",
      endsAt: "2026-04-01T00:00Z",
      except: ["2026-03-10/2026-03-11"],
    });
    const at = (text: string): number => Date.parse(text);
    expect(slots.next(createdAt)).toBe(at("2026-03-01T00:00Z"));
    expect(slots.next(at("2026-03-09T22:30Z"))).toBe(at("2026-03-09T23:30Z"));
    expect(slots.next(at("2026-03-09T23:30Z"))).toBe(at("2026-03-12T00:00Z"));
    expect(slots.next(at("2026-03-31T23:00Z"))).toBeNull();
  });

  it("month ends are counted from the anchor's day, not from each other", () => {
    expect(days({ every: "P1M", anchor: "2026-01-31T08:00Z" }, 5)).toEqual([
      "2026-01-31",
      "2026-02-28",
      "2026-03-31",
      "2026-04-30",
      "2026-05-31",
    ]);
    expect(days({ every: "P1Y", anchor: "2024-02-29T08:00Z" }, 5)).toEqual([
      "2024-02-29",
      "2025-02-28",
      "2026-02-28",
      "2027-02-28",
      "2028-02-29",
    ]);
    expect(days({ every: "P2W", anchor: "2026-01-01T08:00Z" }, 3)).toEqual(["2026-01-01", "2026-01-15", "2026-01-29"]);
    expect(days({ every: "P1M1D", anchor: "2026-01-31T08:00Z" }, 3)).toEqual([
      "2026-01-31",
      "2026-03-01",
      "2026-04-02",
    ]);
  });

  it("finds the next from anywhere as if counted up from the anchor", () => {
    const random = new Random(75);
    for (const every of ["P1M", "P1Y", "P5M", "P1M10D", "P3D", "P1DT12H", "P1Y1M1DT1H", "P2W"]) {
      const slots = slotsOf({ every, anchor: "1999-12-31T23:30Z" });
      const all = slots.between(0, Date.UTC(2040, 0, 1), 20_000);
      expect(all).toEqual([...new Set(all)].toSorted((a, b) => a - b));
      for (let round = 0; round < 200; round += 1) {
        const after = random.between(Date.UTC(1999, 0, 1), Date.UTC(2039, 0, 1));
        expect(slots.next(after), `${every} after ${after}`).toBe(all.find((slot) => slot > after));
      }
      for (const slot of all.slice(0, 300)) expect(slots.next(slot - 1)).toBe(slot);
    }
  });
});
