import { now } from "../../clock.js";
import { type Filter, asTime } from "../../search/query.js";

/** The filter as the API takes it: times of the line are relative to now. */
export function asked(filter: Filter): Record<string, string> {
  const at = (key: string) => filter[key] && { [key]: asTime(filter[key], now.peek()) };
  return { ...filter, ...at("since"), ...at("until"), ...at("endedSince"), ...at("endedUntil") };
}
