// A process with one worker, as a host would run it. Argument: JSON with url, queue, worker and mill (their options),
// stray (throw outside of any handler). A job's input says what its handler does: sleepMs, blockMs (the event loop
// stands still), untilSignal, exit (the process ends), kill (the system ends it, as when it is out of memory). Prints
// one JSON object per line: {"event": "ready" | "start" | "end" | "signal" | "lost" | "refused" | "stopped", …}.
import { setTimeout as sleep } from "node:timers/promises";
import { Millrace, defineJob } from "../../dist/index.js";

const { url, queue, worker: options, mill: more, stray } = JSON.parse(process.argv[2]);
const say = (event, more = {}) => process.stdout.write(`${JSON.stringify({ event, ...more })}\n`);
const stand = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

const mill = new Millrace({ connection: url, logger: false, ...more });
const worker = mill.worker({ queues: [queue], ...options });
worker.handle(defineJob("work"), async ({ id, attempt, input }, { signal }) => {
  say("start", { id, attempt, input });
  signal.addEventListener("abort", () => say("signal", { id, reason: signal.reason.message }));
  if (input?.exit) process.exit(3);
  if (input?.kill) process.kill(process.pid, "SIGKILL");
  if (input?.blockMs) stand(input.blockMs);
  if (input?.sleepMs) await sleep(input.sleepMs);
  if (input?.untilSignal) await new Promise((resolve) => signal.addEventListener("abort", resolve));
  say("end", { id, attempt });
  return { by: options?.name ?? process.pid, attempt };
});
worker.on("lost", (job) => say("lost", { id: job.id }));
worker.on("refused", (ids) => say("refused", { ids }));
worker.on("error", (error) => say("error", { message: String(error) }));
worker.on("stopped", () => say("stopped"));
await worker.start();
say("ready");
if (stray === "rejection") void Promise.reject(new Error("nobody's fault"));
if (stray === "exception")
  setTimeout(() => {
    throw new Error("nobody's fault");
  });
