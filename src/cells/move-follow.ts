import type { Engine } from "../db/engine.js";
import { FingerprintElsewhereError, QueueMovedError } from "../db/errors.js";

/** What an enqueue is told by its queue and its fingerprint. */
interface Printed {
  readonly queue?: string | undefined;
  readonly fingerprint?: string | undefined;
}

/** A queue moves rarely; one that has moved this often within a call moves in a circle. */
export const mostMoves = 3;
/** So often a call is done again that was refused because its queue moves. */
export const mostTries = 2 * mostMoves;

/** Fingerprints of queues that move, of which jobs live in the cell that the queue comes from. */
export class Lingering {
  readonly #cells = new Map<string, string>();

  /** The cell in which it is decided on a job with this fingerprint; nothing where the queue is. */
  cellOf(job: Printed | undefined): string | undefined {
    return job?.fingerprint === undefined ? undefined : this.#cells.get(keyOf(job.queue ?? "default", job.fingerprint));
  }

  /** Returns whether any of them is new. */
  add(queue: string, fingerprints: readonly string[], cell: string): boolean {
    const before = this.#cells.size;
    for (const fingerprint of fingerprints) this.#cells.set(keyOf(queue, fingerprint), cell);
    return this.#cells.size > before;
  }

  /** A job has ended meanwhile. */
  clear(): void {
    this.#cells.clear();
  }
}

const keyOf = (queue: string, fingerprint: string): string => `${queue}\n${fingerprint}`;

/** A cell by its name. */
export type CellOf = (name: string) => Engine | undefined;

/**
 * A call was refused because its queue moves, or has moved. Do what has to be done before it is worth another try, and
 * say whether it is: fingerprints that no job of the old cell has are handed over, those that live there are added to
 * `lingering`. Without that it is no use to try again with one of those.
 */
export async function makeWay(
  error: unknown,
  cellOf: CellOf,
  homeOf: (queue: string) => Promise<Engine>,
  lingering?: Lingering,
): Promise<boolean> {
  if (error instanceof QueueMovedError) {
    lingering?.clear();
    const next = cellOf(error.cell);
    if (next === undefined) return false;
    const home = await next.queueHome(error.queue);
    if (home !== null && home !== error.cell) await admitLeft(error.queue, home, error.cell, cellOf);
    return true;
  }
  if (!(error instanceof FingerprintElsewhereError)) return false;
  const { queue, cell, fingerprints } = error;
  const old = cellOf(cell);
  if (old === undefined) return false;
  const living = new Set(await old.moves.handOver(queue, fingerprints));
  const free = fingerprints.filter((one) => !living.has(one));
  if (free.length > 0) await (await homeOf(queue)).moves.takeOver(queue, free);
  if (living.size === 0) return true;
  return lingering?.add(queue, [...living], cell) ?? false;
}

/**
 * A move that was broken off at the wrong moment: the queue has left one cell, and the other does not know it yet.
 * Whoever finds the queue in neither tells it. Returns whether it was so.
 */
export async function admitLeft(queue: string, from: string, to: string, cellOf: CellOf): Promise<boolean> {
  const [old, next] = [cellOf(from), cellOf(to)];
  if (!old || !next) return false;
  const left = (await old.moves.list()).find(
    (move) => move.queue === queue && move.direction === "leaving" && move.cell === to,
  );
  if (left) await next.moves.admit(queue, left.version);
  return left !== undefined;
}
