import type { ClaimedJob, JobId } from "../db/types.js";

/**
 * How long a suspect runs with nobody beside it. One that ends its process mostly does so at once; a long innocent one
 * must not hold up its worker.
 */
export const suspectMs = 1000;
/**
 * How long a job lost once waits for long handlers to end; one lost again ten times as long, since it is ten times as
 * suspicious.
 */
const drainMs = 30_000;
const longestDrainMs = 3_600_000;

/**
 * The place of one suspect: a job whose attempt was lost, perhaps because it ended its process. It waits here until
 * nothing else is held, then runs its first second alone, so that it can take nobody with it. Empty → waiting → watched
 * → empty.
 */
export class Quarantine {
  #waiting: { readonly job: ClaimedJob; readonly receivedAt: number } | undefined;
  #watched: ClaimedJob | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isOverdue = false;

  /** `onChange`: something may start, or be claimed, that might not before. */
  constructor(readonly onChange: () => void) {}

  /** Somebody waits or is watched: nothing may be claimed. */
  get isTaken(): boolean {
    return this.#waiting !== undefined || this.#watched !== undefined;
  }

  /** Somebody runs its first second: nothing may be started. */
  get isWatching(): boolean {
    return this.#watched !== undefined;
  }

  /** Who waits to be started, and since when. */
  get waiting(): { readonly job: ClaimedJob; readonly receivedAt: number } | undefined {
    return this.#waiting;
  }

  /**
   * It has waited for so long that it starts beside whoever still runs: better than a worker that stands still for
   * hours.
   */
  get isOverdue(): boolean {
    return this.#isOverdue;
  }

  /** Let a suspect wait here. Ask `isTaken` first: there is room for one. */
  admit(job: ClaimedJob, receivedAt: number): void {
    this.#waiting = { job, receivedAt };
    this.#after(Math.min(longestDrainMs, drainMs * 10 ** (job.attempt - 2)), () => (this.#isOverdue = true));
  }

  /** The one that waits starts now. */
  watch(): void {
    this.#watched = this.#waiting?.job;
    this.#waiting = undefined;
    this.#after(suspectMs, () => (this.#watched = undefined));
  }

  /** Its handler has ended. */
  ended(job: ClaimedJob | undefined): void {
    if (this.#watched === undefined || this.#watched !== job) return;
    clearTimeout(this.#timer);
    this.#watched = undefined;
  }

  /** Let the one that waits go, if it is one of these; without ids in any case. */
  dismiss(ids?: ReadonlySet<JobId>): ClaimedJob[] {
    const job = this.#waiting?.job;
    if (!job || ids?.has(job.id) === false) return [];
    clearTimeout(this.#timer);
    this.#waiting = undefined;
    return [job];
  }

  #after(ms: number, then: () => void): void {
    clearTimeout(this.#timer);
    this.#isOverdue = false;
    this.#timer = setTimeout(() => {
      then();
      this.onChange();
    }, ms).unref();
  }
}
