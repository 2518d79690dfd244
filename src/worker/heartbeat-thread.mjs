// @ts-check
// The heartbeat's thread: extends leases and listens, on a connection of its own. Plain JavaScript, so that it runs from source and from dist alike.
import { setTimeout as sleep } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import pg from "pg";

/** @typedef {import("./heartbeat.js").FromThread} FromThread */
/** @typedef {import("./heartbeat.js").ToThread} ToThread */

const data = /** @type {import("./heartbeat.js").ThreadData} */ (workerData);
const port = /** @type {import("node:worker_threads").MessagePort} */ (parentPort);
const turns = new BigInt64Array(data.pulse);
const queues = new Set(data.queues);
/** @type {Set<string>} */
let tokens = new Set();
/** @type {pg.Client | undefined} */
let client;
let stopping = false;
let failures = 0;

/** @param {FromThread} message */
const tell = (message) => port.postMessage(message);

port.on("message", (/** @type {ToThread} */ message) => {
  if (message.kind === "add") for (const token of message.tokens) tokens.add(token);
  else if (message.kind === "set") tokens = new Set(message.tokens);
  else void stop();
});

async function stop() {
  stopping = true;
  await client?.end().catch(() => {});
  process.exit(0);
}

async function connect() {
  const fresh = new pg.Client({ ...data.connection, application_name: "millrace heartbeat" });
  fresh.on("error", () => {
    if (client === fresh) client = undefined;
  });
  fresh.on("notification", ({ payload }) => {
    if (queues.has(payload ?? "")) tell({ kind: "wake" });
  });
  await fresh.connect();
  await fresh.query(`listen ${fresh.escapeIdentifier(`millrace:${data.schema}`)}`);
  client = fresh;
  tell({ kind: "wake" }); // what was told while nobody listened
}

async function extend() {
  const asked = [...tokens];
  if (asked.length === 0 || !client) return;
  const text = `select token, job_ids from ${client.escapeIdentifier(data.schema)}.claim_extend($1::uuid[], $2::float8)`;
  const { rows } = await client.query(text, [asked, data.leaseMs / 1000]);
  tell({ kind: "extended", asked, held: rows.map((row) => /** @type {const} */ ([row.token, row.job_ids.map(String)])) });
}

const stalledMs = () => Number(process.hrtime.bigint() - Atomics.load(turns, 0)) / 1e6;

while (!stopping) {
  try {
    if (!client) await connect();
    if (stalledMs() < data.stallMs) await extend();
    failures = 0;
  } catch (error) {
    failures += 1;
    await client?.end().catch(() => {});
    client = undefined;
    if (failures === 1) tell({ kind: "error", message: `heartbeat: ${error instanceof Error ? error.message : String(error)}` });
  }
  await sleep(failures === 0 ? data.everyMs : Math.min(data.everyMs, 100 * 2 ** Math.min(failures, 6)));
}
