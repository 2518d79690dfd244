import type { Engine } from "../db/engine.js";

const pauseMs = 10;
/** An enqueue carries its own notification only so often: commits that do wait for each other, all over the server. */
const quietMs = 20;

/** Tells sleeping workers of new jobs, after they were committed: at most once per ten milliseconds, and never in the caller's way. */
export class WakeUp {
  readonly #queues = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<unknown> = Promise.resolve();
  #lastTold = -Infinity;

  constructor(readonly engine: Engine) {}

  /** The first one goes out at once, those that follow within the pause together. */
  tell(queue: string): void {
    this.#queues.add(queue);
    if (!this.#timer) this.#send();
  }

  /** After a quiet time an enqueue may carry the notification itself, which saves a round trip; whoever follows is told of after the pause. */
  mayBeCarried(): boolean {
    if (this.#timer || performance.now() - this.#lastTold < quietMs) return false;
    this.#pause();
    return true;
  }

  #send(): void {
    const queues = [...this.#queues];
    this.#queues.clear();
    // A lost wake-up costs one poll interval at most, so nobody hears of a failure here.
    this.#sending = this.engine.notify(queues).catch(() => {});
    this.#pause();
  }

  #pause(): void {
    this.#lastTold = performance.now();
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (this.#queues.size > 0) this.#send();
    }, pauseMs);
    this.#timer.unref();
  }

  async close(): Promise<void> {
    if (this.#queues.size > 0) this.#send();
    clearTimeout(this.#timer);
    await this.#sending;
  }
}
