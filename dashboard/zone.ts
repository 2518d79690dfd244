/** Times are told in this browser's zone, or in UTC: a switch for those who compare them with logs. */
import { computed, signal } from "@preact/signals";

const place = "millrace.utc";

function read(): boolean {
  try {
    return localStorage.getItem(place) === "yes";
  } catch {
    return false;
  }
}

export const isUtc = signal(read());
// Tests of what is computed have no browser.
globalThis.addEventListener?.("storage", ({ key }) => {
  if (key === place) isUtc.value = read();
});

export function setUtc(to: boolean): void {
  isUtc.value = to;
  try {
    if (to) localStorage.setItem(place, "yes");
    else localStorage.removeItem(place);
  } catch {
    // Storage is forbidden here: it holds until the page is left.
  }
}

/** As a formatter takes it: undefined is the browser's own. */
export const zone = computed(() => (isUtc.value ? "UTC" : undefined));

/** The moment that somebody has filled in, without a zone: `2026-03-01T08:00` is of the zone in which times are told. */
export const momentFilledIn = (text: string): string => new Date(isUtc.value ? `${text}Z` : text).toISOString();

/** Beside what is filled in. An offset would be that of now, and wrong for a time before the clocks changed. */
export const zoneWords = (): string => (isUtc.value ? "in UTC" : "in this browser's zone");

/** What stands beside the times: `UTC`, `GMT+2`. */
export const zoneName = computed(() => {
  const parts = new Intl.DateTimeFormat("en", { timeZoneName: "shortOffset", timeZone: zone.value }).formatToParts();
  return isUtc.value ? "UTC" : (parts.find(({ type }) => type === "timeZoneName")?.value ?? "local");
});
