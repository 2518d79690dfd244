import { signal } from "@preact/signals";

/** Types that were on the screen, for the completion of the search line. */
export const seenTypes = signal<ReadonlySet<string>>(new Set());
const most = 500;

export function sawTypes(types: Iterable<string>): void {
  const fresh = [...types].filter((type) => !seenTypes.peek().has(type));
  if (fresh.length > 0 && seenTypes.peek().size < most) seenTypes.value = new Set([...seenTypes.peek(), ...fresh]);
}
