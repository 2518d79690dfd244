// What runs in a handler's own thread or process: one job at a time, told by messages. It is made a text
// (scripts/generate-threads.mjs), so that nobody looks for a file at run time.
import { parentPort, workerData } from "node:worker_threads";
import type { JobError, Json } from "../db/types.js";
import type { FromHost, ToHost } from "./isolate.js";
import type { Outcome } from "./outcome.js";

const decision = Symbol.for("millrace.decision");
const tell = (message: FromHost): void => void (parentPort ? parentPort.postMessage(message) : process.send?.(message));
let controller = new AbortController();

async function run(handler: unknown, job: Readonly<Record<string, unknown>>): Promise<void> {
  controller = new AbortController();
  const context = {
    signal: controller.signal,
    progress: async (value: unknown) => tell({ kind: "progress", value }),
    log: (message: string) => tell({ kind: "log", message }),
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
      tell({ kind: "decided", outcome });
    } else tell(decided ? { kind: "decided", outcome: decided } : { kind: "returned", value });
  } catch (error) {
    tell({ kind: "threw", error: describe(error) });
  }
}

/** With its causes; permanent when it, or one of them, says so. */
function describe(error: unknown, depth = 0): JobError & { readonly permanent: boolean } {
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
  };
}

async function main(): Promise<void> {
  const module = (await import((parentPort ? workerData : process.argv.at(-1)) as string)) as { default?: unknown };
  const hear = (message: ToHost): void => {
    if (message.kind === "run") void run(module.default, message.job);
    else controller.abort(new Error(message.reason));
  };
  if (parentPort) parentPort.on("message", hear);
  else process.on("message", (message) => hear(message as ToHost));
}

process.on("disconnect", () => process.exit(0));
void main();
