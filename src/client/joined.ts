import { checkType, encodeOptions, toJson } from "../db/encode.js";
import type { Engine } from "../db/engine.js";
import { DatabaseUnavailableError, MillraceError } from "../db/errors.js";
import { bounds } from "../db/limits.js";
import type { Enqueued, NewJob } from "../db/types.js";

/** So many statements are on their way, for jobs of the same options, before the next jobs wait for each other. */
const atOnce = 2;
/** Nobody waits longer than this for statements before it: a connection may have died with them. */
const longestMs = 20;
/** Jobs of one statement, and characters of their inputs. */
const mostJobs = 100;
const mostCharacters = 1_000_000;

/**
 * Payloads are sent as bytes; jobs that others may be duplicates of wait for each other in the database; what is too
 * much of a tenant is decided job by job.
 */
const alone = ["payload", "fingerprint", "schedule", "tenant"] as const;

interface Waiting {
  readonly job: NewJob;
  readonly input: string;
  readonly wake: string | undefined;
  readonly resolve: (enqueued: Enqueued) => void;
  readonly reject: (error: unknown) => void;
}

/** Jobs that have the same options, and so can share a statement. */
interface Line {
  readonly options: string;
  onTheirWay: number;
  waiting: Waiting[];
  timer: NodeJS.Timeout | undefined;
}

/**
 * Single enqueues of one process that come at the same time. The first ones go at once, each by itself; those that come
 * while these are on their way go together, in one statement and one commit, when one of these has ended. Each has its
 * own answer: when a statement of many is refused, nothing of it was stored, and each of them is tried by itself.
 */
export class Joined {
  readonly #lines = new Map<string, Line>();

  constructor(readonly engine: Engine) {}

  async enqueue(job: NewJob, wake?: string): Promise<Enqueued> {
    if (alone.some((option) => job[option] !== undefined)) return this.engine.enqueue(job, undefined, wake);
    const { input, payload: _payload, ...rest } = job;
    const options = encodeOptions({ ...rest, type: checkType(rest.type) });
    const line = this.#lines.get(options) ?? { options, onTheirWay: 0, waiting: [], timer: undefined };
    this.#lines.set(options, line);
    if (line.onTheirWay < atOnce && line.waiting.length === 0)
      return this.#counted(line, () => this.engine.enqueue(job, undefined, wake));
    const text = toJson(input, "input", bounds.inputBytes);
    return new Promise((resolve, reject) => {
      line.waiting.push({ job, input: text, wake, resolve, reject });
      line.timer ??= setTimeout(() => this.#send(line), longestMs);
    });
  }

  /** What is on its way is waited for by those that come meanwhile. */
  async #counted<T>(line: Line, work: () => Promise<T>): Promise<T> {
    line.onTheirWay += 1;
    try {
      return await work();
    } finally {
      line.onTheirWay -= 1;
      if (line.waiting.length > 0) this.#send(line);
      else if (line.onTheirWay === 0) this.#lines.delete(line.options);
    }
  }

  #send(line: Line): void {
    clearTimeout(line.timer);
    line.timer = undefined;
    const batch: Waiting[] = [];
    for (let characters = 0; batch.length < mostJobs && characters < mostCharacters;) {
      const next = line.waiting[batch.length];
      if (!next) break;
      batch.push(next);
      characters += next.input.length;
    }
    line.waiting.splice(0, batch.length);
    if (line.waiting.length > 0) line.timer = setTimeout(() => this.#send(line), longestMs);
    if (batch.length > 0) void this.#counted(line, () => this.#store(line.options, batch));
  }

  async #store(options: string, batch: readonly Waiting[]): Promise<void> {
    const [first] = batch;
    if (batch.length === 1) return this.#storeAlone(first!);
    try {
      const wake = batch.find((waiting) => waiting.wake !== undefined)?.wake;
      const made = await this.engine.enqueueEncoded(
        batch.map(({ input }) => input),
        options,
        wake,
      );
      for (const [i, { resolve }] of batch.entries()) resolve(made[i]!);
    } catch (error) {
      if (isRefusal(error)) await Promise.all(batch.map((waiting) => this.#storeAlone(waiting)));
      else for (const { reject } of batch) reject(error);
    }
  }

  async #storeAlone({ job, wake, resolve, reject }: Waiting): Promise<void> {
    await this.engine.enqueue(job, undefined, wake).then(resolve, reject);
  }
}

/** The database said no, so that nothing was stored. Without an answer it may have been, and is not tried again. */
function isRefusal(error: unknown): boolean {
  if (error instanceof MillraceError) return !(error instanceof DatabaseUnavailableError);
  return error instanceof Error && "severity" in error; // a DatabaseError, of whichever copy of pg the pool is from
}
