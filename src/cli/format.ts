import { visible } from "../db/visible.js";

export { bytes, count, duration, plural } from "../doctor/words.js";

/** A time for people, in their zone; nothing for none. */
export const time = (date: Date | null): string => (date === null ? "" : date.toLocaleString("sv-SE"));

/** One line of at most `width` characters, in which nothing moves the cursor. */
export function oneLine(text: string, width = Infinity): string {
  const line = visible(text.replaceAll(/(\r?\n|\t)+/g, " "));
  return line.length > width ? `${line.slice(0, Math.max(0, width - 1))}…` : line;
}
