import type { CellsWorkerParts } from "../cells/cells-worker.js";
import { InvalidArgumentError } from "../db/errors.js";
import type { WorkerOptions } from "../worker/worker-options.js";
import type { Worker } from "../worker/worker.js";
import type { WorkerParts } from "../worker/worker-parts.js";

interface WorkerMakers {
  readonly inOneCell: (options: WorkerOptions, parts: WorkerParts) => Worker;
  readonly inCells: (options: WorkerOptions, parts: CellsWorkerParts) => Worker;
}

let makers: WorkerMakers | undefined;

/** Only whoever imports the worker's code can provide it: see with-workers.ts. */
export function provideWorkers(given: WorkerMakers): void {
  makers = given;
}

export const makeWorker: WorkerMakers["inOneCell"] = (options, parts) => known().inOneCell(options, parts);
export const makeCellsWorker: WorkerMakers["inCells"] = (options, parts) => known().inCells(options, parts);

function known(): WorkerMakers {
  if (makers) return makers;
  throw new InvalidArgumentError(
    "a producer has no code for workers: Millrace was imported from millrace/producer",
    'import { Millrace } from "millrace"',
  );
}
