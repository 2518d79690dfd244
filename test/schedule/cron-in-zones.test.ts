import { describe, expect, it } from "vitest";
import { parseRule } from "../../src/schedule/parse-rule.js";
import { Slots } from "../../src/schedule/slots.js";
import { Random } from "../simulation/random.js";
import { clockChanges, expectedSlots, windowAround } from "./oracle.js";
import { randomCron } from "./random-cron.js";

const hourMs = 3_600_000;
/** Zones and the first of five years, chosen for what happened there. */
const zones: readonly (readonly [tz: string, year: number])[] = [
  ["Europe/Berlin", 2023],
  ["Europe/London", 2022],
  ["America/New_York", 2022],
  ["America/St_Johns", 2008], // changed at one minute past midnight until 2011
  ["America/Sao_Paulo", 2016], // changed at midnight, until 2019
  ["Australia/Lord_Howe", 2022], // half an hour
  ["Pacific/Chatham", 2021], // a quarter past the hour
  ["Pacific/Apia", 2009], // left out December 30, 2011
  ["Africa/Casablanca", 2017], // goes back for Ramadan; changed its rules in 2018
  ["Pacific/Fiji", 2018], // once shortly after a year of 365 days, by which zones are searched
  ["Asia/Kathmandu", 2022], // never changes
  ["Asia/Kolkata", 2022],
  ["America/Caracas", 2006], // half an hour back in 2007, forward in 2016
];
const rules = (["next", "skip"] as const).flatMap((skipped) =>
  (["first", "second", "both"] as const).map((repeated) => ({ skipped, repeated })),
);
const seconds = Number(process.env["SIMULATION_SECONDS"] ?? 0);
const seed = Number(process.env["SIMULATION_SEED"] ?? Date.now() % 1_000_000);

describe(`cron expressions in zones, against the wall clock minute by minute (seed ${seed})`, () => {
  it.each(zones)(
    "[#75] fires at the wall time of %s around every clock change of five years from %i, under all six rules",
    { timeout: seconds * 1000 + 60_000 },
    (tz, year) => {
      const random = new Random(seed + zones.findIndex(([name]) => name === tz));
      const changes = clockChanges(tz, Date.UTC(year, 0, 1), Date.UTC(year + 5, 0, 1));
      // Zones without changes are looked at on two days of no importance.
      const middles = changes.length > 0 ? changes : [Date.UTC(year, 1, 28, 12), Date.UTC(year + 2, 11, 31, 18)];
      const windows = middles.map((middle) => windowAround(tz, middle, 60));
      const end = performance.now() + (seconds * 1000) / zones.length;
      do {
        for (const window of windows) {
          const { text, matches } = randomCron(random);
          // Within a day of the window's ends, the other occurrence of a wall time may lie outside.
          const [from, to] = [window.from + 26 * hourMs, window.to - 26 * hourMs];
          for (const dst of rules) {
            const slots = new Slots(parseRule({ cron: text, tz, dst }), { createdAt: 0 });
            const expected = expectedSlots(window, matches, dst).filter((slot) => slot > from && slot <= to);
            const about = `${text} in ${tz}, ${JSON.stringify(dst)}, around ${new Date((from + to) / 2).toISOString()}; SIMULATION_SEED=${seed}`;
            expect(slots.between(from, to, 10_000).map(iso), about).toEqual(expected.map(iso));
            expect(slots.latest(from, to, 7).map(iso), about).toEqual(expected.slice(-7).map(iso));
          }
        }
      } while (performance.now() < end);
    },
  );
});

function iso(instant: number): string {
  return new Date(instant).toISOString();
}
