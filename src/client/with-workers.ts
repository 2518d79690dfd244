/** The client of those who run jobs too. What stands in millrace.ts alone loads no code of workers. */
import { CellsWorker } from "../cells/cells-worker.js";
import { Worker } from "../worker/worker.js";
import { provideWorkers } from "./worker-maker.js";

provideWorkers({
  inOneCell: (options, parts) => new Worker(options, parts),
  inCells: (options, parts) => new CellsWorker(options, parts),
});

export { Millrace } from "./millrace.js";
