// A process with one worker whose handlers are made of steps, or are jobs of a flow. Argument: WorkerArguments as JSON.
// What steps do, and what handlers see of them, is left in tables of scenarios/durable.ts. A job may say where its
// process is killed, or stopped, once.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { type JobId, Millrace, PermanentError, defineJob } from "millrace";
import type { RunInput, WaiterInput, WorkerArguments } from "../processes.js";

const { url, options } = JSON.parse(process.argv[2] ?? "{}") as WorkerArguments;
const connection = { connectionString: url, max: 10, connectionTimeoutMillis: 10_000 };
const effects = new pg.Pool({ ...connection, query_timeout: 20_000 });
effects.on("error", () => {});
effects.on("connect", (client) => client.on("error", () => {}));
const mill = new Millrace({ connection });
const worker = mill.worker({ concurrency: 10, handleSignals: true, ...options });
const say = (event: string, more: object = {}): void =>
  void process.stdout.write(`${JSON.stringify({ event, ...more })}\n`);

/** An attempt of a job has begun: one row each, however often its handler is called after a wait. */
async function began(job: { readonly id: JobId; readonly attempt: number }): Promise<void> {
  await effects.query(
    `insert into chaos.effect (job, attempt, pid) select $1, $2, $3
      where not exists (select from chaos.effect where job = $1 and attempt = $2)`,
    [job.id, job.attempt, process.pid],
  );
}

/** The place where the process of this job is to be harmed, if it is this one, and was not yet. */
async function harm(id: JobId, input: RunInput | null, place: string): Promise<void> {
  if (input?.place !== place) return;
  const { rowCount } = await effects.query("insert into chaos.blow values ($1, $2) on conflict do nothing", [
    id,
    place,
  ]);
  if (rowCount === 0) return;
  if (input.how === "stop") say("stopping");
  process.kill(process.pid, input.how === "stop" ? "SIGSTOP" : "SIGKILL");
}

/** Steps whose values are different each time they are made. */
const stepNames = ["one", "two", "three", "four", "five"] as const;
const child = defineJob<RunInput, string>("child");

worker.handle(defineJob<RunInput>("run"), async (job, { step }) => {
  await began(job);
  const saw = async (name: string, value: string): Promise<void> => {
    await effects.query("insert into chaos.seen (job, step, value) values ($1, $2, $3)", [job.id, name, value]);
  };
  const work = async (name: string): Promise<void> => {
    await harm(job.id, job.input, `before ${name}`);
    const value = await step.run(name, async () => {
      const made = randomUUID();
      await effects.query("insert into chaos.work (job, step, attempt, value) values ($1, $2, $3, $4)", [
        job.id,
        name,
        job.attempt,
        made,
      ]);
      await harm(job.id, job.input, `in ${name}`);
      return made;
    });
    await saw(name, value);
  };
  const [one, two, three, four, five] = stepNames;
  await work(one);
  await work(two);
  await harm(job.id, job.input, "before nap");
  await step.sleep("nap", "100ms");
  await work(three);
  await harm(job.id, job.input, "before book");
  const booked = await step.transaction("book", effects, async (tx) => {
    const made = randomUUID();
    await tx.query("insert into chaos.booked (job, value) values ($1, $2)", [job.id, made]);
    await harm(job.id, job.input, "in book");
    return made;
  });
  await saw("book", booked);
  await work(four);
  await harm(job.id, job.input, "before call");
  await saw("call", await step.call("call", child, job.input, { maxAttempts: 1000, retryDelay: "100ms" }));
  await work(five);
  await harm(job.id, job.input, "before end");
});

worker.handle(child, async (job) => {
  await began(job);
  await harm(job.id, job.input, "in child");
  return randomUUID();
});

worker.handle(defineJob<WaiterInput>("waiter"), async (job, { step }) => {
  await began(job);
  const { signals = 0, sleepMs, calls = false } = job.input;
  const heard: string[] = [];
  for (let n = 0; n < signals; n += 1) heard.push((await step.waitFor<string>("go")) ?? "nothing");
  if (sleepMs !== undefined) await step.sleep("nap", sleepMs);
  if (calls) heard.push(await step.call("call", child, {}, { maxAttempts: 1000, retryDelay: "100ms" }));
  await step.transaction("note", effects, async (tx) => {
    await tx.query("insert into chaos.heard (job, value) select $1, unnest($2::text[])", [job.id, heard]);
    await tx.query("insert into chaos.ledger (job) values ($1)", [job.id]);
  });
});

/** A job of a flow. Its effect is there when it has succeeded, and not otherwise. */
worker.handle(defineJob<{ fails?: boolean; sleepMs: number }>("link"), async (job) => {
  await began(job);
  await sleep(job.input.sleepMs);
  if (job.input.fails) throw new PermanentError("it was told to");
  const tx = await effects.connect();
  let isBroken = true;
  try {
    await tx.query("begin");
    await tx.query("insert into chaos.ledger (job) values ($1)", [job.id]);
    await job.complete(undefined, { tx });
    await tx.query("commit");
    isBroken = false;
  } finally {
    tx.release(isBroken);
  }
});

worker.on("lost", (job) => say("lost", { id: job.id }));
worker.on("refused", (ids) => say("refused", { ids }));
worker.on("stopped", () => void Promise.all([mill.close(), effects.end()])); // and the process ends
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
