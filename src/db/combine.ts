/** So many turns of the event loop without another call, some ten microseconds, and those that came go. */
const quietTurns = 2;

/** One call that waits for its turn, or for its answer. */
interface Waiting<In, Out> {
  readonly value: In;
  readonly size: number;
  readonly resolve: (out: Out) => void;
  readonly reject: (error: unknown) => void;
}

/** How calls are put together. */
export interface CombineOptions {
  /** The most calls in one. */
  readonly maxCalls: number;
  /** The most of their sizes in one; a single call may be larger. Default: no limit. */
  readonly maxSize?: number;
  /** How long calls may be gathered for one run, while more and more come; with 0 they go at once. Default 1 ms. */
  readonly maxGatherMs?: number;
  /** How long a call may wait for runs before it; then it goes beside them. Default: as long as they take. */
  readonly maxWaitMs?: number;
  /** How many may be under way at once. With more than one, calls may overtake each other. Default 1. */
  readonly maxRuns?: number;
  /** Whether an error says nothing about any single call, so that trying them apart would not help. Default: never. */
  readonly isForAll?: (error: unknown) => boolean;
  /** Called when nothing waits and nothing is under way any more. */
  readonly onIdle?: () => void;
}

/**
 * Does together what was asked for one by one. A call goes as soon as a turn of the event loop brings no other, or at
 * once; those that come while as many as may be are under way are collected, and go next, in the order in which they
 * came. So one caller alone waits for nobody, and many share the price of a statement, of its round trip and of its
 * flush to disk.
 *
 * What `run` refused must have changed nothing. Then its calls are tried in smaller parts, down to each alone, so that
 * only the one at fault hears of it: about twice the root of their number, instead of once for each of them.
 */
export class Combine<In, Out> {
  readonly #maxRuns: number;
  #waiting: Waiting<In, Out>[] = [];
  #runs = 0;
  #isGathering = false;
  #patience: NodeJS.Timeout | undefined;
  #whenIdle: (() => void)[] = [];

  /** `run` answers in the order of what it was given. */
  constructor(
    private readonly run: (values: readonly In[]) => Promise<readonly Out[]>,
    private readonly options: CombineOptions,
  ) {
    this.#maxRuns = options.maxRuns ?? 1;
  }

  /** Have this done, together with others. `size` counts towards `maxSize`. */
  add(value: In, size = 0): Promise<Out> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ value, size, resolve, reject });
      this.#begin();
    });
  }

  /** Resolves once nothing waits and nothing is under way. */
  async idle(): Promise<void> {
    if (this.#runs > 0 || this.#isGathering) await new Promise<void>((resolve) => this.#whenIdle.push(resolve));
  }

  #begin(): void {
    const { maxGatherMs, maxWaitMs } = this.options;
    if (this.#isGathering || this.#waiting.length === 0) return;
    if (this.#runs >= this.#maxRuns) {
      if (maxWaitMs !== undefined) this.#patience ??= setTimeout(() => void this.#go(), maxWaitMs);
      return;
    }
    if (maxGatherMs === 0) return void this.#go();
    this.#isGathering = true;
    gather(
      () => this.#waiting.length,
      () => void this.#go(),
      maxGatherMs,
    );
  }

  async #go(): Promise<void> {
    this.#isGathering = false;
    clearTimeout(this.#patience);
    this.#patience = undefined;
    this.#runs += 1;
    const calls = this.#take();
    this.#begin();
    await this.#runSome(calls);
    this.#runs -= 1;
    this.#begin();
    if (this.#runs > 0 || this.#isGathering) return;
    for (const resolve of this.#whenIdle.splice(0)) resolve();
    this.options.onIdle?.();
  }

  #take(): Waiting<In, Out>[] {
    const { maxCalls, maxSize = Infinity } = this.options;
    let size = 0;
    let count = 0;
    for (const waiting of this.#waiting) {
      size += waiting.size;
      if (count === maxCalls || (count > 0 && size > maxSize)) break;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }

  async #runSome(calls: readonly Waiting<In, Out>[]): Promise<void> {
    let outs: readonly Out[];
    try {
      outs = await this.run(calls.map(({ value }) => value));
    } catch (error) {
      if (calls.length === 1 || this.options.isForAll?.(error)) for (const { reject } of calls) reject(error);
      else await this.#runParts(calls);
      return;
    }
    for (const [i, { resolve }] of calls.entries()) resolve(outs[i]!);
  }

  /** One after another, so that the order stays. */
  async #runParts(calls: readonly Waiting<In, Out>[]): Promise<void> {
    const size = calls.length <= 4 ? 1 : Math.ceil(Math.sqrt(calls.length));
    for (let at = 0; at < calls.length; at += size) await this.#runSome(calls.slice(at, at + size));
  }
}

/**
 * Begin when turns of the event loop bring no more, or after so many milliseconds. Requests that were sent at the same
 * time arrive one by one: where each turn brings some, whoever begins at once goes nearly alone, and all the others
 * wait for that.
 */
export function gather(count: () => number, begin: () => void, maxMs = 1): void {
  const until = performance.now() + maxMs;
  let before = count();
  let quiet = 0;
  const look = (): void => {
    const now = count();
    quiet = now === before ? quiet + 1 : 0;
    if (quiet === quietTurns || performance.now() >= until) return begin();
    before = now;
    setImmediate(look);
  };
  setImmediate(look);
}
