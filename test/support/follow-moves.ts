import { Lingering, type CellOf, makeWay, mostMoves, mostTries } from "../../src/cells/move-follow.js";
import type { Engine } from "../../src/db/engine.js";
import { QueueMovedError } from "../../src/db/errors.js";
import type { Enqueued, NewJob } from "../../src/db/types.js";

/** The cell in which something was done, and what came of it. */
export interface Followed<T> {
  readonly cell: string;
  readonly value: T;
}

/**
 * Do something with a queue in the cell where it is thought to live, and once more in the one that says that it has
 * moved to. Not for a caller's transaction: that is in one cell.
 */
export async function followMoves<T>(
  start: string,
  cellOf: CellOf,
  call: (engine: Engine, cell: string) => Promise<T>,
): Promise<Followed<T>> {
  return following(start, cellOf, undefined, async (cell) => ({ cell, value: await call(cellOf(cell)!, cell) }));
}

/** Enqueue one job as `followMoves` does; one whose fingerprint lives in the old cell is decided on there. */
export async function enqueueFollowing(start: string, cellOf: CellOf, job: NewJob): Promise<Followed<Enqueued>> {
  const lingering = new Lingering();
  return following(start, cellOf, lingering, async (cell) => {
    const old = lingering.cellOf(job);
    return old === undefined
      ? { cell, value: await cellOf(cell)!.enqueue(job) }
      : { cell: old, value: await cellOf(old)!.moves.enqueueLeft(job) };
  });
}

async function following<T>(
  start: string,
  cellOf: CellOf,
  lingering: Lingering | undefined,
  call: (cell: string) => Promise<T>,
): Promise<T> {
  let cell = start;
  let moves = 0;
  for (let tries = 1; ; tries += 1) {
    try {
      return await call(cell);
    } catch (error) {
      const isWorthIt = await makeWay(error, cellOf, async () => cellOf(cell)!, lingering);
      if (!isWorthIt || tries > mostTries) throw error;
      if (error instanceof QueueMovedError) {
        if ((moves += 1) > mostMoves) throw error;
        cell = error.cell;
      }
    }
  }
}
