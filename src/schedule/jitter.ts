import { createHash } from "node:crypto";

/**
 * How much later than its slot a run starts: from 0 to less than `jitter`, in milliseconds. The same schedule and slot
 * always give the same, so that every process agrees on it.
 */
export function jitterMs(name: string, slotMs: number, jitter: number): number {
  if (jitter <= 0) return 0;
  const hash = createHash("sha256").update(`${slotMs} ${name}`).digest();
  return Math.floor((hash.readUIntBE(0, 6) / 2 ** 48) * jitter);
}
