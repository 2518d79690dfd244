// @ts-check What runs in a handler's own thread or process: one job at a time, told by messages. Plain JavaScript, so
// that it runs from source and from dist alike.
import { parentPort, workerData } from "node:worker_threads";

/** @typedef {import("./isolate.js").FromHost} FromHost */
/** @typedef {import("./isolate.js").ToHost} ToHost */

const decision = Symbol.for("millrace.decision");
const module = await import(parentPort ? workerData : process.argv[2]);
const handler = module.default;

/** @param {FromHost} message */
const tell = (message) => (parentPort ? parentPort.postMessage(message) : process.send?.(message));
/** @type {AbortController} */
let controller = new AbortController();

/** @param {Readonly<Record<string, unknown>>} job */
async function run(job) {
  controller = new AbortController();
  const context = {
    signal: controller.signal,
    progress: async (/** @type {unknown} */ value) => void tell({ kind: "progress", value }),
    log: (/** @type {string} */ message) => void tell({ kind: "log", message }),
  };
  try {
    if (typeof handler !== "function")
      throw new TypeError("the module of an isolated handler must export it as default");
    const value = await handler({ ...job, isLastAttempt: Number(job.attempt) >= Number(job.maxAttempts) }, context);
    const decided = typeof value === "object" && value !== null ? value[decision] : undefined;
    tell(decided ? { kind: "decided", outcome: decided } : { kind: "returned", value });
  } catch (error) {
    tell({ kind: "threw", error: describe(error) });
  }
}

/** @param {unknown} error */
function describe(error) {
  if (!(error instanceof Error)) return { message: String(error), permanent: false };
  let permanent = false;
  for (
    let one = /** @type {unknown} */ (error), depth = 0;
    one instanceof Error && depth < 20;
    one = one.cause, depth += 1
  )
    permanent ||= one.name === "PermanentError";
  return {
    name: error.name,
    message: error.message,
    ...(error.stack === undefined ? {} : { stack: error.stack }),
    permanent,
  };
}

/** @param {ToHost} message */
const hear = (message) => {
  if (message.kind === "run") void run(message.job);
  else controller.abort(new Error(message.reason));
};
if (parentPort) parentPort.on("message", hear);
else process.on("message", (message) => hear(/** @type {ToHost} */ (message)));
process.on("disconnect", () => process.exit(0));
