import { warn } from "../observe/warning.js";
import { runInProgress } from "./run-in-progress.js";

let users = 0;

/**
 * An error thrown from a handler's timer, or a promise nobody awaited, would end the process. While a worker runs, such
 * an error fails the attempt it belongs to; one that belongs to no handler ends the process as it would without us.
 * Returns how to undo this.
 */
export function catchStrayErrors(): () => void {
  users += 1;
  if (users === 1) {
    process.on("uncaughtException", onException);
    process.on("unhandledRejection", onRejection);
  }
  let undone = false;
  return () => {
    if (undone) return;
    undone = true;
    users -= 1;
    if (users > 0) return;
    process.off("uncaughtException", onException);
    process.off("unhandledRejection", onRejection);
  };
}

function onException(error: unknown): void {
  if (blame(error) || process.listenerCount("uncaughtException") > 1) return;
  console.error(error);
  process.exit(1);
}

/** Without us it would become an uncaught exception when nobody else listens; so it does. */
function onRejection(error: unknown): void {
  if (!blame(error) && process.listenerCount("unhandledRejection") === 1) throw error;
}

function blame(error: unknown): boolean {
  const run = runInProgress.getStore();
  if (run?.openJobs.length === 0)
    // too late to fail its job
    warn("MILLRACE_HANDLER", error);
  run?.fail(error);
  return run !== undefined;
}
