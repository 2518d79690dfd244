import type { Engine } from "../db/engine.js";
import { checkKeys } from "../db/encode.js";

/** Options of `new Maintainer`. */
export interface MaintainerOptions {
  readonly engine: Engine;
  /** How often to promote, reap, expire and fold, by all processes together. Default 1000. */
  readonly intervalMs?: number;
  /** How often to give space back. Default 60,000. */
  readonly spaceIntervalMs?: number;
  /** Told of every failed round; the next one tries again. Default: nobody. */
  readonly onError?: (error: unknown) => void;
}

/** Whoever starts has more urgent things to do for so long, even when asked for upkeep. */
const calmMs = 1000;

/** Whether others do this for now. */
interface Relief {
  readonly isRelieved: boolean;
}

/**
 * Does, from time to time, what any process may do for all. Any number of them may run, and share the duty: the
 * first to come does it. None is needed for correctness, because claims promote and reap by themselves.
 *
 * @example
 * ```ts
 * const maintainer = new Maintainer({ engine });
 * maintainer.start();
 * // …
 * await maintainer.stop();
 * ```
 */
export class Maintainer {
  readonly #options: Required<Omit<MaintainerOptions, "onError">> & Pick<MaintainerOptions, "onError">;
  readonly #watch: Relief;
  #running: Promise<void> | undefined;
  #isStopping = false;
  #startedAt = 0;
  #wakeUp = (): void => {};

  /** `watch`: whoever keeps it tells when upkeep is due; as long as it is kept, nothing is done unasked. */
  constructor(options: MaintainerOptions, watch: Relief = { isRelieved: false }) {
    checkKeys(options, new Set(["engine", "intervalMs", "spaceIntervalMs", "onError"]));
    this.#options = Object.freeze({ intervalMs: 1000, spaceIntervalMs: 60_000, ...options });
    this.#watch = watch;
  }

  /** Start; a second call is harmless. */
  start(): void {
    if (this.#running) return;
    this.#isStopping = false;
    this.#startedAt = performance.now();
    this.#running = this.#run();
  }

  /** Stop, and wait for the round in progress. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#wakeUp();
    await this.#running;
    this.#running = undefined;
  }

  /** Upkeep is due: do it now, or when the start is over. */
  wake(): void {
    const earlyMs = this.#startedAt + calmMs - performance.now();
    if (earlyMs <= 0) this.#wakeUp();
    else setTimeout(() => this.#wakeUp(), earlyMs).unref();
  }

  async #run(): Promise<void> {
    let space = performance.now();
    // Processes that start together do not all begin with this.
    let isAsked = await this.#sleep(this.#options.intervalMs * (0.5 + Math.random() / 2));
    while (!this.#isStopping) {
      if (isAsked || !this.#watch.isRelieved) {
        const isSpaceDue = performance.now() - space >= this.#options.spaceIntervalMs;
        if (isSpaceDue) space = performance.now();
        await this.#round(isSpaceDue);
      }
      isAsked = await this.#sleep(this.#options.intervalMs);
    }
  }

  async #round(isSpaceDue: boolean): Promise<void> {
    try {
      const { crowded, notices } = await this.#options.engine.maintain({
        everySeconds: (this.#options.intervalMs / 1000) * 0.9,
      });
      if (notices) await this.#options.engine.deliver(); // what was told by who could not do it
      if (crowded) await this.#options.engine.lanesRest();
      if (isSpaceDue) await this.#options.engine.maintainSpace();
    } catch (error) {
      this.#options.onError?.(error);
    }
  }

  /** Resolves with whether somebody asked for it before the time had passed. */
  #sleep(ms: number): Promise<boolean> {
    if (this.#isStopping) return Promise.resolve(false);
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), ms);
      this.#wakeUp = () => (clearTimeout(timer), resolve(true));
    });
  }
}
