import type { Engine } from "../db/engine.js";
import type { LimitRecord, ResourceOptions } from "../db/types.js";
import { type TxOptions, callOf } from "./call.js";

/** Things that jobs need while they run, of which there is only so much: `mill.resources`. */
export class Resources {
  constructor(
    /** The verbs below this class, one per SQL function. */
    readonly engine: Engine,
  ) {}

  /**
   * Name a resource and set its limits: how many units of it may be in use at once, how often they may be taken, or
   * both. Null lifts one of them. Changes take effect with the next claim.
   *
   * ```ts
   * await mill.resources.put("gpu", { maxRunning: 4 });
   * await mill.resources.put("api:stripe", { rate: { perSecond: 25, burst: 50 } });
   * await mill.enqueue("charge", { invoice: 7 }, { resources: { "api:stripe": 1 } });
   * ```
   */
  async put(name: string, limits: ResourceOptions, options: TxOptions = {}): Promise<void> {
    await this.engine.resourcePut(name, limits, callOf(options));
  }

  /** All limits that were set, of resources and of all else, and how much of each is in use. */
  async limits(options: TxOptions = {}): Promise<LimitRecord[]> {
    return this.engine.limits(callOf(options));
  }
}
