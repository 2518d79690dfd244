import type { Engine } from "../db/engine.js";

/** One notification for each of these, in the long run; as many as `burst` may go at once after a quiet time. */
const pauseMs = 10;
const burst = 5;
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
 * Tells sleeping workers of new jobs, after they were committed: in the long run once per ten milliseconds, and never
 * in the caller's way. A few in a row go at once, so that jobs that come now and then are told of one by one.
 */
export class WakeUp {
  readonly #queues = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<unknown> = Promise.resolve();
  #carryAgainAt = -Infinity;
  #free = burst;
  #freeSince = performance.now();

  constructor(readonly engine: Engine) {}

  /** Goes out at once while there are free ones; those that follow go together, when the next one is free. */
  tell(queue: string): void {
    this.#queues.add(queue);
    if (this.#timer) return;
    if (this.#take()) this.#send();
    else this.#wait();
  }

  /** An enqueue may carry a free notification itself, which saves a round trip; others are told of later. */
  mayBeCarried(jobs: number): boolean {
    if (performance.now() < this.#carryAgainAt) return false;
    return jobs >= largeBatch || (this.#timer === undefined && this.#take());
  }

  /** How long the enqueue took that carried one. */
  wasCarried(ms: number, jobs: number): void {
    if (ms > crowdedMs + jobs * jobMs) this.#carryAgainAt = performance.now() + spareMs;
  }

  /** One of the free notifications, if there is one. */
  #take(): boolean {
    const now = performance.now();
    this.#free = Math.min(burst, this.#free + (now - this.#freeSince) / pauseMs);
    this.#freeSince = now;
    if (this.#free < 1) return false;
    this.#free -= 1;
    return true;
  }

  #send(): void {
    const queues = [...this.#queues];
    this.#queues.clear();
    // A lost wake-up costs one poll interval at most, so nobody hears of a failure here.
    this.#sending = this.engine.queueNotify(queues).catch(() => {});
  }

  #wait(): void {
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        this.#take();
        this.#send();
      },
      Math.ceil((1 - this.#free) * pauseMs),
    );
    this.#timer.unref();
  }

  async close(): Promise<void> {
    if (this.#queues.size > 0) this.#send();
    clearTimeout(this.#timer);
    await this.#sending;
  }
}
