import type { QueueRecord } from "../db/types.js";
import { askOne } from "./ask.js";
import type { Cell } from "./cell.js";

/** Whether tenants of a queue have cells of their own. */
export const isSpread = ({ options }: Pick<QueueRecord, "options">): boolean =>
  (options as Readonly<Record<string, unknown>>)["spread"] !== undefined;

/** Cells that join get the spread queues that the members have, set as they are there. */
export async function copySpreadQueues(
  members: readonly Cell[],
  added: readonly Cell[],
  homeOf: (queue: string) => Cell,
): Promise<void> {
  const first = members[0]!;
  for (const { name } of (await askOne(first, () => first.engine.queues())).filter(isSpread)) {
    const home = homeOf(name);
    const copy = home.engine.transaction(async (tx) => {
      await home.engine.spreadLock(name, { tx });
      const { text } = await home.engine.moves.settings(name, { tx });
      for (const cell of added) await askOne(cell, () => cell.engine.moves.copy(name, text));
    });
    await askOne(home, () => copy);
  }
}
