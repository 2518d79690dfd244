import type { Engine } from "../db/engine.js";
import { type CellOptions, toEngineDefaults } from "../job/queue-options.js";
import { type TxOptions, callOf } from "./call.js";

/** The installation as a whole: `mill.cell`. With several servers, which `mill.cells` is about, it is set in each. */
export class Cell {
  constructor(
    /** The verbs below this class, one per SQL function. */
    readonly engine: Engine,
  ) {}

  /**
   * Set the defaults of all jobs, and how long is kept what has ended; those that are not given stay as they are.
   *
   * ```ts
   * await mill.cell.put({ retentionSucceeded: "1d", retentionFailed: { days: 90 }, attemptTimeout: "15m" });
   * ```
   */
  async put(cellOptions: CellOptions, options: TxOptions = {}): Promise<void> {
    await this.engine.cellPut(toEngineDefaults(cellOptions, "cell"), callOf(options));
  }
}
