// A process with one worker, as a host would run it. Argument: WorkerArguments as JSON. Each execution leaves a row in
// chaos.effect, committed before the job ends. Jobs of the type "exact" write to chaos.ledger and complete in one
// transaction.
import { setTimeout as sleep } from "node:timers/promises";
import { Millrace, defineJob } from "millrace";
import type { JobInput, WorkerArguments } from "../processes.js";
import { Sites } from "./sites.js";

const {
  url,
  cells,
  options,
  poolMax,
  effectUrl,
  effectCells,
  prepare = true,
} = JSON.parse(process.argv[2] ?? "{}") as WorkerArguments;
const effects = new Sites({ url: effectUrl ?? url, cells: effectCells ?? cells, max: 4 });
const wayTo = (connectionString: string) => ({ connectionString, max: poolMax ?? 10, connectionTimeoutMillis: 10_000 });
const mill = new Millrace({
  ...(cells
    ? { cells: Object.fromEntries(Object.entries(cells).map(([name, at]) => [name, wayTo(at)])) }
    : { connection: wayTo(url) }),
  prepare,
});
const worker = mill.worker({ concurrency: 10, handleSignals: true, ...options });

async function act(input: JobInput | null): Promise<void> {
  // the event loop stands still
  if (input?.blockMs) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, input.blockMs);
  if (input?.sleepMs) await sleep(input.sleepMs);
  if (Math.random() < (input?.failOdds ?? 0)) throw new Error("bad luck");
  if (input?.kill) process.kill(process.pid, "SIGKILL");
}

/** Commits before the job ends. */
async function leaveEffect({ id: handle, attempt }: { readonly id: string; readonly attempt: number }): Promise<void> {
  const { pool, id } = effects.of(handle);
  await pool.query("insert into chaos.effect (job, attempt, pid) values ($1, $2, $3)", [id, attempt, process.pid]);
}

worker.handle(defineJob<JobInput | null>("plain"), async (job) => {
  await leaveEffect(job);
  await act(job.input);
});

worker.handle(defineJob<JobInput | null>("exact"), async (job) => {
  await leaveEffect(job);
  await act(job.input);
  const { pool, id } = effects.of(job.id);
  const tx = await pool.connect();
  let isBroken = true;
  try {
    await tx.query("begin");
    await tx.query("insert into chaos.ledger (job) values ($1)", [id]);
    await job.complete(undefined, { tx });
    await tx.query("commit");
    isBroken = false;
  } finally {
    tx.release(isBroken);
  }
});

const say = (event: string, more: object = {}): void =>
  void process.stdout.write(`${JSON.stringify({ event, ...more })}\n`);
worker.on("lost", (job) => say("lost", { id: job.id }));
worker.on("refused", (ids) => say("refused", { ids }));
worker.on("stopped", () => void Promise.all([mill.close(), effects.close()])); // and the process ends
worker.on("error", (error) => say("error", { message: String(error) }));
for (;;) {
  try {
    await worker.start();
    break;
  } catch (error) {
    say("error", { message: String(error) }); // the server is not there yet
    await sleep(200);
  }
}
say("ready");
