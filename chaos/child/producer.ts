// A process that enqueues jobs one by one, in batches, and in transactions that commit or roll back. Argument:
// ProducerArguments as JSON. Says {"event":"acknowledged","ids":[…]} for every job whose storing was confirmed. What
// met an error is unknown, and tried again as a new job. SIGTERM ends it before all are enqueued.
import { setTimeout as sleep } from "node:timers/promises";
import { Millrace } from "millrace";
import type { ProducerArguments } from "../processes.js";
import { Sites } from "./sites.js";

const {
  url,
  cells,
  jobs,
  perSecond,
  types,
  input,
  options,
  groups,
  fingerprints,
  lingerMs = 0,
  prepare = true,
} = JSON.parse(process.argv[2] ?? "{}") as ProducerArguments;
const sites = new Sites({ url, cells, max: 4 });
const mill = new Millrace({ ...sites.connection, prepare });
const say = (event: string, more: object): void => void process.stdout.write(`${JSON.stringify({ event, ...more })}\n`);
const jobOptions = () => ({
  maxAttempts: 1000,
  retryDelay: "100ms",
  ...options,
  ...(groups === undefined ? {} : { group: `g${Math.floor(Math.random() * groups)}` }),
  ...(fingerprints === undefined ? {} : { fingerprint: `f${Math.floor(Math.random() * fingerprints)}` }),
});

const ways = fingerprints === undefined ? [single, batch, inTransaction] : [single];
let acknowledged = 0;
let isTold = false;
process.once("SIGTERM", () => (isTold = true));
let transactions = 0;
const startedAt = performance.now();
for (let step = 0; acknowledged < jobs && !isTold; step += 1) {
  const type = types[step % types.length] ?? "plain";
  try {
    const ids = await ways[step % ways.length]!(type);
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
await sites.close();

async function single(type: string): Promise<string[]> {
  return [(await mill.enqueue(type, input, jobOptions())).id];
}

async function batch(type: string): Promise<string[]> {
  const inputs = Array.from({ length: Math.min(20, jobs - acknowledged) }, () => input);
  return (await mill.enqueueMany(type, inputs, jobOptions())).map(({ id }) => id);
}

/** On the server of the queue's cell. Every fifth rolls back: its job must never be seen. */
async function inTransaction(type: string): Promise<string[]> {
  const tx = await sites.pool(await mill.cells?.whereIs(options.queue ?? "default")).connect();
  let isBroken = true;
  try {
    await tx.query("begin");
    const { id } = await mill.enqueue(type, input, { ...jobOptions(), tx });
    if (lingerMs > 0) await sleep(Math.random() * lingerMs);
    const commits = (transactions += 1) % 5 !== 0;
    await tx.query(commits ? "commit" : "rollback");
    isBroken = false;
    if (!commits) say("undone", { ids: [id] });
    return commits ? [id] : [];
  } finally {
    tx.release(isBroken);
  }
}
