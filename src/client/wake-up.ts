import type { Engine } from "../db/engine.js";

const pauseMs = 10;

/** Tells sleeping workers of new jobs, after they were committed: at most once per queue and ten milliseconds, and never in the caller's way. */
export class WakeUp {
  readonly #queues = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<unknown> = Promise.resolve();

  constructor(readonly engine: Engine) {}

  /** The first one goes out at once, those that follow within the pause together. */
  tell(queue: string): void {
    this.#queues.add(queue);
    if (this.#timer) return;
    this.#send();
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (this.#queues.size > 0) this.#send();
    }, pauseMs);
    this.#timer.unref();
  }

  #send(): void {
    const queues = [...this.#queues];
    this.#queues.clear();
    // A lost wake-up costs one poll interval at most, so nobody hears of a failure here.
    this.#sending = this.engine.notify(queues).catch(() => {});
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    if (this.#queues.size > 0) this.#send();
    await this.#sending;
  }
}
