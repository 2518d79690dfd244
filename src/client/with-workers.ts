/** The client of those who run jobs too. What stands in millrace.ts alone loads no code of workers. */
import { Worker } from "../worker/worker.js";
import { provideWorkers } from "./worker-maker.js";

provideWorkers((options, parts) => new Worker(options, parts));

export { Millrace } from "./millrace.js";
