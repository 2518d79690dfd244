import type { Engine } from "../db/engine.js";
import { type TypeOptions, toEngineDefaults } from "../job/queue-options.js";
import { type TxOptions, callOf } from "./call.js";

/** Types of jobs, in whatever queue: `mill.types`. */
export class Types {
  constructor(
    /** The verbs below this class, one per SQL function. */
    readonly engine: Engine,
  ) {}

  /**
   * Set the options of a type, in all queues; those that are not given stay as they are. They come before those of the
   * queue. Limits take effect with the next claim, defaults with the next enqueue.
   *
   * ```ts
   * await mill.types.put("render", { maxRunning: 2, attemptTimeout: "10m" });
   * await mill.types.put("charge", { rate: { perSecond: 25 }, breaker: { within: "1m", pause: "30s" } });
   * ```
   */
  async put(type: string, typeOptions: TypeOptions, options: TxOptions = {}): Promise<void> {
    await this.engine.typePut(type, toEngineDefaults(typeOptions, "type"), callOf(options));
  }
}
