import { checkId } from "../db/encode.js";
import type { Engine } from "../db/engine.js";
import { errorText } from "../db/error-text.js";
import { causeOf } from "../db/stored-error.js";
import { JobFailedError, JobNotFoundError, TimeoutError } from "../db/errors.js";
import type { JobId, JobOutcome, Json } from "../db/types.js";

interface Waiter {
  readonly resolve: (result: Json) => void;
  readonly reject: (error: unknown) => void;
}

const firstPauseMs = 10;
const longestPauseMs = 500;

/** Waits for results: one question for all that are waited for, asked less often the longer nothing comes. */
export class Results {
  readonly #waiting = new Map<JobId, Set<Waiter>>();
  #asking = false;

  constructor(
    readonly engine: Pick<Engine, "outcomes">,
    /** How a job is called in errors. */
    readonly shown: (id: JobId) => string = (id) => id,
  ) {}

  /** The result of a job, once it has succeeded. */
  async wait(id: JobId, timeoutMs: number, signal?: AbortSignal): Promise<Json> {
    checkId(id); // a wrong one would spoil the question for all others
    return new Promise((resolve, reject) => {
      const end = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", onAbort);
        this.#waiting.get(id)?.delete(waiter);
        if (this.#waiting.get(id)?.size === 0) this.#waiting.delete(id);
      };
      const waiter: Waiter = {
        resolve: (result) => (end(), resolve(result)),
        reject: (error) => (end(), reject(error)),
      };
      const onAbort = (): void => waiter.reject(signal?.reason);
      const timer =
        timeoutMs === Infinity
          ? undefined
          : setTimeout(
              () =>
                waiter.reject(
                  new TimeoutError(
                    `job ${this.shown(id)} has not ended within ${timeoutMs} ms`,
                    "wait longer, or ask again later",
                  ),
                ),
              timeoutMs,
            );
      if (signal?.aborted) return onAbort();
      signal?.addEventListener("abort", onAbort);
      this.#waiting.set(id, (this.#waiting.get(id) ?? new Set()).add(waiter));
      void this.#ask();
    });
  }

  async #ask(): Promise<void> {
    if (this.#asking) return;
    this.#asking = true;
    let pauseMs = firstPauseMs;
    while (this.#waiting.size > 0) {
      const before = this.#waiting.size;
      try {
        for (const outcome of await this.engine.outcomes([...this.#waiting.keys()])) this.#tell(outcome);
      } catch (error) {
        for (const waiters of this.#waiting.values()) for (const { reject } of waiters) reject(error);
      }
      pauseMs = this.#waiting.size < before ? firstPauseMs : Math.min(pauseMs * 1.5, longestPauseMs);
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
    this.#asking = false;
  }

  #tell({ id, state, result, error }: JobOutcome): void {
    for (const { resolve, reject } of this.#waiting.get(id) ?? []) {
      if (state === "succeeded") resolve(result);
      else if (state === "unknown")
        reject(
          new JobNotFoundError(
            `there is no job ${this.shown(id)}`,
            "ask after the commit when it was enqueued in a transaction; it may also have been removed after its retention",
          ),
        );
      else reject(new JobFailedError(this.shown(id), state, errorText(error) || "no message", causeOf(error)));
    }
  }
}
