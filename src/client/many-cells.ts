import type pg from "pg";
import type { Cell } from "../cells/cell.js";
import { Cells } from "../cells/cells.js";
import { CellsEngine } from "../cells/cells-engine.js";
import { cellsOfCitus } from "../cells/citus.js";
import { checkCellName, splitHandle } from "../cells/handle.js";
import { openCells } from "../cells/open-cells.js";
import { Router } from "../cells/router.js";
import { checkObject } from "../db/check-options.js";
import { InvalidArgumentError } from "../db/errors.js";
import { hasRoom } from "../db/pool.js";
import { defaultSchema } from "../db/schema-name.js";
import type { JobId, Json } from "../db/types.js";
import { errorLine } from "../observe/logger.js";
import type { Worker } from "../worker/worker.js";
import type { WorkerParts } from "../worker/worker-parts.js";
import type { WorkerOptions } from "../worker/worker-options.js";
import { CellResults } from "./cell-results.js";
import { CommitWatch } from "./commit-watch.js";
import { guardPool } from "./guard-pool.js";
import type { MillraceOptions } from "./millrace-options.js";
import type { Place, PlaceParts, Told } from "./place.js";
import { makeCellsWorker } from "./worker-maker.js";

/** The cells of a client that has several: all of them, or how to learn which there are. One is as none. */
export function openMany(options: MillraceOptions): Router | undefined {
  const { cells, citus, connection, schema, prepare } = options;
  if ([cells, citus, connection].filter((one) => one !== undefined).length > 1)
    throw new InvalidArgumentError("connection, cells and citus exclude each other", "give one of them");
  if (citus !== undefined) return new Router(async () => openCells(await cellsOfCitus(citus), { schema, prepare }));
  if (cells === undefined) return undefined;
  checkObject(cells, "cells");
  const names = Object.keys(cells).map(checkCellName);
  return names.length === 1 ? undefined : new Router(openCells(cells, { schema, prepare }));
}

/** Several cells. What is counted by the numbers of one server is kept for each of them. */
export class ManyCells implements Place {
  readonly engine: CellsEngine;
  readonly cells: Cells;
  readonly #router: Router;
  readonly #parts: PlaceParts;
  readonly #commits = new Map<Cell, CommitWatch>();
  readonly #results: CellResults;
  readonly #guards: (() => void)[] = [];

  constructor(router: Router, parts: PlaceParts) {
    this.#router = router;
    this.#parts = parts;
    this.#results = new CellResults(router);
    this.engine = new CellsEngine(router, parts.options.schema ?? defaultSchema);
    this.cells = new Cells(router, parts.options.citus);
    for (const cell of router.opened) if (!cell.ownsPool) this.#guard(cell.name, cell.pool);
  }

  #guard(cell: string, pool: pg.Pool): void {
    const { logger } = this.#parts;
    this.#guards.push(
      guardPool(pool, (error) =>
        logger?.warn({ cell, err: error }, `the pool of cell "${cell}" has lost a connection: ${errorLine(error)}`),
      ),
    );
  }

  /** The number of the transaction names its cell, as that of a job does. */
  committing(handle: string, told: Told): void {
    const { cell: name, id: xid } = splitHandle(handle);
    const cell = this.#router.cell(name!);
    const known = this.#commits.get(cell);
    const commits = known ?? new CommitWatch(cell.engine, () => hasRoom(cell.pool), this.#parts.tell);
    this.#commits.set(cell, commits);
    commits.add(xid, told);
  }

  result(job: JobId, timeoutMs: number, signal?: AbortSignal): Promise<Json> {
    return this.#results.wait(job, timeoutMs, signal);
  }

  worker(options: WorkerOptions, parts: Omit<WorkerParts, "engine" | "pool" | "cell">): Worker {
    return makeCellsWorker(options, { ...parts, router: this.#router });
  }

  async settle(): Promise<void> {
    await Promise.all([...this.#commits.values()].map((commits) => commits.close()));
  }

  async close(): Promise<void> {
    await Promise.all(this.#router.opened.filter(({ ownsPool }) => ownsPool).map(({ pool }) => pool.end()));
    for (const unguard of this.#guards) unguard();
  }
}
