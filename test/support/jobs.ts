import type { CallOptions } from "../../src/db/foreign.js";
import type { ClaimOptions, ClaimedJob, Defaults, JobId, JobRecord, NewJob } from "../../src/db/types.js";
import type { TestDatabase } from "./database.js";

let queues = 0;

/** A queue nobody else uses, so that the tests of a file do not see each other's jobs. */
export async function newQueue(db: TestDatabase, defaults: Defaults = {}): Promise<string> {
  const name = `queue-${(queues += 1)}`;
  await db.engine.queuePut(name, defaults);
  return name;
}

/** Enqueue one job and return its id. */
export async function enqueue(
  db: TestDatabase,
  queue: string,
  job: Partial<NewJob> = {},
  call?: CallOptions,
): Promise<JobId> {
  return (await db.engine.enqueue({ type: "work", queue, ...job }, call)).id;
}

/** Claim one job of a queue, and insist on getting it. */
export async function claimOne(
  db: TestDatabase,
  queue: string,
  options: ClaimOptions = {},
  call?: CallOptions,
): Promise<ClaimedJob> {
  const [job] = await db.engine.claim({ queues: [queue], ...options }, call);
  if (!job) throw new Error(`nothing to claim in ${queue}`);
  return job;
}

/** Claim whatever a queue has, and return the ids. */
export async function claimIds(
  db: TestDatabase,
  queue: string,
  options: ClaimOptions = {},
  call?: CallOptions,
): Promise<JobId[]> {
  return idsOf(await db.engine.claim({ queues: [queue], limit: 1000, ...options }, call));
}

/** A job that must exist. */
export async function jobOf(db: TestDatabase, id: JobId): Promise<JobRecord> {
  const details = await db.engine.get(id);
  if (!details) throw new Error(`there is no job ${id}`);
  return details.job;
}

export async function stateOf(db: TestDatabase, id: JobId): Promise<string> {
  return (await jobOf(db, id)).state;
}

export function idsOf(jobs: readonly { readonly id: JobId }[]): JobId[] {
  return jobs.map((job) => job.id);
}
