import type { Random } from "../simulation/random.js";

export interface RandomCron {
  readonly text: string;
  /**
   * Whether a wall minute (minutes since 1970) matches, decided without a parser: the text was made from the same
   * numbers.
   */
  readonly matches: (wallMinute: number) => boolean;
}

interface Field {
  readonly text: string;
  readonly any: boolean;
  has(value: number): boolean;
}

const months = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const weekdays = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

/** A cron expression of five fields whose times lie mostly in the hours when clocks change. */
export function randomCron(random: Random): RandomCron {
  const minute = numbers(random, 0, 59, 0.1);
  const hour = random.chance(0.5) ? nightHours(random) : numbers(random, 0, 23, 0.4);
  const month = random.chance(0.8) ? anything : names(random, numbers(random, 1, 12, 0.2), months, 1);
  const [day, weekday] = days(random);
  return {
    text: [minute, hour, day, month, weekday].map(({ text }) => text).join(" "),
    matches: (wallMinute) => {
      if (!minute.has(wallMinute % 60) || !hour.has(Math.floor(wallMinute / 60) % 24)) return false;
      const date = new Date(wallMinute * 60_000);
      if (!month.has(date.getUTCMonth() + 1)) return false;
      const ofMonth = day.has(date.getTime());
      const ofWeek = weekday.has(date.getTime());
      return day.any || weekday.any ? ofMonth && ofWeek : ofMonth || ofWeek; // both given: either will do
    },
  };
}

const anything: Field = { text: "*", any: true, has: () => true };

function days(random: Random): [day: Field, weekday: Field] {
  const ofMonth = (): Field => {
    if (random.chance(0.2)) return { text: "L", any: false, has: (ms) => new Date(ms + 86_400_000).getUTCDate() === 1 };
    const field = numbers(random, 1, 31, 0);
    return { ...field, has: (ms) => field.has(new Date(ms).getUTCDate()) };
  };
  const ofWeek = (): Field => {
    if (random.chance(0.3)) {
      const weekday = random.between(0, 6);
      const last = random.chance(0.4);
      const nth = random.between(1, 4);
      const inMonth = (ms: number): boolean =>
        last
          ? new Date(ms + 7 * 86_400_000).getUTCMonth() !== new Date(ms).getUTCMonth()
          : Math.ceil(new Date(ms).getUTCDate() / 7) === nth;
      const text = `${random.chance(0.5) ? weekday : weekdays[weekday]}#${last ? "L" : nth}`;
      return { text, any: false, has: (ms) => new Date(ms).getUTCDay() === weekday && inMonth(ms) };
    }
    const field = names(random, numbers(random, 0, 6, 0), weekdays, 0);
    return { ...field, has: (ms) => field.has(new Date(ms).getUTCDay()) };
  };
  const choice = random.next();
  return choice < 0.5
    ? [anything, anything]
    : choice < 0.7
      ? [anything, ofWeek()]
      : choice < 0.85
        ? [ofMonth(), anything]
        : [ofMonth(), ofWeek()];
}

function nightHours(random: Random): Field {
  const hours = new Set(Array.from({ length: random.between(1, 3) }, () => random.pick([0, 1, 2, 3, 23])));
  return { text: [...hours].join(","), any: false, has: (value) => hours.has(value) };
}

function numbers(random: Random, low: number, high: number, chanceOfAny: number): Field {
  if (random.chance(chanceOfAny)) return anything;
  const from = random.between(low, high);
  const to = random.between(from, high);
  const step = random.between(1, high > 6 ? 9 : 3);
  switch (random.between(0, 3)) {
    case 0:
      return { text: `${from}`, any: false, has: (value) => value === from };
    case 1:
      return { text: `${to},${from}`, any: false, has: (value) => value === from || value === to };
    case 2:
      return {
        text: `${from}-${to}/${step}`,
        any: false,
        has: (value) => value >= from && value <= to && (value - from) % step === 0,
      };
    default:
      return low === 0 && high > 6
        ? { text: `*/${step + 5}`, any: false, has: (value) => value % (step + 5) === 0 }
        : { text: `${from}-${to}`, any: false, has: (value) => value >= from && value <= to };
  }
}

/**
 * The same field with names for some of its numbers. A step's number stays one; so does a 0 at the end of a range,
 * where SUN would be 7.
 */
function names(random: Random, field: Field, known: readonly string[], first: number): Field {
  const text = field.text.replaceAll(/(?<!\/)(?<!-(?=0))\b\d+/g, (number) =>
    random.chance(0.5) ? known[Number(number) - first]! : number,
  );
  return { ...field, text };
}
