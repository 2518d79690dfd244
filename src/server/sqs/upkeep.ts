import { setTimeout as sleep } from "node:timers/promises";
import type { Log } from "../log.js";
import type { SqsService } from "./service.js";

/** Tasks that another server began are found this late at most. */
const idleMs = 2000;

/**
 * Moves dead letters, a step at a time. Any number of servers may do it: each step is one transaction, and no two take
 * the same one.
 */
export class MoveUpkeep {
  #stopping = new AbortController();
  #running: Promise<void> | undefined;
  #wake = () => {};

  constructor(
    private readonly service: SqsService,
    private readonly log: Log,
  ) {}

  start(): void {
    this.#running ??= this.#run(this.#stopping.signal);
  }

  /** There is something to do. */
  wake(): void {
    this.#wake();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      let waitMs = idleMs;
      const woken = new AbortController();
      this.#wake = () => woken.abort();
      try {
        const { queues, waitSeconds } = await this.service.engine.sqs.moveStep();
        for (const queue of queues) this.service.wake(queue);
        if (waitSeconds !== null) waitMs = Math.min(waitMs, waitSeconds * 1000);
      } catch (error) {
        this.log("error", "a step of moving dead letters failed; it is tried again", { error: String(error) });
      }
      if (waitMs > 0)
        await sleep(waitMs, undefined, { signal: AbortSignal.any([signal, woken.signal]) }).catch(() => {});
    }
  }
}
