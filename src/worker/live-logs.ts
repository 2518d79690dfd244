import type { Engine } from "../db/engine.js";
import type { RunningLog } from "../db/types.js";

/** So long after a note it is told, with all that were made meanwhile. */
const pauseMs = 1000;
/** In one statement; the others wait for the next. */
const maxRuns = 200;

/** A run that notes something. */
export interface LoggedRun {
  /** What it has noted lately, for each of its jobs that is still open. */
  readonly runningLogs: readonly RunningLog[];
}

/**
 * Tells what running jobs have noted, so that somebody can follow them: one statement a second for all runs of a
 * worker, and none for runs that end before. What cannot be told is left: the end of an attempt tells all of it.
 */
export class LiveLogs {
  readonly #changed = new Set<LoggedRun>();
  #isDue = false;

  constructor(readonly engine: Pick<Engine, "logPut">) {}

  noted(run: LoggedRun): void {
    this.#changed.add(run);
    if (!this.#isDue) this.#wait();
  }

  /** It has ended: its log goes with its outcome. */
  ended(run: LoggedRun): void {
    this.#changed.delete(run);
  }

  async #tell(): Promise<void> {
    const runs = [...this.#changed].slice(0, maxRuns);
    for (const run of runs) this.#changed.delete(run);
    const logs = runs.flatMap(({ runningLogs }) => runningLogs);
    if (logs.length > 0) await this.engine.logPut(logs).catch(() => {});
    if (this.#changed.size === 0) this.#isDue = false;
    else this.#wait();
  }

  #wait(): void {
    this.#isDue = true;
    setTimeout(() => void this.#tell(), pauseMs).unref();
  }
}
