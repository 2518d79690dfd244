import type { List } from "../wire.js";

/** No list of the dashboard is longer than this, whatever the server has. */
const maxItems = 10_000;

/** All pages of a list. */
export async function all<T>(page: (cursor: string | undefined) => Promise<List<T>>): Promise<readonly T[]> {
  const items: T[] = [];
  let cursor: string | undefined;
  do {
    const { items: more, next } = await page(cursor);
    items.push(...more);
    cursor = next;
  } while (cursor !== undefined && items.length < maxItems);
  return items;
}
