// @ts-check The heartbeat's thread: extends leases and listens, on a connection of its own. Plain JavaScript, so that
// it runs from source and from dist alike.
import { parentPort, workerData } from "node:worker_threads";
import pg from "pg";

/** @typedef {import("./heartbeat.js").FromThread} FromThread */
/** @typedef {import("./heartbeat.js").ToThread} ToThread */

const data = /** @type {import("./heartbeat.js").ThreadData} */ (workerData);
const port = /** @type {import("node:worker_threads").MessagePort} */ (parentPort);
const turns = new BigInt64Array(data.pulse);
const queues = new Set(data.queues);
/** Tokens by the length of their lease. @type {Map<number, Set<string>>} */
let tokens = new Map();
/** @type {pg.Client | undefined} */
let client;
let stopping = false;
let failures = 0;
let everyMs = 5000;
let wakeUp = () => {};

/** Nobody waits longer for an answer: a network that swallows everything is met with a new connection. */
const answerMs = 10_000;
/**
 * A connection that only listens would never learn that it hears nothing any more: after so long it is asked for a sign
 * of life.
 */
const silenceMs = 10_000;
let answeredAt = 0;

/** @param {FromThread} message */
const tell = (message) => port.postMessage(message);

port.on("message", (/** @type {ToThread} */ message) => {
  if (message.kind === "stop") return void stop();
  if (message.kind === "set") tokens = new Map();
  for (const [leaseMs, added] of message.tokens)
    tokens.set(leaseMs, new Set([...(tokens.get(leaseMs) ?? []), ...added]));
  const isSooner = message.everyMs < everyMs;
  if (isSooner || message.kind === "set") everyMs = message.everyMs;
  if (isSooner) wakeUp();
});

async function stop() {
  stopping = true;
  await client?.end().catch(() => {});
  process.exit(0);
}

async function connect() {
  const fresh = new pg.Client({
    ...data.connection,
    application_name: "millrace heartbeat",
    connectionTimeoutMillis: answerMs,
    query_timeout: answerMs,
  });
  fresh.on("error", () => {
    if (client === fresh) client = undefined;
  });
  fresh.on("notification", ({ payload }) => {
    if (queues.has(payload ?? "")) tell({ kind: "wake" });
  });
  try {
    await fresh.connect();
    // Nothing else is set here: behind a pooler, others would inherit it.
    await fresh.query(`listen ${fresh.escapeIdentifier(`millrace:${data.schema}`)}`);
  } catch (error) {
    drop(fresh);
    throw error;
  }
  client = fresh;
  answeredAt = performance.now();
  tell({ kind: "wake" }); // what was told while nobody listened
}

async function extend() {
  for (const [leaseMs, group] of tokens) {
    if (!client || group.size === 0) continue;
    const asked = [...group];
    const text = `select token, to_json(job_ids::text[]) as job_ids from ${client.escapeIdentifier(data.schema)}.claim_extend($1::uuid[], $2::float8)`;
    const askedAt = process.hrtime.bigint();
    const { rows } = await client.query(text, [asked, leaseMs / 1000]);
    answeredAt = performance.now();
    tell({
      kind: "extended",
      asked,
      leaseMs,
      askedAt,
      held: rows.map((row) => /** @type {const} */ ([row.token, row.job_ids])),
    });
  }
}

async function ping() {
  if (performance.now() - answeredAt < silenceMs) return;
  await client?.query("select");
  answeredAt = performance.now();
}

/** Not waited for: a connection that is dead may never say so. @param {pg.Client | undefined} old */
function drop(old) {
  old?.end().catch(() => {});
}

const stalledMs = () => Number(process.hrtime.bigint() - Atomics.load(turns, 0)) / 1e6;

/** @param {number} ms */
const pause = (ms) =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    wakeUp = () => (clearTimeout(timer), resolve(undefined));
  });

while (!stopping) {
  try {
    if (!client) await connect();
    if (stalledMs() < data.stallMs) await extend();
    await ping();
    failures = 0;
  } catch (error) {
    failures += 1;
    drop(client);
    client = undefined;
    if (failures === 1)
      tell({ kind: "error", message: `heartbeat: ${error instanceof Error ? error.message : String(error)}` });
  }
  await pause(failures === 0 ? everyMs : Math.min(everyMs, 100 * 2 ** Math.min(failures, 6)));
}
