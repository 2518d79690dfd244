import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { checkKeys } from "../db/encode.js";
import type { Engine } from "../db/engine.js";
import type { DueSchedule, FireTarget, SettleCursor } from "../db/schedule-engine.js";
import type { JobId } from "../db/types.js";
import { type Duration, durationMs } from "../job/duration.js";
import { planFire } from "./plan.js";

/** Options of `new Scheduler`. */
export interface SchedulerOptions {
  readonly engine: Engine;
  /**
   * For how long the duty is kept by a process that does not come back: the longest that slots are late when it dies.
   * Default 10 s.
   */
  readonly lease?: Duration;
  /** Told of every failed round; the next one tries again. Default: nobody. */
  readonly onError?: (error: unknown) => void;
}

/** So many schedules go into one statement. */
const batch = 500;
/** The one that has the duty looks at least this often: schedules may be declared, and runs end, in other processes. */
const lookMs = 1000;
/** The others look whether it has been left this often. */
const standByMs = 5000;
/** A schedule whose run cannot be made is tried again after this. */
const holdSeconds = 10;

/**
 * Makes the runs of schedules when their slots come. Any number of processes may have one: one of them has the duty,
 * and another takes it when that does not come back in time. Correctness depends on neither: a slot that was made is
 * not made again.
 *
 * @example
 * ```ts
 * const scheduler = new Scheduler({ engine: mill.engine });
 * scheduler.start();
 * // …
 * await scheduler.stop();
 * ```
 */
export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #leaseMs: number;
  readonly #watch: { readonly isRelieved: boolean };
  readonly #holder = `${hostname()}:${process.pid}:${randomUUID().slice(0, 8)}`;
  #running: Promise<void> | undefined;
  #isStopping = false;
  #wakeUp = (): void => {};
  #settledUpTo: SettleCursor = null;
  #hasDuty = false;

  /** `watch`: whoever keeps it tells when the duty has been left; as long as it is kept, nobody looks for that. */
  constructor(options: SchedulerOptions, watch: { readonly isRelieved: boolean } = { isRelieved: false }) {
    checkKeys(options, new Set(["engine", "lease", "onError"]));
    this.#watch = watch;
    this.#options = options;
    this.#leaseMs = durationMs(options.lease ?? "10s", "lease");
  }

  /** Start; a second call is harmless. */
  start(): void {
    if (this.#running) return;
    this.#isStopping = false;
    this.#running = this.#run();
  }

  /** Stop after the round in progress, and leave the duty to others. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#wakeUp();
    await this.#running;
    this.#running = undefined;
    if (this.#hasDuty)
      await this.#options.engine.schedules
        .yield(this.#holder)
        .catch((error: unknown) => this.#options.onError?.(error));
    this.#hasDuty = false;
  }

  /** Look now. */
  wake(): void {
    this.#wakeUp();
  }

  /** Jobs of schedules have ended: go on at once with what waited for that. */
  async ended(jobs: readonly JobId[]): Promise<void> {
    try {
      await this.#options.engine.schedules.settle(jobs);
      this.wake();
    } catch (error) {
      this.#options.onError?.(error); // the one that has the duty will see it too
    }
  }

  /**
   * One look: make what is due, unless another has the duty, and note what has ended. Returns after how many
   * milliseconds it is worth looking again.
   */
  async look(): Promise<number> {
    const { schedules } = this.#options.engine;
    const {
      idle,
      heldForSeconds,
      nowMs = 0,
      inSeconds,
      due = [],
    } = await schedules.due(this.#holder, this.#leaseMs / 1000, batch);
    this.#hasDuty = !idle && heldForSeconds === undefined;
    if (idle) return standByMs;
    if (heldForSeconds !== undefined) return Math.min(standByMs, heldForSeconds * 1000);
    if (due.length > 0) await this.#fire(due, nowMs);
    if (due.length === batch) return 0; // slots first
    const { settled, after } = await schedules.settle(undefined, this.#settledUpTo);
    this.#settledUpTo = after;
    if (due.length > 0 || settled > 0 || after !== null) return 0;
    return Math.min(lookMs, inSeconds === null || inSeconds === undefined ? lookMs : Math.max(1, inSeconds * 1000));
  }

  async #run(): Promise<void> {
    let isAsked = true;
    while (!this.#isStopping) {
      let pauseMs = standByMs;
      try {
        if (isAsked || this.#hasDuty || !this.#watch.isRelieved) pauseMs = await this.look();
      } catch (error) {
        pauseMs = lookMs;
        this.#options.onError?.(error);
      }
      isAsked = pauseMs === 0 || (!this.#isStopping && (await this.#sleep(pauseMs)));
    }
  }

  /** All together; when that fails one by one, so that a schedule whose queue is full does not hold up the others. */
  async #fire(due: readonly DueSchedule[], nowMs: number): Promise<void> {
    const targets = due.map((schedule) => planFire(schedule, nowMs));
    try {
      await this.#options.engine.schedules.fire(targets);
    } catch (error) {
      if (targets.length === 1) await this.#hold(targets[0]!, error);
      else for (const schedule of due) await this.#fire([schedule], nowMs);
    }
  }

  async #hold(target: FireTarget, error: unknown): Promise<void> {
    this.#options.onError?.(error);
    await this.#options.engine.schedules.hold(target, holdSeconds, {
      message: error instanceof Error ? error.message : String(error),
    });
  }

  /** Resolves with whether somebody asked to look before the time had passed. */
  #sleep(ms: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), ms);
      this.#wakeUp = () => (clearTimeout(timer), resolve(true));
    });
  }
}
