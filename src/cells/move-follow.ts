import type { Engine } from "../db/engine.js";
import { FingerprintElsewhereError, QueueMovedError } from "../db/errors.js";
import type { Enqueued, NewJob } from "../db/types.js";

/** The cell in which something was done, and what came of it. */
export interface Followed<T> {
  readonly cell: string;
  readonly value: T;
}

/** A queue moves rarely; one that has moved this often within a call moves in a circle. */
const maxMoves = 3;

/**
 * Do something with a queue in the cell where it is thought to live, and once more in the one that says that it has
 * moved to. Not for a caller's transaction: that is in one cell.
 */
export async function followMoves<T>(
  start: string,
  cellOf: (name: string) => Engine | undefined,
  call: (engine: Engine, cell: string) => Promise<T>,
): Promise<Followed<T>> {
  return following(start, cellOf, call, async (error, engine) => {
    const old = cellOf(error.cell);
    if (old === undefined || (await old.moves.handOver(error.queue, error.fingerprints)).length > 0) throw error;
    await engine.moves.takeOver(error.queue, error.fingerprints);
    return undefined;
  });
}

/** Enqueue one job as `followMoves` does; one whose fingerprint lives in the old cell is decided on there. */
export async function enqueueFollowing(
  start: string,
  cellOf: (name: string) => Engine | undefined,
  job: NewJob,
): Promise<Followed<Enqueued>> {
  const enqueue = (engine: Engine): Promise<Enqueued> => engine.enqueue(job);
  return following(start, cellOf, enqueue, async (error, engine) => {
    const old = cellOf(error.cell);
    if (old === undefined) throw error;
    if ((await old.moves.handOver(error.queue, error.fingerprints)).length === 0) {
      await engine.moves.takeOver(error.queue, error.fingerprints);
      return undefined;
    }
    try {
      return { cell: error.cell, value: await old.moves.enqueueLeft(job) };
    } catch (error) {
      if (error instanceof QueueMovedError) return undefined; // its job has ended meanwhile
      throw error;
    }
  });
}

/** `ask` says what the old cell made of a fingerprint; nothing when it was given up, and the call is worth a try. */
async function following<T>(
  start: string,
  cellOf: (name: string) => Engine | undefined,
  call: (engine: Engine, cell: string) => Promise<T>,
  ask: (error: FingerprintElsewhereError, engine: Engine) => Promise<Followed<T> | undefined>,
): Promise<Followed<T>> {
  let cell = start;
  for (let tries = 0; ; tries += 1) {
    const engine = cellOf(cell)!;
    try {
      return { cell, value: await call(engine, cell) };
    } catch (error) {
      if (error instanceof QueueMovedError && tries < maxMoves && cellOf(error.cell) !== undefined) cell = error.cell;
      else if (error instanceof FingerprintElsewhereError && tries < 2 * maxMoves) {
        const told = await ask(error, engine);
        if (told !== undefined) return told;
      } else throw error;
    }
  }
}
