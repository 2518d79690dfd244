/**
 * Stores the progress of a run: one write at a time, and only the newest value waits for its turn. A handler that
 * reports a hundred thousand steps without waiting would else take all connections of the client, to write values that
 * nobody will see.
 */
export class LatestProgress {
  readonly #store: (value: unknown) => Promise<void>;
  #waiting: Waiting | undefined;
  #writing: Promise<void> | undefined;

  constructor(store: (value: unknown) => Promise<void>) {
    this.#store = store;
  }

  /** Resolves when this value, or one that was put later, is stored. */
  put(value: unknown): Promise<void> {
    this.#waiting ??= newWaiting();
    this.#waiting.value = value;
    const { promise } = this.#waiting;
    this.#writing ??= this.#write();
    return promise;
  }

  /** All that was put is stored, or was refused; undefined when nothing is under way. */
  get writing(): Promise<void> | undefined {
    return this.#writing;
  }

  async #write(): Promise<void> {
    for (let next = this.#waiting; next; next = this.#waiting) {
      this.#waiting = undefined;
      await this.#store(next.value).then(next.resolve, next.reject);
    }
    this.#writing = undefined;
  }
}

interface Waiting {
  value: unknown;
  readonly promise: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

function newWaiting(): Waiting {
  let resolve: () => void = () => {};
  let reject: (error: unknown) => void = () => {};
  const promise = new Promise<void>((onResolve, onReject) => ([resolve, reject] = [onResolve, onReject]));
  return { value: undefined, promise, resolve, reject };
}
