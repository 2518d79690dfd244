import { setTimeout as sleep } from "node:timers/promises";
import { InvalidArgumentError, QueueFullError } from "../db/errors.js";
import { type Duration, durationMs } from "../job/duration.js";

/** What an enqueue does when its queue accepts no more jobs. */
export interface WhenFullOptions {
  /**
   * When the queue is full (`maxDepth`, `maxAgeSeconds`): throw QueueFullError, or wait for room and try again. Inside
   * a transaction (`tx`) it is always
   * refused: waiting there would hold everything the transaction holds. Default `"refuse"`.
   */
  readonly whenFull?: "refuse" | "wait";
  /** How long to wait for room at most; then QueueFullError is thrown. Default one minute. */
  readonly maxWait?: Duration;
}

/** A queue says when to try again; nobody sleeps for longer than this before a look. */
const longestPauseMs = 5000;

/** Do it, and when the queue is full do it again until there is room, if that is wished. */
export async function whenThereIsRoom<T>(
  { whenFull = "refuse", maxWait = "1m" }: WhenFullOptions,
  inTransaction: boolean,
  work: () => Promise<T>,
): Promise<T> {
  if (whenFull !== "refuse" && whenFull !== "wait")
    throw new InvalidArgumentError(`whenFull cannot be ${String(whenFull)}`, 'give "refuse" or "wait"');
  const patienceMs = durationMs(maxWait, "maxWait");
  if (whenFull === "refuse" || inTransaction) return work();
  const end = performance.now() + patienceMs;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const leftMs = end - performance.now();
      if (!(error instanceof QueueFullError) || leftMs <= 0) throw error;
      // At different times, so that those who were refused together do not come back together.
      await sleep(
        Math.min(leftMs, Math.min(error.retryAfterSeconds * 1000, longestPauseMs) * (0.5 + Math.random() / 2)),
      );
    }
  }
}
