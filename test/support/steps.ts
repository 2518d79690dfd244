import type { Queryable } from "../../src/db/queryable.js";
import type { ClaimOptions, ClaimedJob, Defaults, JobId, JobRecord } from "../../src/db/types.js";
import type { TestDatabase } from "./database.js";

/** What refusals look like: class and stable code. For `expect(…).rejects.toMatchObject`. */
export const invalidArgument = { name: "InvalidArgumentError", code: "MR001" };
export const jobNotFound = { name: "JobNotFoundError", code: "MR002" };
export const queueNotFound = { name: "QueueNotFoundError", code: "MR003" };
export const payloadRefused = { name: "PayloadError", code: "MR004" };
export const leaseLost = { name: "LeaseLostError", code: "MR005" };
export const schemaRestored = { name: "SchemaRestoredError", code: "MR006" };
export const schemaVersion = { name: "SchemaVersionError", code: "MR008" };
export const databaseUnavailable = { name: "DatabaseUnavailableError", code: "MR009" };

let queues = 0;

/** A queue of its own, so that tests of one file do not see each other's jobs. */
export async function newQueue(db: TestDatabase, defaults: Defaults = {}): Promise<string> {
  const name = `queue-${(queues += 1)}`;
  await db.engine.queuePut(name, defaults);
  return name;
}

/** Claim exactly one job of a queue. */
export async function claimOne(db: TestDatabase, queue: string, options: ClaimOptions = {}): Promise<ClaimedJob> {
  const [job, ...others] = await db.engine.claim({ queues: [queue], ...options });
  if (!job || others.length > 0) throw new Error(`claimed ${job ? others.length + 1 : 0} jobs of ${queue}, not 1`);
  return job;
}

/** Claim one at a time until nothing is left; what a single consumer sees, in order. */
export async function claimAll(db: TestDatabase, queue: string, options: ClaimOptions = {}): Promise<ClaimedJob[]> {
  const jobs: ClaimedJob[] = [];
  for (;;) {
    const [job] = await db.engine.claim({ queues: [queue], ...options });
    if (!job) return jobs;
    jobs.push(job);
  }
}

/** The job as listings show it; it must exist. */
export async function jobOf(db: TestDatabase, id: JobId): Promise<JobRecord> {
  const details = await db.engine.get(id);
  if (!details) throw new Error(`there is no job ${id}`);
  return details.job;
}

/** The database's clock. */
export async function clockOf(db: TestDatabase): Promise<Date> {
  const [row] = await db.sql("select clock_now() as now");
  return row!["now"] as Date;
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

/** The given percentile of some measurements. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** Use up transaction numbers until tickets are written into the next child of their ring (262,144 numbers each). */
export async function nextTicketChild(db: TestDatabase): Promise<void> {
  await db.sql("do $$ begin for i in 1 .. 262144 - (pg_current_xact_id()::text::bigint & 262143) loop perform pg_current_xact_id(); commit; end loop; end $$");
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
