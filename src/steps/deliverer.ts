import type { Engine } from "../db/engine.js";

/**
 * Lets go on what waits for something that this process has just told of. While one delivery is on its way, the next is
 * asked for once, however often: it finds all that was told meanwhile.
 */
export class Deliverer {
  #delivering: Promise<void> | undefined;
  #isAsked = false;

  constructor(
    readonly engine: Pick<Engine, "deliver">,
    /** What fails here is done by whoever keeps the watch, a second later. */
    readonly onError: (error: unknown) => void = () => {},
  ) {}

  /** Something was told, and committed. */
  ask(): void {
    this.#isAsked = true;
    this.#delivering ??= this.#deliver();
  }

  async #deliver(): Promise<void> {
    while (this.#isAsked) {
      this.#isAsked = false;
      await this.engine.deliver().catch(this.onError);
    }
    this.#delivering = undefined;
  }

  /** Resolves when nothing is on its way. */
  async idle(): Promise<void> {
    await this.#delivering;
  }
}
