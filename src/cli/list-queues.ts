import type { Engine } from "../db/engine.js";
import type { QueueRecord } from "../db/types.js";

/** Asking this many queues for their depth is still quick. */
const mostAsked = 50;

/**
 * All queues by name. The view counts lanes that somebody has claimed from; a queue whose jobs nobody has looked at yet would seem empty.
 * Asking for its depth makes its lanes known.
 */
export async function listQueues(engine: Engine): Promise<QueueRecord[]> {
  const known = await engine.queueList();
  for (const { name } of known.slice(0, mostAsked)) await engine.depth(name);
  return (await engine.queueList()).toSorted((a, b) => (a.name < b.name ? -1 : 1));
}
