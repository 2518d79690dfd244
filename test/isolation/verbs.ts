import type pg from "pg";
import type { Engine } from "../../src/db/engine.js";
import { LeaseLostError } from "../../src/db/errors.js";
import type { ClaimedJob, JobId, JobState } from "../../src/db/types.js";

/**
 * What every verb of a pair finds, all in one lane: each role is a job that at least one verb is about, and every verb meets every
 * other on a job, a claim or the lane. The lease has ended and nobody has reaped it; the due job has not been promoted yet.
 */
export interface Scene {
  readonly queue: string;
  readonly type: string;
  /** Claimed together under one token, lease ended. `held` has a fingerprint. */
  readonly held: ClaimedJob;
  readonly neighbour: ClaimedJob;
  /** Ready, with a fingerprint. */
  readonly waiting: JobId;
  /** Ready, and its time to start has passed. */
  readonly expiring: JobId;
  /** In the agenda, and its time has come. */
  readonly due: JobId;
  /** In the agenda for long. */
  readonly delayed: JobId;
  /** Failed for good. */
  readonly failed: JobId;
}

export interface Session {
  readonly engine: Engine;
  readonly tx: pg.Client;
}

export interface Verb {
  readonly name: string;
  /** A lost lease is a value, "lost"; anything thrown is a failure of the pair. */
  run(session: Session, scene: Scene): Promise<unknown>;
  /** The outcome this result promises its caller, once committed. */
  decides?(result: unknown, scene: Scene): { readonly id: JobId; readonly state: JobState } | undefined;
  /** It gives finished jobs another life, so that what others decided need not last. */
  readonly revives?: boolean;
  /** It locks whole tables for moments, so that even an enqueue may wait for it. */
  readonly locksTables?: boolean;
}

const report = async (call: Promise<unknown>): Promise<unknown> => {
  try {
    await call;
    return "accepted";
  } catch (error) {
    if (error instanceof LeaseLostError) return "lost";
    throw error;
  }
};
const query = async ({ tx }: Session, text: string, values: unknown[] = []): Promise<unknown> => (await tx.query(text, values)).rows[0];
/** control_compact takes the first table that is worth it; these are about a certain one. Two statements, one transaction. */
const rewrite = ({ tx }: Session, table: string): Promise<unknown> =>
  tx.query(`lock table ${table} in access exclusive mode; select table_rewrite('${table}')`);
const heldBecomes =
  (state: JobState) =>
  (result: unknown, { held }: Scene) =>
    result === "accepted" ? { id: held.id, state } : undefined;
const cancelled = (id: JobId, result: unknown) => (result === 1 ? { id, state: "cancelled" as const } : undefined);

export const verbs: readonly Verb[] = [
  { name: "enqueue", run: ({ engine, tx }, { queue, type }) => engine.enqueue({ queue, type }, { tx }) },
  {
    name: "enqueue: replace the waiting job",
    run: ({ engine, tx }, { queue, type }) =>
      engine.enqueue({ queue, type, input: { replaced: true }, fingerprint: "waiting", fingerprintMode: "replace" }, { tx }),
  },
  {
    name: "enqueue: debounce the waiting job",
    run: ({ engine, tx }, { queue, type }) => engine.enqueue({ queue, type, delaySeconds: 20, fingerprint: "waiting", fingerprintMode: "debounce" }, { tx }),
  },
  {
    name: "enqueue: debounce the delayed job",
    run: ({ engine, tx }, { queue, type }) => engine.enqueue({ queue, type, delaySeconds: 20, fingerprint: "delayed", fingerprintMode: "debounce" }, { tx }),
  },
  {
    name: "enqueue: follow up the held job",
    run: ({ engine, tx }, { queue, type }) => engine.enqueue({ queue, type, fingerprint: "held", fingerprintMode: "followUp" }, { tx }),
  },
  { name: "claim one", run: ({ engine, tx }, { queue }) => engine.claim({ queues: [queue], limit: 1 }, { tx }) },
  { name: "claim all", run: ({ engine, tx }, { queue }) => engine.claim({ queues: [queue], limit: 100, trackStart: true }, { tx }) },
  { name: "extend", run: async ({ engine, tx }, { held }) => [...(await engine.extend([held.token], 30, { tx })).values()].flatMap(({ jobIds }) => jobIds) },
  {
    name: "complete",
    run: async ({ engine, tx }, { held, neighbour }) =>
      (await engine.completeMany(held.token, [held.id, neighbour.id], undefined, { tx })).includes(held.id) ? "lost" : "accepted",
    decides: heldBecomes("succeeded"),
  },
  { name: "fail", run: ({ engine, tx }, { held }) => report(engine.fail(held, { message: "bad input" }, { tx })), decides: heldBecomes("failed") },
  { name: "retry now", run: ({ engine, tx }, { held }) => report(engine.retry(held, { message: "again" }, 0, { tx })) },
  { name: "retry later", run: ({ engine, tx }, { held }) => report(engine.retry(held, { message: "again" }, 20, { tx })) },
  { name: "release", run: ({ engine, tx }, { held }) => report(engine.release(held, 0, { tx })) },
  { name: "set visibility", run: ({ engine, tx }, { held }) => report(engine.setVisibility(held, 20, { tx })) },
  {
    name: "cancel the held job",
    run: ({ engine, tx }, { held }) => engine.cancel([held.id], "no longer needed", { tx }),
    decides: (result, { held }) => cancelled(held.id, result),
  },
  {
    name: "cancel the waiting job",
    run: ({ engine, tx }, { waiting }) => engine.cancel([waiting], undefined, { tx }),
    decides: (result, { waiting }) => cancelled(waiting, result),
  },
  {
    name: "cancel the due job",
    run: ({ engine, tx }, { due }) => engine.cancel([due], undefined, { tx }),
    decides: (result, { due }) => cancelled(due, result),
  },
  { name: "add retries", run: ({ engine, tx }, { type, queue }) => engine.addRetries(2, { type, queue }, { tx }), revives: true },
  { name: "add retries to the failed job", run: ({ engine, tx }, { failed }) => engine.addRetries(1, { ids: [failed] }, { tx }), revives: true },
  { name: "retry failures at a rate", run: ({ engine, tx }, { queue }) => engine.retryFailures({ queue, perSecond: 0.1 }, { tx }), revives: true },
  { name: "replay", run: ({ engine, tx }, { queue }) => engine.replay({ from: new Date(0), queue }, { tx }) },
  { name: "reset the breaker", run: ({ engine, tx }, { queue }) => engine.resetBreakers({ queue }, { tx }) },
  { name: "discard", run: ({ engine, tx }, { failed, expiring }) => engine.discard([failed, expiring], {}, { tx }) },
  { name: "purge", run: ({ engine, tx }, { queue }) => engine.purge(queue, { tx }) },
  { name: "shed", run: ({ engine, tx }, { queue }) => engine.queueShed(queue, new Date("2199-01-01"), {}, { tx }) },
  { name: "set aside", run: ({ engine, tx }, { queue }) => engine.queueSetAside(queue, {}, { tx }) },
  { name: "maintain", run: ({ engine, tx }) => engine.maintain({ tx }) },
  { name: "promote", run: (session) => query(session, "select agenda_promote(1000)") },
  { name: "sweep", run: (session) => query(session, "select expiry_sweep_run(10000)") },
  { name: "rotate tickets", run: (session) => query(session, "select ticket_rotate() as emptied"), locksTables: true },
  { name: "compact", run: (session) => query(session, "select control_compact(0) as rewritten"), locksTables: true },
  { name: "compact the claims", run: (session) => rewrite(session, "claim"), locksTables: true },
  { name: "compact the cursors", run: (session) => rewrite(session, "lane_cursor"), locksTables: true },
];
