import type { Engine } from "../db/engine.js";

const pauseMs = 10;
/**
 * Commits that carry a notification wait for each other, all over the server. One that took so long, for its jobs, has
 * met others, and the next are spared that.
 */
const crowdedMs = 10;
const jobMs = 0.05;
/**
 * A batch of this size takes about as long as the pause: a notification of its own, on a connection that has more to
 * enqueue, would only hold it up.
 */
const largeBatch = 500;
const spareMs = 1000;

/**
 * Tells sleeping workers of new jobs, after they were committed: at most once per ten milliseconds, and never in the
 * caller's way.
 */
export class WakeUp {
  readonly #queues = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<unknown> = Promise.resolve();
  #carryAgainAt = -Infinity;

  constructor(readonly engine: Engine) {}

  /** The first one goes out at once, those that follow within the pause together. */
  tell(queue: string): void {
    this.#queues.add(queue);
    if (!this.#timer) this.#send();
  }

  /**
   * An enqueue that is the first for a while may carry the notification itself, which saves a round trip; those that
   * follow are told of after the pause.
   */
  mayBeCarried(jobs: number): boolean {
    if ((this.#timer && jobs < largeBatch) || performance.now() < this.#carryAgainAt) return false;
    if (!this.#timer) this.#pause();
    return true;
  }

  /** How long the enqueue took that carried one. */
  wasCarried(ms: number, jobs: number): void {
    if (ms > crowdedMs + jobs * jobMs) this.#carryAgainAt = performance.now() + spareMs;
  }

  #send(): void {
    const queues = [...this.#queues];
    this.#queues.clear();
    // A lost wake-up costs one poll interval at most, so nobody hears of a failure here.
    this.#sending = this.engine.notify(queues).catch(() => {});
    this.#pause();
  }

  #pause(): void {
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
