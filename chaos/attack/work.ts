import { type ClaimedJob, Scheduler } from "millrace";
import { ask } from "./api-door.js";
import { Fault, type Run } from "./run.js";
import { callSqs } from "./sqs-door.js";

/** So much time goes by between rounds: leases end, delays pass, schedules come round, rings turn. */
const jumps = [1, 3600, 86_400];
const reads = [
  "/jobs?queue=@q&limit=50",
  "/jobs?queue=@q&state=failed",
  "/failures?queue=@q",
  "/queues/@q",
  "/queues/@q/types",
  "/queues/@q/groups",
  "/queues/@q/peek",
  "/queues/@q/events",
];
const wideReads = [
  "/queues",
  "/overview",
  "/limits",
  "/breakers",
  "/pauses",
  "/running",
  "/workers",
  "/stages",
  "/schedules",
  "/schedule-events",
  "/audit",
  "/jobs?limit=20",
];

/** What was accepted is worked on in every way, by others, who do not know what it is. All of it must succeed. */
export async function workOn(run: Run): Promise<void> {
  await claimAndReport(run);
  for (const seconds of jumps) {
    await run.target.moveClock(seconds);
    await schedule(run);
    await keepUp(run);
    await claimAndReport(run);
  }
  await receive(run);
  await lookAt(run);
  await keepUp(run);
}

/** Whatever is there is claimed; some of it succeeds, fails, is retried and given back, and some is left to be lost. */
async function claimAndReport(run: Run): Promise<void> {
  const { engine } = run.target;
  for (const queue of run.queues) {
    const jobs = await must(`claim from ${queue}`, () =>
      engine.claim({ queues: [queue], limit: 100, leaseSeconds: 1, worker: "attacked" }),
    );
    for (const [i, job] of jobs.entries()) {
      if (i % 6 === 5) continue;
      await must(`report ${i % 6} on ${job.id}`, () => report(run, i % 6, job));
    }
  }
}

async function report({ target: { engine } }: Run, kind: number, job: ClaimedJob): Promise<void> {
  try {
    if (kind === 0) await engine.complete(job, job.input);
    else if (kind === 1) await engine.fail(job, { name: "E", message: "given up" });
    else if (kind === 2) await engine.retryLater(job, { name: "E", message: "later" });
    else if (kind === 3) await engine.release(job);
    else if (kind === 4) await engine.progressPut(job, { half: true });
  } catch (error) {
    // The lease is a second long, and others maintain; a result of the size of an input may be just too deep for one.
    if (!["MR001", "MR002", "MR005"].includes((error as { code?: string }).code ?? "")) throw error;
  }
}

async function schedule(run: Run): Promise<void> {
  const scheduler = new Scheduler({ engine: run.target.engine, onError: (error) => failures.push(error) });
  const failures: unknown[] = [];
  await must("scheduler", () => scheduler.look());
  await scheduler.stop();
  // A schedule whose queue is full or closed is held by itself; what PostgreSQL could not read should not have been
  // stored.
  const wrong = failures.find((error) => !/^MR\d/.test((error as { cause?: { code?: string } }).cause?.code ?? ""));
  if (wrong !== undefined) throw new Fault("scheduler", wrong);
}

async function keepUp({ target: { engine } }: Run): Promise<void> {
  const done = await must("maintain", () => engine.maintain());
  if (done.failed) throw new Fault(`a part of upkeep failed: ${JSON.stringify(done.failed)}`);
}

/** SQS clients see what is theirs, and are not hurt by the rest. */
async function receive(run: Run): Promise<void> {
  for (const queue of run.queues) {
    const QueueUrl = `/000000000000/${queue}`;
    for (let tries = 0; tries < 3; tries += 1)
      await callSqs(run, {
        verb: "ReceiveMessage",
        values: {
          QueueUrl,
          MaxNumberOfMessages: 10,
          WaitTimeSeconds: 0,
          AttributeNames: ["All"],
          MessageAttributeNames: ["All"],
        },
      });
    await callSqs(run, { verb: "GetQueueAttributes", values: { QueueUrl, AttributeNames: ["All"] } });
  }
}

/** Everything that lists, lists. */
async function lookAt(run: Run): Promise<void> {
  const { pool, engine } = run.target;
  const sql = (text: string): Promise<unknown> => must(text, () => pool.query(text, [run.queues]));
  await sql("select * from millrace.jobs where queue = any ($1)");
  await sql("select a.* from millrace.attempts a join millrace.jobs j on j.id = a.job_id where j.queue = any ($1)");
  await sql("select f.* from unnest($1::text[]) q, millrace.job_failures(q) f");
  await sql("select millrace.job_find(q) from unnest($1::text[]) q");
  for (const queue of run.queues) await must(`list ${queue}`, () => engine.list({ queue }));
  const paths = [...run.queues.flatMap((queue) => reads.map((path) => path.replace("@q", queue))), ...wideReads];
  await Promise.all(
    paths.map(async (path) => {
      const { status, answer } = await ask(run.target, "reader", "GET", path);
      if (status !== 200) throw new Fault(`GET ${path} was answered ${status} ${answer.slice(0, 300)}`);
    }),
  );
  const metrics = await fetch(`${run.target.apiUrl}/metrics`, {
    headers: { authorization: `Bearer ${run.target.tokens.reader}` },
  });
  if (metrics.status !== 200) throw new Fault(`GET /metrics was answered ${metrics.status} ${await metrics.text()}`);
  await metrics.text();
}

async function must<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    throw cause instanceof Fault ? cause : new Fault(what, cause);
  }
}
