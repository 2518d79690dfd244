import { MoveRefusedError } from "../db/errors.js";
import { type CallOptions, asQueryable } from "../db/foreign.js";
import type { LeftFilter, LeftJob } from "../db/move-engine.js";
import type { Queryable } from "../db/queryable.js";
import type { DecisionNote, JobId } from "../db/types.js";
import { askOne } from "./ask.js";
import type { Cell } from "./cell.js";
import { handleOf } from "./handle.js";

/** How jobs are tried again. */
export interface Carrying extends DecisionNote {
  readonly attempts: number;
  readonly perSecond?: number | undefined;
  readonly startAt?: Date | string | undefined;
}

/** A statement in a cell; in the transaction of ours that the call has there, if it has one. */
export type InCell = <R>(cell: Cell, ask: (call: CallOptions | undefined) => Promise<R>) => Promise<R>;

/**
 * Try failed jobs again that a queue has left behind in a cell: each is enqueued anew where the queue is, so that its
 * order, limits and fingerprints hold, and is discarded where it was, with the handle of the new one. First the one and
 * then the other, so that none is lost; and the first only once for a job and its attempt, so that a retry that was
 * broken off may be repeated within a day. Returns how many.
 */
export async function carryLeft(
  old: Cell,
  cellOf: (name: string, queue: string) => Cell,
  inCell: InCell,
  filter: LeftFilter,
  how: Carrying,
): Promise<number> {
  let carried = 0;
  let after: JobId = "0";
  const step = how.perSecond === undefined ? 0 : 1000 / how.perSecond;
  const startAt = how.startAt === undefined ? undefined : new Date(how.startAt).getTime();
  for (;;) {
    const left = await askOne(old, () => old.engine.moves.left(filter, after));
    if (left.length === 0) return carried;
    for (const job of left) if (job.hasSteps && filter.ids) throw hasSteps(old, job);
    for (const job of left) {
      if (job.hasSteps) continue;
      const dueAt = step > 0 || startAt !== undefined ? (startAt ?? Date.now()) + step * carried : undefined;
      const next = cellOf(job.cell, job.queue);
      const id = await inCell(next, (call) => enqueueIn(next, old, job, { attempts: how.attempts, dueAt }, call));
      if (id === null) continue;
      const because = [how.because, `retried as ${handleOf(next.name, id)}`].filter((one) => one !== undefined);
      const note = { because: because.join("; "), ...(how.by === undefined ? {} : { by: how.by }) };
      await inCell(old, (call) => old.engine.discard([job.id], note, call));
      carried += 1;
    }
    after = left.at(-1)!.id;
  }
}

/** How many that would be. */
export async function countLeft(old: Cell, filter: LeftFilter): Promise<number> {
  let count = 0;
  for (let after: JobId = "0"; ;) {
    const left = await askOne(old, () => old.engine.moves.left(filter, after));
    if (left.length === 0) return count;
    count += left.filter(({ hasSteps: has }) => !has).length;
    after = left.at(-1)!.id;
  }
}

/** Once. Returns the new job; null when another live job has its fingerprint. */
async function enqueueIn(
  next: Cell,
  old: Cell,
  job: LeftJob,
  { attempts, dueAt }: { readonly attempts: number; readonly dueAt: number | undefined },
  call: CallOptions | undefined,
): Promise<JobId | null> {
  const { fingerprint } = JSON.parse(job.options) as { readonly fingerprint?: string };
  if (fingerprint !== undefined && (await next.engine.jobOf(job.queue, fingerprint, call)) !== null) return null;
  const payload = job.hasPayload ? await wholeOf(old.engine.payloadStream(job.id)) : undefined;
  const handle = handleOf(old.name, job.id);
  const more = { maxAttempts: attempts, ...(dueAt === undefined ? {} : { runAt: new Date(dueAt).toISOString() }) };
  const source = { id: handle, queue: job.queue, carried: true };
  const once = async (tx: Queryable): Promise<JobId | null> => {
    const enqueue = async (): Promise<JobId | null> => {
      const { id, duplicate } = await next.engine.moves.carry(job, { more, source, payload }, { tx });
      return duplicate ? null : id;
    };
    return (await next.engine.server.once(`carry:${handle}:${job.attempt}`, "retry", enqueue, { tx }))?.answer ?? null;
  };
  return call?.tx === undefined ? next.engine.transaction(once) : once(asQueryable(call.tx));
}

async function wholeOf(bytes: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const piece of bytes) pieces.push(piece);
  return Buffer.concat(pieces);
}

function hasSteps(old: Cell, { id, queue, cell }: LeftJob): MoveRefusedError {
  return new MoveRefusedError(
    `job ${handleOf(old.name, id)} has done steps in "${old.name}", and its queue "${queue}" is in "${cell}" now`,
    "steps cannot come along: enqueue what is left to do as a new job, and discard this one",
    { detail: JSON.stringify({ reason: "steps" }) },
  );
}
