import { WorkerNotFoundError } from "../../db/errors.js";
import type * as T from "../../db/types.js";
import type { Cell } from "../cell.js";
import { CellsFlowVerbs } from "./flow.js";
import type { Call } from "./verbs.js";

/** Workers are told something, in the cells that know them. */
export abstract class CellsWorkerVerbs extends CellsFlowVerbs {
  override async workerPause(target: T.WorkerTarget, note: T.DecisionNote = {}, call?: Call): Promise<number> {
    return this.#tellWorkers(call, (cell, own) => cell.engine.workerPause(target, note, own));
  }

  override async workerDrain(target: T.WorkerTarget, note: T.DecisionNote = {}, call?: Call): Promise<number> {
    return this.#tellWorkers(call, (cell, own) => cell.engine.workerDrain(target, note, own));
  }

  override async workerResume(target: T.WorkerTarget, call?: Call): Promise<number> {
    return this.#tellWorkers(call, (cell, own) => cell.engine.workerResume(target, own));
  }

  override async workerConcurrency(
    target: T.WorkerTarget,
    concurrency: number | null,
    note: T.DecisionNote = {},
    call?: Call,
  ): Promise<number> {
    return this.#tellWorkers(call, (cell, own) => cell.engine.workerConcurrency(target, concurrency, note, own));
  }

  async #tellWorkers(call: Call, tell: (cell: Cell, call: Call) => Promise<number>): Promise<number> {
    return (await this.ways.whereKnown(call, WorkerNotFoundError, tell)).reduce((total, workers) => total + workers, 0);
  }
}
