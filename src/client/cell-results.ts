import type { Cell } from "../cells/cell.js";
import { CellsEngine } from "../cells/cells-engine.js";
import { handleOf, splitHandle } from "../cells/handle.js";
import type { Router } from "../cells/router.js";
import type { Engine } from "../db/engine.js";
import type { JobId, Json } from "../db/types.js";
import { Results } from "./results.js";

/** Waits for results of several cells: each is asked by itself, so that one that hangs holds up its own jobs only. */
export class CellResults {
  readonly #results = new Map<Cell, Results>();

  constructor(readonly router: Router) {}

  /** The result of a job, once it has succeeded. */
  async wait(job: JobId, timeoutMs: number, signal?: AbortSignal): Promise<Json> {
    splitHandle(job);
    const { cell, id } = await this.router.jobAt(job);
    const known = this.#results.get(cell);
    const results = known ?? new Results(cell.engine, (plain) => handleOf(cell.name, plain));
    this.#results.set(cell, results);
    return results.wait(id, timeoutMs, signal);
  }
}

/** What waits for results on the connections of this engine, of one cell or of several. */
export function resultsOn(engine: Engine): Pick<Results, "wait"> {
  return engine instanceof CellsEngine ? new CellResults(engine.router) : new Results(engine);
}
