// The heartbeat's thread: extends leases and listens, on a connection of its own. It is bundled with pg into a text
// (scripts/generate-threads.mjs), so that nobody looks for a file at run time.
import { parentPort, workerData } from "node:worker_threads";
import pg from "pg";
import type { FromThread, ThreadData, ToThread } from "./heartbeat.js";
import { type ProcessBeat, factsOf } from "./process-beat.js";
import type { Look } from "./watch.js";
import type { JobId } from "../db/types.js";
import type { BeatAnswer } from "../db/verbs/workers.js";

const data = workerData as ThreadData;
const port = parentPort!;
const turns = new BigInt64Array(data.pulse);
const queues = new Set(data.queues);
/** Tokens by the length of their lease. */
let tokens = new Map<number, Set<string>>();
let client: pg.Client | undefined;
let stopping = false;
let failures = 0;
let everyMs = 5000;
let wakeUp = (): void => {};
/** When leases are prolonged next, and when the next look is, of `performance.now()`. */
let extendAt = 0;
let lookAt = Infinity;
/** What is told of the process, if this worker does; when next; and the facts that the database has. */
let beat: ProcessBeat | undefined;
let beatAt = 0;
let knownFacts: string | undefined;
/** Those of them of which a change is told at once: how many handlers run changes all the time. */
let knownDeclared: string | undefined;
/** What the workers have to obey, as they were told last. The first answer is told always: they asked before, too. */
let knownOrders: string | undefined;
/** The last beat was not refused. */
let isClear = true;
/** How far apart looks and beats are; and whether one statement may do both. */
let lookEveryMs = 0;
let beatEveryMs = 0;
let mayJoin = true;
/** Whether a notification has come through this connection. */
let isHearing = false;
let probedAt = -Infinity;
const probe = `?${data.watch?.id}`;

/**
 * A statement of this thread is on its way. Behind a transaction pooler the session that listens is lent to it just
 * then, and hands over what it has heard; a moment later nothing is heard any more. So what is heard then proves
 * nothing, and is asked for again soon.
 */
let isAsking = false;
const nextTryMs = 1000;

/** A notification that was not heard is sent again after this, and a look that was refused is tried again. */
const askAgainMs = 30_000;
/** A process that may not be told of is told of again after this. */
const refusedMs = 60_000;
/** All who stand by are called at the same moment. */
const callMs = 300;
/** After the first look of a connection: those who seem to keep the watch may have died with what was here before. */
const secondLookMs = 5000;
let hasLooked = false;
let keeps = false;

/** Nobody waits longer for an answer: a network that swallows everything is met with a new connection. */
const answerMs = 10_000;
/**
 * A connection that only listens would never learn that it hears nothing any more: after so long it is asked for a sign
 * of life.
 */
const silenceMs = 10_000;
let answeredAt = 0;

const tell = (message: FromThread): void => port.postMessage(message);

port.on("message", (message: ToThread) => {
  if (message.kind === "stop") return void stop(message.left);
  if (message.kind === "rest") {
    if (hasLooked && !keeps) lookAt = Math.max(lookAt, performance.now() + message.ms);
    return;
  }
  if (message.kind === "set") {
    tokens = new Map();
    beat = message.process;
    if (beat && isClear && JSON.stringify(beat.facts) !== knownDeclared) beatAt = 0;
    if (beat && performance.now() >= beatAt) wakeUp();
  }
  for (const [leaseMs, added] of message.tokens)
    tokens.set(leaseMs, new Set([...(tokens.get(leaseMs) ?? []), ...added]));
  const isSooner = message.everyMs < everyMs;
  if (isSooner || message.kind === "set") everyMs = message.everyMs;
  extendAt = Math.min(extendAt, performance.now() + everyMs);
  if (isSooner) wakeUp();
});

async function stop(left: string | undefined): Promise<void> {
  stopping = true;
  if (left !== undefined)
    await client?.query(`select ${client.escapeIdentifier(data.schema)}.worker_leave($1)`, [left]).catch(() => {});
  if (isHearing && data.watch)
    await client
      ?.query(`select ${client.escapeIdentifier(data.schema)}.watch_leave($1)`, [data.watch.id])
      .catch(() => {});
  await client?.end().catch(() => {});
  process.exit(0);
}

async function connect(): Promise<void> {
  const fresh = new pg.Client({
    ...data.connection,
    application_name: "millrace heartbeat",
    connectionTimeoutMillis: answerMs,
    query_timeout: answerMs,
    // one that stands by does not ask for long
    keepAlive: true,
    keepAliveInitialDelayMillis: silenceMs,
  });
  fresh.on("error", () => {
    if (client === fresh) forget();
  });
  fresh.on("notification", ({ payload }) => {
    if (queues.has(payload ?? "")) tell({ kind: "wake" });
    else if (payload === "!workers") beatBy(performance.now() + Math.random() * callMs);
    else if (payload === "!watch" && isHearing) lookBy(performance.now() + Math.random() * callMs);
    else if (payload === probe && client === fresh && !isHearing) {
      if (isAsking) probedAt = performance.now() - askAgainMs + nextTryMs;
      else {
        isHearing = true;
        lookBy(performance.now());
      }
    }
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

/** The connection is lost. */
function forget(): void {
  client = undefined;
  isHearing = false;
  hasLooked = false;
  keeps = false;
  lookAt = Infinity;
  probedAt = -Infinity;
  mayJoin = true;
  tell({ kind: "deaf" });
  wakeUp();
}

/** Somebody has ordered something: the next beat brings it. */
function beatBy(at: number): void {
  if (!beat || !isClear || at >= beatAt) return;
  beatAt = at;
  wakeUp();
}

function lookBy(at: number): void {
  if (at >= lookAt) return;
  lookAt = at;
  wakeUp();
}

/** Only what another connection sends proves that this one hears: behind a transaction pooler it does not. */
function askToHear(): void {
  if (!data.watch || isHearing || performance.now() - probedAt < askAgainMs) return;
  probedAt = performance.now();
  tell({ kind: "probe", payload: probe });
}

/**
 * Take part in the watch (sql/upkeep/watch_keep.sql), and tell the database of the process
 * (sql/workers/worker_beat.sql). What has half of its time behind it goes along with the other, in one transaction: so
 * keeping the watch is all that a process which does so costs.
 */
async function lookAndTell(): Promise<void> {
  if (!client) return;
  const now = performance.now();
  const isLookDue = data.watch !== undefined && now >= lookAt;
  const isBeatDue = beat !== undefined && now >= beatAt;
  if (!isLookDue && !isBeatDue) return;
  const mayGoAlong = mayJoin && data.watch !== undefined && beat !== undefined;
  const looks = isLookDue || (mayGoAlong && now >= lookAt - lookEveryMs / 2);
  const tells = (isBeatDue && (mayJoin || !looks)) || (mayGoAlong && now >= beatAt - beatEveryMs / 2);
  try {
    await ask(looks, tells);
  } catch (error) {
    // A role that was granted its rights by an older release may not: then this worker polls by itself, or nobody knows
    // of this process. Which of the two it is shows when each is asked alone.
    if (!(error instanceof pg.DatabaseError)) throw error;
    if (looks && tells) [mayJoin, lookAt, beatAt] = [false, 0, 0];
  }
}

async function ask(looks: boolean, tells: boolean): Promise<void> {
  const schema = client!.escapeIdentifier(data.schema);
  const declared = JSON.stringify(beat?.facts);
  const facts = JSON.stringify(beat && factsOf(beat));
  const given: unknown[] = [];
  if (looks) {
    const { process: name, id, everySeconds, mayKeep } = data.watch!;
    given.push(name, id, everySeconds, mayKeep);
    lookAt = performance.now() + askAgainMs;
  }
  if (tells) {
    const { id, state } = beat!;
    const stalledSeconds = Math.max(0, stalledMs() / 1000 - 1);
    given.push(id, facts === knownFacts ? null : facts, state.running, state.memoryBytes, stalledSeconds);
    beatAt = performance.now() + refusedMs;
    isClear = false;
  }
  const { rows } = await client!.query<Answer>(
    !looks
      ? // not prepared: behind a pooler the next beat may meet another connection
        { text: `select ${schema}.worker_beat($1, $2, $3, $4, $5) as beat`, values: given }
      : !tells
        ? { name: "look", text: `select ${schema}.watch_keep($1, $2, $3, $4) as look`, values: given }
        : {
            name: "look and beat",
            text: `select ${schema}.watch_keep($1, $2, $3, $4) as look, ${schema}.worker_beat($5, $6, $7, $8, $9) as beat`,
            values: given,
          },
  );
  answeredAt = performance.now();
  const { look, beat: told } = rows[0]!;
  if (look) {
    lookEveryMs = Math.min(look.inSeconds * 1000, hasLooked ? Infinity : secondLookMs);
    hasLooked = true;
    keeps = look.keeps;
    lookAt = answeredAt + lookEveryMs;
    tell({ kind: "look", look: { ...look, inSeconds: lookEveryMs / 1000 } });
  }
  if (told) {
    isClear = true;
    knownFacts = told.known ? facts : undefined;
    knownDeclared = told.known ? declared : undefined;
    const orders = JSON.stringify(told.orders ?? []);
    if (told.known && orders !== knownOrders) {
      knownOrders = orders;
      tell({ kind: "orders", orders: told.orders ?? [] });
    }
    beatEveryMs = told.inSeconds * 1000;
    beatAt = told.known ? answeredAt + beatEveryMs : 0;
  }
}

/** What the two tell, of those that were asked. */
interface Answer {
  readonly look?: Look;
  readonly beat?: BeatAnswer;
}

async function extend(): Promise<void> {
  if (performance.now() < extendAt) return;
  extendAt = performance.now() + everyMs;
  if (stalledMs() >= data.stallMs) return;
  for (const [leaseMs, group] of tokens) {
    if (!client || group.size === 0) continue;
    const asked = [...group];
    const text = `select token, to_json(job_ids::text[]) as job_ids from ${client.escapeIdentifier(data.schema)}.claim_extend($1::uuid[], $2::float8)`;
    const askedAt = process.hrtime.bigint();
    const { rows } = await client.query<{ token: string; job_ids: JobId[] }>(text, [asked, leaseMs / 1000]);
    answeredAt = performance.now();
    tell({
      kind: "extended",
      asked,
      leaseMs,
      askedAt,
      held: rows.map((row) => [row.token, row.job_ids] as const),
    });
  }
}

async function ping(): Promise<void> {
  if (performance.now() - answeredAt < silenceMs || lookAt < Infinity) return;
  await client?.query("select");
  answeredAt = performance.now();
}

/** Not waited for: a connection that is dead may never say so. */
function drop(old: pg.Client | undefined): void {
  old?.end().catch(() => {});
}

const stalledMs = (): number => Number(process.hrtime.bigint() - Atomics.load(turns, 0)) / 1e6;

const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    wakeUp = () => (clearTimeout(timer), resolve());
  });

async function main(): Promise<void> {
  while (!stopping) {
    try {
      isAsking = true;
      if (!client) await connect();
      await extend();
      await lookAndTell();
      await ping();
      isAsking = false;
      askToHear();
      failures = 0;
    } catch (error) {
      failures += 1;
      drop(client);
      forget();
      if (failures === 1)
        tell({ kind: "error", message: `heartbeat: ${error instanceof Error ? error.message : String(error)}` });
    }
    const probeAt = data.watch && !isHearing ? probedAt + askAgainMs : Infinity;
    const untilDueMs = Math.max(0, Math.min(extendAt, lookAt, probeAt, beat ? beatAt : Infinity) - performance.now());
    await pause(failures === 0 ? Math.min(untilDueMs, everyMs) : Math.min(everyMs, 100 * 2 ** Math.min(failures, 6)));
  }
}

void main();
