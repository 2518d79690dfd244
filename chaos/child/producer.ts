// A process that enqueues jobs one by one, in batches, and in transactions that commit or roll back. Argument:
// ProducerArguments as JSON. Says {"event":"acknowledged","ids":[…]} for every job whose storing was confirmed. What
// met an error is unknown, and tried again as a new job.
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { Millrace } from "millrace";
import type { ProducerArguments } from "../processes.js";

const {
  url,
  jobs,
  perSecond,
  types,
  input,
  options,
  groups,
  prepare = true,
} = JSON.parse(process.argv[2] ?? "{}") as ProducerArguments;
const pool = new pg.Pool({ connectionString: url, max: 4, connectionTimeoutMillis: 10_000, query_timeout: 20_000 });
pool.on("error", () => {});
pool.on("connect", (client) => client.on("error", () => {}));
const mill = new Millrace({ connection: pool, prepare });
const say = (event: string, more: object): void => void process.stdout.write(`${JSON.stringify({ event, ...more })}\n`);
const jobOptions = () => ({
  maxAttempts: 1000,
  retryDelay: "100ms",
  ...options,
  ...(groups === undefined ? {} : { group: `g${Math.floor(Math.random() * groups)}` }),
});

let acknowledged = 0;
let transactions = 0;
const startedAt = performance.now();
for (let step = 0; acknowledged < jobs; step += 1) {
  const type = types[step % types.length] ?? "plain";
  try {
    const ids = await [single, batch, inTransaction][step % 3]!(type);
    acknowledged += ids.length;
    if (ids.length > 0) say("acknowledged", { ids });
  } catch (error) {
    say("error", { message: String(error) });
    await sleep(100);
  }
  const aheadMs = (acknowledged / perSecond) * 1000 - (performance.now() - startedAt);
  if (aheadMs > 0) await sleep(aheadMs);
}
await mill.close();
await pool.end();

async function single(type: string): Promise<string[]> {
  return [(await mill.enqueue(type, input, jobOptions())).id];
}

async function batch(type: string): Promise<string[]> {
  const inputs = Array.from({ length: Math.min(20, jobs - acknowledged) }, () => input);
  return (await mill.enqueueMany(type, inputs, jobOptions())).map(({ id }) => id);
}

/** Every fifth rolls back: its job must never be seen. */
async function inTransaction(type: string): Promise<string[]> {
  const tx = await pool.connect();
  let isBroken = true;
  try {
    await tx.query("begin");
    const { id } = await mill.enqueue(type, input, { ...jobOptions(), tx });
    const commits = (transactions += 1) % 5 !== 0;
    await tx.query(commits ? "commit" : "rollback");
    isBroken = false;
    if (!commits) say("undone", { ids: [id] });
    return commits ? [id] : [];
  } finally {
    tx.release(isBroken);
  }
}
