import { runInProgress } from "./run.js";

let users = 0;

/**
 * An error thrown from a handler's timer, or a promise nobody awaited, would end the process. While a worker runs, such an error fails
 * the attempt it belongs to; one that belongs to no handler ends the process as it would without us. Returns how to undo this.
 */
export function catchStrayErrors(): () => void {
  users += 1;
  if (users === 1) {
    process.on("uncaughtException", onStrayError);
    process.on("unhandledRejection", onStrayError);
  }
  let undone = false;
  return () => {
    if (undone) return;
    undone = true;
    users -= 1;
    if (users > 0) return;
    process.off("uncaughtException", onStrayError);
    process.off("unhandledRejection", onStrayError);
  };
}

function onStrayError(error: unknown): void {
  const run = runInProgress.getStore();
  if (run) {
    run.fail(error);
  } else if (process.listenerCount("uncaughtException") === 1) {
    console.error(error);
    process.exit(1);
  }
}
