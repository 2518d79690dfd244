/**
 * A promise that knows whether anybody waits for it: a run is suspended for what its handler awaits, and not for a wait
 * that it has begun and will come back to.
 */
export class Waiting<T> implements Promise<T> {
  readonly [Symbol.toStringTag] = "Promise";
  readonly #promise: Promise<T>;
  readonly #onAwaited: () => void;
  resolve!: (value: T) => void;
  reject!: (error: unknown) => void;
  isAwaited = false;

  constructor(onAwaited: () => void) {
    this.#promise = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    this.#promise.catch(() => {}); // who awaits it hears of it
    this.#onAwaited = onAwaited;
  }

  // oxlint-disable-next-line unicorn/no-thenable -- it is a promise, and `then` is how one hears that it is awaited
  then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.isAwaited = true;
    this.#onAwaited();
    return this.#promise.then(onFulfilled, onRejected);
  }

  catch<B = never>(onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<T | B> {
    return this.then(undefined, onRejected);
  }

  finally(onFinally?: (() => void) | null): Promise<T> {
    return this.then(
      (value) => Promise.resolve(onFinally?.()).then(() => value),
      (error) =>
        Promise.resolve(onFinally?.()).then(() => {
          throw error;
        }),
    );
  }
}
