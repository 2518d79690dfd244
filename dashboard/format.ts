/** How numbers, times and sizes are written: short, and of a steady width. */
import { computed } from "@preact/signals";
import { zone } from "./zone.js";

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });

export const none = "–";

/** A count as people read it: all digits up to a million. */
export function count(value: number | null | undefined): string {
  if (value === null || value === undefined) return none;
  return Math.abs(value) < 1_000_000 ? whole.format(value) : compact.format(value);
}

export const exact = (value: number): string => whole.format(value);

/** So many a second. */
export function rate(value: number | null | undefined): string {
  if (value === null || value === undefined) return none;
  if (value === 0) return "0";
  if (value < 0.1) return "<0.1";
  return value < 10 ? value.toFixed(1) : count(Math.round(value));
}

const units: readonly (readonly [string, number])[] = [
  ["d", 86_400],
  ["h", 3600],
  ["m", 60],
  ["s", 1],
];

/** A length of time in its two largest units: `3 h 12 m`. */
export function duration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || Number.isNaN(seconds)) return none;
  if (seconds < 0) return `−${duration(-seconds)}`;
  if (seconds === 0) return "0 s";
  if (seconds < 0.001) return "<1 ms";
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  const at = units.findIndex(([, size]) => seconds >= size);
  const [unit, size] = units[at]!;
  const smaller = units[at + 1];
  const rest = smaller ? Math.floor((seconds % size) / smaller[1]) : 0;
  const first = `${Math.floor(seconds / size)} ${unit}`;
  return rest > 0 ? `${first} ${rest} ${smaller![0]}` : first;
}

/** A length of time in one unit: for ages that change every second, and for axes. */
export function age(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined) return none;
  if (seconds > 0 && seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  const [unit, size] = units.find(([, size]) => seconds >= size) ?? units.at(-1)!;
  return `${Math.max(0, Math.floor(seconds / size))} ${unit}`;
}

export function bytes(value: number | null | undefined): string {
  if (value === null || value === undefined) return none;
  if (value < 1000) return `${value} B`;
  const at = Math.min(3, Math.floor(Math.log10(value) / 3));
  return `${(value / 1000 ** at).toPrecision(3)} ${["B", "kB", "MB", "GB"][at]}`;
}

const stamp = computed(
  () => new Intl.DateTimeFormat("sv", { dateStyle: "short", timeStyle: "medium", timeZone: zone.value }),
);
const clockTime = computed(() => new Intl.DateTimeFormat("sv", { timeStyle: "medium", timeZone: zone.value }));

/** A moment in the zone that was chosen, to the second. */
export const moment = (at: string | number | Date): string => stamp.value.format(new Date(at));
export const timeOfDay = (at: string | number | Date): string => clockTime.value.format(new Date(at));

const hour = computed(
  () => new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", timeZone: zone.value }),
);
const day = computed(() => new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: zone.value }));

/** A moment on an axis of so many seconds: what tells it from its neighbours. */
export const tickTime = (at: number, spanSeconds: number): string =>
  spanSeconds > 172_800 ? day.value.format(at) : spanSeconds > 300 ? hour.value.format(at) : timeOfDay(at);

/** `1 job`, `2 jobs`. */
export const plural = (value: number, one: string, many = `${one}s`): string =>
  `${exact(value)} ${value === 1 ? one : many}`;

/** A share of 1 as percents. */
export const percent = (share: number): string => (share > 0 && share < 0.01 ? "<1 %" : `${Math.round(share * 100)} %`);

/** Ticks that would read the same are told once: between 1 m and 2 m there is no other word. */
export const distinct = (texts: readonly string[]): string[] =>
  texts.map((text, place) => (text === texts[place - 1] ? "" : text));
