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
  #askedAt = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    readonly engine: Pick<Engine, "noticesDeliver">,
    /** What fails here is done a second later, by whoever looks then. */
    readonly onError: (error: unknown) => void = () => {},
    /** So many notices were delivered, so long after they were heard of here. */
    readonly onDelivered: (notices: number, lagMs: number) => void = () => {},
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
    if (!this.#isAsked) this.#askedAt = performance.now();
    this.#isAsked = true;
    this.#delivering ??= this.#deliver();
  }

  async #deliver(): Promise<void> {
    while (this.#isAsked) {
      this.#isAsked = false;
      const askedAt = this.#askedAt;
      const delivered = await this.engine.noticesDeliver().catch(this.onError);
      if (delivered && delivered.notices > 0) this.onDelivered(delivered.notices, performance.now() - askedAt);
    }
    this.#delivering = undefined;
  }

  /** Resolves when nothing is on its way. */
  async idle(): Promise<void> {
    await this.#delivering;
  }
}
