// What runs in a handler's own thread or process: one job at a time, told by messages. It is made a text
// (scripts/generate-threads.mjs), so that nobody looks for a file at run time.
import { parentPort, workerData } from "node:worker_threads";
import type { Json } from "../db/types.js";
import { HostSteps } from "./host-steps.js";
import type { FromHost, SentError, ToHost } from "./isolate-messages.js";
import type { Outcome } from "./outcome.js";

const decision = Symbol.for("millrace.decision");
// for a Millrace that a handler makes here (run-in-progress.ts)
Object.defineProperty(globalThis, Symbol.for("millrace.host"), { value: true });
const tell = (message: FromHost): void => void (parentPort ? parentPort.postMessage(message) : process.send?.(message));
let controller = new AbortController();
/** Those of the newest run. */
let steps: { readonly run: number; readonly step: HostSteps } | undefined;

async function call(handler: unknown, run: number, job: Readonly<Record<string, unknown>>): Promise<void> {
  controller = new AbortController();
  const { signal } = controller;
  const step = new HostSteps(run, signal, tell, describe);
  steps = { run, step };
  const context = {
    signal,
    step,
    progress: async (value: unknown) => tell({ kind: "progress", run, value }),
    log: (message: string) => tell({ kind: "log", run, message }),
  };
  try {
    if (typeof handler !== "function")
      throw new TypeError("the module of an isolated handler must export it as default");
    const value: unknown = await handler(
      { ...job, isLastAttempt: Number(job.attempt) >= Number(job.maxAttempts) },
      context,
    );
    const decided =
      typeof value === "object" && value !== null ? (value as { [decision]?: Outcome })[decision] : undefined;
    if (decided && "thrown" in decided) {
      const { thrown: _, ...outcome } = decided; // may be anything, and not be sent
      tell({ kind: "decided", run, outcome });
    } else tell(decided ? { kind: "decided", run, outcome: decided } : { kind: "returned", run, value });
  } catch (error) {
    tell({ kind: "threw", run, error: describe(error) });
  }
}

/** With its causes; permanent, or what tells that the run was stopped, when it is, or one of them. */
function describe(error: unknown, depth = 0): SentError {
  if (!(error instanceof Error)) return { message: String(error), permanent: false };
  const cause = error.cause === undefined || depth >= 20 ? undefined : describe(error.cause, depth + 1);
  const { code } = error as { code?: unknown };
  return {
    name: error.name,
    message: error.message,
    ...(error.stack === undefined ? {} : { stack: error.stack }),
    ...(typeof code === "string" ? { code } : {}),
    ...(cause === undefined ? {} : { cause: cause as Json }),
    permanent: error.name === "PermanentError" || (cause?.permanent ?? false),
    stopped: error === controller.signal.reason || (cause?.stopped ?? false),
  };
}

async function main(): Promise<void> {
  const module = (await import((parentPort ? workerData : process.argv.at(-1)) as string)) as { default?: unknown };
  const hear = (message: ToHost): void => {
    if (message.kind === "run") void call(module.default, message.run, message.job);
    else if (message.kind === "abort") controller.abort(new Error(message.reason));
    else if (message.run === steps?.run) steps.step.hear(message);
  };
  if (parentPort) parentPort.on("message", hear);
  else process.on("message", (message) => hear(message as ToHost));
}

process.on("disconnect", () => process.exit(0));
void main();
