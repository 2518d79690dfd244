// Fan-out over pages: the items of a page are worked on, as jobs of their own, while the next page is read.
import { type Handler, defineJob } from "millrace";

interface Page {
  readonly ids: readonly string[];
  readonly next: string | null;
}

export interface Shop {
  list(cursor: string | null): Promise<Page>;
}

interface Sync {
  readonly pages: number;
  readonly items: number;
}

export const syncItem = defineJob<string, boolean>("sync-item");
export const syncShop = defineJob<{ shop: string }, Sync>("sync-shop");

export function syncAll(shop: Shop): Handler<{ shop: string }, Sync> {
  return async (_job, { step }) => {
    const pages: Promise<boolean[]>[] = [];
    let cursor: string | null = null;
    do {
      const at: string | null = cursor;
      const page: Page = await step.run("page", () => shop.list(at), { maxAttempts: 5 });
      pages.push(step.map(`items ${pages.length + 1}`, syncItem, page.ids)); // begun here, awaited below
      cursor = page.next;
    } while (cursor !== null);
    const synced = (await Promise.all(pages)).flat();
    return { pages: pages.length, items: synced.length };
  };
}
