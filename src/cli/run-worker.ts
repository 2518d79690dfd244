import type { Worker } from "../worker/worker.js";
import type { ExitCode } from "./command.js";
import { count, duration, oneLine, plural } from "./format.js";
import type { Output } from "./output.js";
import type { StopSignals } from "./stop-signals.js";

const summaryMs = 10_000;
/** How long jobs may take to be given back after the second signal; then they wait for their lease to end. */
const forceMs = 5000;

/**
 * Run a worker until somebody wants it to stop, and tell what happens. 0 when everything ended, 1 when handlers were
 * left behind.
 */
export async function runWorker(
  worker: Worker,
  out: Output,
  signals: StopSignals,
  options: { readonly verbose: boolean },
): Promise<ExitCode> {
  const counts = { succeeded: 0, failed: 0 };
  tellEvents(worker, out, counts, options.verbose);
  await worker.start();
  const { queues, concurrency, name } = worker.settings;
  out.event(
    "started",
    { worker: name, queues, concurrency },
    `working on ${queues.join(", ")} as ${name}, ${plural(concurrency, "job")} at once`,
  );
  const summary = setInterval(summaryTeller(out, counts), summaryMs);

  await signals.requested;
  clearInterval(summary);
  const { held } = worker;
  out.event(
    "stopping",
    { held },
    held === 0
      ? "stopping"
      : `stopping when ${plural(held, "job has", "jobs have")} ended; a second signal gives them back at once`,
  );
  const isGraceful = await Promise.race([worker.stop().then(() => true), signals.insisted.then(() => false)]);
  if (!isGraceful)
    await Promise.race([worker.stop({ force: true }), new Promise((resolve) => setTimeout(resolve, forceMs))]);
  out.event(
    "stopped",
    { ...counts },
    `stopped: ${count(counts.succeeded)} succeeded, ${count(counts.failed)} failed attempts`,
  );
  return isGraceful ? 0 : 1;
}

interface Counts {
  succeeded: number;
  failed: number;
}

function tellEvents(worker: Worker, out: Output, counts: Counts, verbose: boolean): void {
  worker.on("success", ({ id, type, attempt }, durationSeconds) => {
    counts.succeeded += 1;
    if (verbose)
      out.event(
        "success",
        { id, type, attempt, durationSeconds },
        `${out.style("green", "✔")} ${type} ${id} in ${duration(durationSeconds * 1000)}`,
      );
  });
  worker.on("failure", ({ id, type, attempt, maxAttempts }, error, final) => {
    counts.failed += 1;
    const message = oneLine((error as { message?: string } | undefined)?.message ?? String(error));
    const which = `attempt ${attempt} of ${maxAttempts === Infinity ? "∞" : maxAttempts}${final ? ", the last" : ""}`;
    out.event(
      "failure",
      { id, type, attempt, final, error: message },
      `${out.style("red", "✘")} ${type} ${id}: ${message} (${which})`,
    );
  });
  worker.on("lost", ({ id, type }) =>
    out.event("lost", { id, type }, `${out.style("yellow", "!")} ${type} ${id} was taken away`),
  );
  worker.on("abandoned", (jobs) => {
    for (const { id, type } of jobs)
      out.event(
        "abandoned",
        { id, type },
        `${out.style("yellow", "!")} the handler of ${type} ${id} goes on after its job has ended`,
      );
  });
  worker.on("error", (error) => {
    const message = error instanceof Error ? error.message : String(error);
    out.event("error", { error: message }, `${out.style("yellow", "!")} ${oneLine(message)}`);
  });
}

/** Only when something has changed. */
function summaryTeller(out: Output, counts: Counts): () => void {
  let told = 0;
  return () => {
    const all = counts.succeeded + counts.failed;
    if (all !== told)
      out.event(
        "summary",
        { ...counts },
        `${count(counts.succeeded)} succeeded, ${count(counts.failed)} failed attempts so far`,
      );
    told = all;
  };
}
