import type { Engine } from "../db/engine.js";
import { checkKeys } from "../db/encode.js";
import { NotGrantedError } from "../db/errors.js";
import { type Duration, timerMs } from "../job/duration.js";

/** Options of `new Maintainer`. */
export interface MaintainerOptions {
  readonly engine: Engine;
  /** How often to promote, reap, expire and fold, by all processes together. Default 1 s. */
  readonly interval?: Duration;
  /** How often to give space back, by all processes together. Default 1 min. */
  readonly spaceInterval?: Duration;
  /** Told of every failed round; the next one tries again. Default: nobody. */
  readonly onError?: (error: unknown) => void;
}

/** Whoever starts has more urgent things to do for so long, even when asked for upkeep. */
const calmMs = 1000;

/** A role that was granted its rights by an older release may not: then nobody, or another process, does it. */
function ignoreNotGranted(error: unknown): void {
  if (!(error instanceof NotGrantedError)) throw error;
}

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
  readonly #options: MaintainerOptions;
  readonly #intervalMs: number;
  readonly #spaceIntervalMs: number;
  readonly #watch: Relief;
  #running: Promise<void> | undefined;
  #isStopping = false;
  #startedAt = 0;
  #wakeUp = (): void => {};

  /** `watch`: whoever keeps it tells when upkeep is due; as long as it is kept, nothing is done unasked. */
  constructor(options: MaintainerOptions, watch: Relief = { isRelieved: false }) {
    checkKeys(options, new Set(["engine", "interval", "spaceInterval", "onError"]));
    this.#options = options;
    this.#intervalMs = timerMs(options.interval ?? "1s", "interval");
    this.#spaceIntervalMs = timerMs(options.spaceInterval ?? "1m", "spaceInterval");
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
    // Processes that start together do not all begin with this.
    let isAsked = await this.#sleep(this.#intervalMs * (0.5 + Math.random() / 2));
    while (!this.#isStopping) {
      if (isAsked || !this.#watch.isRelieved) await this.#round();
      isAsked = await this.#sleep(this.#intervalMs);
    }
  }

  async #round(): Promise<void> {
    try {
      const { crowded, notices, history, alerts, space } = await this.#options.engine.maintain({
        everySeconds: (this.#intervalMs / 1000) * 0.9,
        spaceSeconds: this.#spaceIntervalMs / 1000,
      });
      if (notices) await this.#options.engine.noticesDeliver(); // what was told by who could not do it
      if (crowded) await this.#options.engine.lanesRest();
      if (history) await this.#options.engine.historySample().catch(ignoreNotGranted);
      if (alerts) await this.#options.engine.alertsCheck().catch(ignoreNotGranted);
      if (space) await this.#options.engine.maintainSpace();
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
