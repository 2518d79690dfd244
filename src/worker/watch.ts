/** What one look brought: sql/upkeep/watch_keep.sql. */
export interface Look {
  /** Somebody looks on behalf of all. */
  readonly kept: boolean;
  /** This worker is one who does. */
  readonly keeps: boolean;
  /** When this worker looks next. */
  readonly inSeconds: number;
  /** Upkeep is due. */
  readonly upkeep: boolean;
  /** There are schedules, and nobody makes their runs. */
  readonly schedules: boolean;
  /** Something has happened that others may wait for, and nobody has told them. */
  readonly notices: boolean;
}

/** A worker that shares the watch has a part in it, or stands by; see src/worker/README.md. */
export interface WatchOptions {
  readonly process: string;
  readonly id: string;
  readonly everySeconds: number;
  readonly mayKeep: boolean;
}

/** Below this a worker looks by itself: the watch would not be quick enough. */
const shortestMs = 1000;
/** Upkeep and schedules wait for looks too. */
const longestMs = 5000;
/** So much later than expected the next look may come before this worker looks by itself again. */
const lateMs = 1000;

/**
 * Whether a worker may rely on others to look for jobs that nobody told of. Each look says when the next one comes; one
 * that does not come ends it, so that whatever happens to the connection that hears, the worker polls again.
 */
export class Watch {
  #relievedUntil = -Infinity;
  /** Its own looks come through: only who hears relies on others. */
  #hears = false;

  /** How a worker with this poll interval takes part, if it does. */
  static optionsFor(
    worker: { readonly pollMs: number; readonly maintenance: boolean; readonly schedules: boolean },
    process: string,
    id: string,
  ): WatchOptions | undefined {
    if (worker.pollMs < shortestMs) return undefined;
    return {
      process,
      id,
      everySeconds: Math.min(worker.pollMs, longestMs) / 1000,
      // whoever keeps it does for all what the others leave to it
      mayKeep: worker.maintenance && worker.schedules,
    };
  }

  get relievedUntil(): number {
    return this.#relievedUntil;
  }

  get isRelieved(): boolean {
    return performance.now() < this.#relievedUntil;
  }

  looked({ kept, inSeconds }: Pick<Look, "kept" | "inSeconds">): void {
    this.#hears = true;
    this.#relievedUntil = kept ? performance.now() + inSeconds * 1000 + lateMs : -Infinity;
  }

  /** Another worker of this process keeps the watch, and looks again so soon. Returns whether this one relies on it. */
  shared(inSeconds: number): boolean {
    if (this.#hears) this.looked({ kept: true, inSeconds });
    return this.#hears;
  }

  /** Nothing can be heard any more. */
  end(): void {
    this.#hears = false;
    this.#relievedUntil = -Infinity;
  }
}
