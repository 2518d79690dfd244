import { DatabaseUnavailableError } from "../../db/errors.js";
import { NoRoomError } from "../http/shares.js";

/** One thing to be done together with others of its kind. */
interface Item<In, Out> {
  readonly value: In;
  readonly size: number;
  readonly resolve: (out: Out) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Does things together that were asked for one by one: while some are on their way, those that come gather, and go
 * next, in one statement and with one commit. So one caller alone waits for nobody, and many share the price of a round
 * trip and a flush to disk.
 */
export class Collector<In, Out> {
  #gathered: Item<In, Out>[] = [];
  #isRunning = false;

  /** `run` answers in the order of what it was given. */
  constructor(
    private readonly run: (values: readonly In[]) => Promise<readonly Out[]>,
    private readonly options: { readonly mostItems: number; readonly mostSize: number },
  ) {}

  add(value: In, size = 0): Promise<Out> {
    return new Promise((resolve, reject) => {
      this.#gathered.push({ value, size, resolve, reject });
      if (this.#isRunning) return;
      this.#isRunning = true;
      queueMicrotask(() => void this.#go()); // what is added in one go, such as a batch, stays together
    });
  }

  async #go(): Promise<void> {
    while (this.#gathered.length > 0) await this.#runSome(this.#take());
    this.#isRunning = false;
  }

  #take(): Item<In, Out>[] {
    let size = 0;
    let count = 0;
    for (const item of this.#gathered) {
      size += item.size;
      if (count === this.options.mostItems || (count > 0 && size > this.options.mostSize)) break;
      count += 1;
    }
    return this.#gathered.splice(0, count);
  }

  /** What was refused changed nothing, so that each can be tried alone, and only the one at fault hears of it. */
  async #runSome(items: readonly Item<In, Out>[]): Promise<void> {
    try {
      const outs = await this.run(items.map(({ value }) => value));
      items.forEach(({ resolve }, i) => resolve(outs[i]!));
    } catch (error) {
      if (items.length === 1 || error instanceof DatabaseUnavailableError || error instanceof NoRoomError)
        items.forEach(({ reject }) => reject(error));
      else for (const item of items) await this.#runSome([item]);
    }
  }
}
