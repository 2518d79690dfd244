import { Combine } from "../db/combine.js";
import { checkType, encodeOptions, toJson } from "../db/encode.js";
import type { Engine } from "../db/engine.js";
import { DatabaseUnavailableError, MillraceError } from "../db/errors.js";
import { bounds } from "../db/limits.js";
import type { Enqueued, NewJob } from "../db/types.js";

/** How the jobs of the same options are put together. Sizes are characters of inputs. */
const limits = {
  maxCalls: 100,
  maxSize: 1_000_000,
  maxGatherMs: 0,
  maxRuns: 2,
  /** A connection may have died with those before it. */
  maxWaitMs: 20,
  isForAll: (error: unknown) => !isRefusal(error),
};

/**
 * Payloads are sent as bytes; jobs that others may be duplicates of wait for each other in the database; what is too
 * much of a tenant is decided job by job.
 */
const alone = ["payload", "fingerprint", "schedule", "tenant"] as const;

/** A job that waits, with its input as text when others are on their way, and the queue whose workers it wakes. */
interface Waiting {
  readonly job: NewJob;
  readonly input: string | undefined;
  readonly wake: string | undefined;
}

/**
 * Single enqueues of one process that come at the same time. The first ones go at once, each by itself; those that come
 * while these are on their way go together, in one statement and one commit, when one of these has ended. Each has its
 * own answer: when a statement of many is refused, nothing of it was stored, and it is tried in parts.
 */
export class Joined {
  /** By their options, those that can share a statement. */
  readonly #lines = new Map<string, Combine<Waiting, Enqueued>>();

  constructor(readonly engine: Engine) {}

  async enqueue(job: NewJob, wake?: string): Promise<Enqueued> {
    if (alone.some((option) => job[option] !== undefined)) return this.engine.enqueue(job, undefined, wake);
    const { input, payload: _payload, ...rest } = job;
    const options = encodeOptions({ ...rest, type: checkType(rest.type) });
    const text = this.#lines.has(options) ? textOf(input) : undefined;
    return this.#line(options).add({ job, input: text, wake }, text?.length);
  }

  #line(options: string): Combine<Waiting, Enqueued> {
    let line = this.#lines.get(options);
    if (!line) {
      const onIdle = (): void => void this.#lines.delete(options);
      line = new Combine((batch) => this.#store(options, batch), { ...limits, onIdle });
      this.#lines.set(options, line);
    }
    return line;
  }

  async #store(options: string, batch: readonly Waiting[]): Promise<readonly Enqueued[]> {
    const [first] = batch;
    if (batch.length === 1) return [await this.engine.enqueue(first!.job, undefined, first!.wake)];
    return this.engine.enqueueEncoded(
      batch.map(({ job, input }) => input ?? textOf(job.input)),
      options,
      batch.find(({ wake }) => wake !== undefined)?.wake,
    );
  }
}

const textOf = (input: unknown): string => toJson(input, "input", bounds.inputBytes);

/** The database said no, so that nothing was stored. Without an answer it may have been, and is not tried again. */
function isRefusal(error: unknown): boolean {
  if (error instanceof MillraceError) return !(error instanceof DatabaseUnavailableError);
  return error instanceof Error && "severity" in error; // a DatabaseError, of whichever copy of pg the pool is from
}
