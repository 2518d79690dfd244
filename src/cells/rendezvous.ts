import { createHash } from "node:crypto";

/**
 * The cell that a key belongs to: the one with the highest hash of both. One more cell takes keys from the others and
 * moves none between them. Every process must compute the same, in every release: this may not change.
 */
export function winner(key: string, cells: readonly string[]): string {
  let best = "";
  let highest = "";
  for (const cell of cells) {
    const hash = createHash("sha256").update(`${cell}\n${key}`).digest("hex");
    if (hash > highest || (hash === highest && cell < best)) [highest, best] = [hash, cell];
  }
  return best;
}
