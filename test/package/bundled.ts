/** Programs of users, to be bundled. */

/** Enqueues a job, and says what came of it. */
export const producer = `
import { Millrace, defineJob } from "millrace/producer";

const mail = defineJob("mail");
async function main() {
  const mill = new Millrace();
  const { id } = await mill.enqueue(mail, { to: "ada" });
  try {
    mill.worker();
  } catch (error) {
    console.log(JSON.stringify({ code: error.code, isId: /^[0-9]+$/.test(id) }));
  }
  await mill.close();
}
void main();
`;

/** Runs three jobs, one of them in a thread and one in a process, and says what came of them. */
export const worker = `
import { pathToFileURL } from "node:url";
import pg from "pg";
import { Millrace, defineJob, inProcesses, inThreads } from "millrace";

const mail = defineJob("mail");
const inThread = defineJob("in-thread");
const inProcess = defineJob("in-process");
async function main() {
  const mill = new Millrace();
  const troubles = [];
  const worker = mill.worker({ concurrency: 5 });
  worker.on("error", (error) => troubles.push(String(error)));
  const double = pathToFileURL(process.argv[2]);
  const [threads, processes] = [inThreads(double), inProcesses(double)];
  worker.handle(mail, (job) => ({ sent: job.input.to }));
  worker.handle(inThread, threads);
  worker.handle(inProcess, processes);
  await worker.start();
  const jobs = [
    await mill.enqueue(mail, { to: "ada" }),
    await mill.enqueue(inThread, 4),
    await mill.enqueue(inProcess, 5),
  ];
  const results = await Promise.all(jobs.map((job) => mill.result(job, { timeout: "30s" })));
  const client = new pg.Client({ connectionString: process.env.DATABASE_URL });
  await client.connect();
  const { rows } = await client.query(
    "select count(*)::int as n from pg_stat_activity where datname = current_database() and application_name = 'millrace heartbeat'",
  );
  await client.end();
  await mill.close();
  await Promise.all([threads.close(), processes.close()]);
  console.log(JSON.stringify({ results, heartbeats: rows[0].n, troubles }));
}
void main();
`;
