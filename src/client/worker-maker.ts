import { InvalidArgumentError } from "../db/errors.js";
import type { WorkerOptions } from "../worker/worker-options.js";
import type { Worker, WorkerParts } from "../worker/worker.js";

type WorkerMaker = (options: WorkerOptions, parts: WorkerParts) => Worker;

let maker: WorkerMaker | undefined;

/** Only whoever imports the worker's code can provide it: see with-workers.ts. */
export function provideWorkers(given: WorkerMaker): void {
  maker = given;
}

export function makeWorker(options: WorkerOptions, parts: WorkerParts): Worker {
  if (!maker)
    throw new InvalidArgumentError(
      "a producer has no code for workers: Millrace was imported from millrace/producer",
      'import { Millrace } from "millrace"',
    );
  return maker(options, parts);
}
