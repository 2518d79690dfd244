import type pg from "pg";
import type { Queryable } from "../../src/db/queryable.js";
import type { ClaimOptions, ClaimedJob } from "../../src/db/types.js";
import type { TestDatabase } from "./database.js";
import { pidOf } from "./sessions.js";
import { until } from "./wait.js";

/** What refusals look like: class and stable code. For `expect(…).rejects.toMatchObject`. */
export const invalidArgument = { name: "InvalidArgumentError", code: "MR001" };
export const jobNotFound = { name: "JobNotFoundError", code: "MR002" };
export const queueNotFound = { name: "QueueNotFoundError", code: "MR003" };
export const payloadRefused = { name: "PayloadError", code: "MR004" };
export const leaseLost = { name: "LeaseLostError", code: "MR005" };
export const schemaRestored = { name: "SchemaRestoredError", code: "MR006" };
export const wrongIsolation = { name: "WrongIsolationError", code: "MR007" };
export const schemaVersion = { name: "SchemaVersionError", code: "MR008" };
export const queueFull = { name: "QueueFullError", code: "MR015" };
export const databaseUnavailable = { name: "DatabaseUnavailableError", code: "MR009" };

/** Claim one at a time until nothing is left; what a single consumer sees, in order. */
export async function claimAll(db: TestDatabase, queue: string, options: ClaimOptions = {}): Promise<ClaimedJob[]> {
  const jobs: ClaimedJob[] = [];
  for (;;) {
    const [job] = await db.engine.claim({ queues: [queue], ...options });
    if (!job) return jobs;
    jobs.push(job);
  }
}

/** Claim until nothing is left, and insist on getting one job and no more: where one may run at a time. */
export async function claimOnly(db: TestDatabase, queue: string): Promise<ClaimedJob> {
  const jobs = await claimAll(db, queue);
  if (jobs.length !== 1) throw new Error(`${jobs.length} jobs could be claimed in ${queue}, not one`);
  return jobs[0]!;
}

/**
 * Close a queue, and wait until upkeep has finished it. Where transactions of other files do not hold that up: on a
 * server of its own.
 */
export async function finish(db: TestDatabase, queue: string): Promise<void> {
  await db.engine.queueClose(queue);
  await until(
    `${queue} is finished`,
    async () => {
      await db.engine.maintain();
      return (await db.engine.queues()).find(({ name }) => name === queue)?.state === "finished";
    },
    5_000,
  );
}

/** Where the counts of a queue, or of all, are not what its logs say: `2 ready, not 3`. Nothing when all is well. */
export async function miscounts(db: TestDatabase, queue?: string): Promise<string[]> {
  const rows = await db.sql<Record<string, string>>("select * from counts_audit($1)", [queue ?? null]);
  return rows.flatMap((row) =>
    ["ready", "delayed", "staged"]
      .filter((what) => row[what] !== row[`counted_${what}`])
      .map((what) => `${row[what]} ${what}, not ${row[`counted_${what}`]}`),
  );
}

/** How many pages a statement touches. */
export async function pagesOf(client: pg.Client, statement: string): Promise<number> {
  const { rows } = await client.query(`explain (analyze, buffers, format json) ${statement}`);
  const plan = rows[0]["QUERY PLAN"][0].Plan;
  return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"];
}

/** A connection that notes each statement sent through it. */
export function recorded(connection: Queryable): Queryable & { readonly statements: string[] } {
  const statements: string[] = [];
  return {
    statements,
    query(query) {
      statements.push(query.text);
      return connection.query(query);
    },
  };
}

/** Wait until this many sessions wait for one: the signal that calls have met at a lock. */
export async function waitersOf(db: TestDatabase, holder: pg.Client, sessions: number): Promise<void> {
  const pid = await pidOf(holder);
  while (
    (await db.sql("select from pg_stat_activity where $1 = any (pg_blocking_pids(pid))", [pid])).length < sessions
  );
}

/**
 * Let two calls meet on two rows in opposite order. `aFirst` and `bFirst` are the queries that lock the row each call
 * takes first; both are held until both calls wait, and let go one after the other, so that neither call can slip
 * through before the other.
 */
export async function crossed<A, B>(
  db: TestDatabase,
  [aFirst, bFirst]: readonly [string, string],
  a: () => Promise<A>,
  b: () => Promise<B>,
): Promise<[PromiseSettledResult<A>, PromiseSettledResult<B>]> {
  const [holdsA, holdsB] = [await db.connect(), await db.connect()];
  for (const [client, text] of [
    [holdsA, aFirst],
    [holdsB, bFirst],
  ] as const) {
    await client.query("begin");
    if ((await client.query(text)).rowCount === 0) throw new Error(`no row to hold: ${text}`);
  }
  const running = a();
  const waiting = async (): Promise<number> =>
    (await db.sql("select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"))
      .length;
  let ended = false;
  const first = Date.now() + 1000;
  while (Date.now() < first && (await waiting()) < 1);
  const ends = Promise.allSettled([running, b()]);
  void ends.then(() => (ended = true));
  // calls that lock in one order may never meet; then there is nothing to cross
  const patience = Date.now() + 3000;
  while (!ended && Date.now() < patience && (await waiting()) < 2);
  const pid = await pidOf(holdsB);
  await holdsB.query("commit");
  while (
    !ended &&
    Date.now() < patience &&
    ((await waiting()) < 2 ||
      (await db.sql("select from pg_stat_activity where $1 = any (pg_blocking_pids(pid))", [pid])).length > 0)
  );
  await holdsA.query("commit");
  return ends;
}

/** For how many seconds some session has now been waiting for a lock that rotation, compaction or the sweep holds. */
export async function maintenanceWait(db: TestDatabase): Promise<number> {
  const [row] = await db.sql(`
    select coalesce(max(extract(epoch from clock_timestamp() - l.waitstart)), 0)::float8 as seconds
      from pg_locks l cross join lateral unnest(pg_blocking_pids(l.pid)) by join pg_stat_activity a on a.pid = by
     where not l.granted and a.datname = current_database() and a.query ~ 'maintain|rotate|compact'`);
  return row!["seconds"] as number;
}

/** The given percentile of some measurements. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** Use up transaction numbers until tickets are written into the next child of their ring (262,144 numbers each). */
export async function nextTicketChild(db: TestDatabase): Promise<void> {
  const client = await db.connect();
  await client.query("set synchronous_commit = off"); // a quarter of a million commits
  await client.query(
    "do $$ begin for i in 1 .. 262144 - (pg_current_xact_id()::text::bigint & 262143) loop perform pg_current_xact_id(); commit; end loop; end $$",
  );
  await client.end();
}

/** Random numbers from 0 to below n that a printed seed repeats (mulberry32). */
export function randomFrom(seed: number): (n: number) => number {
  let state = seed;
  return (n) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % n;
  };
}
