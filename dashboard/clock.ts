/** The database's time, as far as the page knows it: ages are never off because a laptop's clock is. */
import { signal } from "@preact/signals";

let aheadMs = 0;
export const now = signal(Date.now());

/** The server said what time it is. Only a real difference counts, so that ages do not flutter with the network. */
export function heardTime(at: string): void {
  const difference = Date.parse(at) - Date.now();
  if (Math.abs(difference - aheadMs) > 2000) aheadMs = difference;
}

setInterval(() => {
  if (!document.hidden) now.value = Date.now() + aheadMs;
}, 1000);
