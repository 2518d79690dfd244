import type { QueueState } from "./types/queue.js";

/** What a queue, or a type of it, is called where many are listed. */
export type QueueWord = QueueState | "blocked" | "no worker";

/**
 * One word for a queue: its state, and of an active one whether anything of it can start. It is `blocked` when all that
 * waits is held back in parts, and has `no worker` when all that is ready is of types that nobody handles
 * (`unhandled`).
 */
export function queueWord(
  { state, ready, blocked }: { readonly state: QueueState; readonly ready: number; readonly blocked: number },
  unhandled = 0,
): QueueWord {
  if (state !== "active") return state;
  if (ready > 0) return unhandled >= ready ? "no worker" : "active";
  return blocked > 0 ? "blocked" : "active";
}
