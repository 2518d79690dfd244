import type { Engine } from "../db/engine.js";

/** Whether others do this for now. */
interface Relief {
  readonly isRelieved: boolean;
}

/** A transaction may tell of something and commit when nobody looks any more: so somebody looks again. */
const everyMs = 1000;

/**
 * Lets go on what waits for something that has happened. While one delivery is on its way, the next is asked for once,
 * however often: it finds all that was told meanwhile.
 */
export class Deliverer {
  #delivering: Promise<void> | undefined;
  #isAsked = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    readonly engine: Pick<Engine, "deliver">,
    /** What fails here is done a second later, by whoever looks then. */
    readonly onError: (error: unknown) => void = () => {},
  ) {}

  /** Look every second from now on, as long as nobody does it for all. */
  start(watch: Relief): void {
    this.#timer ??= setInterval(() => {
      if (!watch.isRelieved) this.ask();
    }, everyMs);
  }

  /** Look no more. Resolves when nothing is on its way. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#timer = undefined;
    await this.idle();
  }

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
