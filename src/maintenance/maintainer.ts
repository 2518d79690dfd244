import { setTimeout as sleep } from "node:timers/promises";
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

/**
 * Does, from time to time, what any process may do for all. Any number of them may run, and share the duty: whoever
 * comes first does it. None is needed for correctness, because claims promote and reap by themselves.
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
  #stopping: AbortController | undefined;
  #running: Promise<void> | undefined;

  constructor(options: MaintainerOptions) {
    checkKeys(options, new Set(["engine", "intervalMs", "spaceIntervalMs", "onError"]));
    this.#options = Object.freeze({ intervalMs: 1000, spaceIntervalMs: 60_000, ...options });
  }

  /** Start; a second call is harmless. */
  start(): void {
    if (this.#running) return;
    this.#stopping = new AbortController();
    this.#running = this.#run(this.#stopping.signal);
  }

  /** Stop, and wait for the round in progress. */
  async stop(): Promise<void> {
    this.#stopping?.abort();
    await this.#running;
    this.#running = undefined;
  }

  async #run(signal: AbortSignal): Promise<void> {
    let space = performance.now();
    // Processes that start together do not all begin with this, and whoever starts has more urgent things to do.
    await sleep(this.#options.intervalMs * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => {});
    while (!signal.aborted) {
      try {
        const { crowded } = await this.#options.engine.maintain({
          everySeconds: (this.#options.intervalMs / 1000) * 0.9,
        });
        if (crowded) await this.#options.engine.lanesRest();
        if (performance.now() - space >= this.#options.spaceIntervalMs) {
          space = performance.now();
          await this.#options.engine.maintainSpace();
        }
      } catch (error) {
        this.#options.onError?.(error);
      }
      await sleep(this.#options.intervalMs, undefined, { signal }).catch(() => {});
    }
  }
}
