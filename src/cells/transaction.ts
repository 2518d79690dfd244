import type { Queryable } from "../db/queryable.js";
import type { Transaction } from "../db/foreign.js";
import type { Cell } from "./cell.js";
import { Lingering } from "./move-follow.js";

interface Open {
  readonly tx: Queryable;
  /** Commits, or takes all back, and resolves when that is done. */
  readonly end: (error: unknown) => Promise<void>;
}

/**
 * A transaction of ours that begins in a cell with the first call that goes there. Nearly always there is one; several
 * commit one after another, the last that was begun first, so that a failure between two of them leaves some.
 */
export class CellsTransaction {
  readonly #open = new Map<Cell, Promise<Open>>();
  readonly #broken = new Set<Cell>();

  /** `first`: what comes first in each cell. `lingering`: what was learnt when it was tried before. */
  constructor(
    private readonly first: (tx: Queryable) => Promise<unknown>,
    readonly lingering: Lingering = new Lingering(),
  ) {}

  /** It has the shape of a transaction, so that it passes as one; nothing is sent through it. */
  query(): never {
    throw new Error("a transaction over cells is resolved before anything is sent");
  }

  /** The first cell that it has begun in, and where nothing was refused. */
  get sound(): Cell | undefined {
    return [...this.#open.keys()].find((cell) => !this.#broken.has(cell));
  }

  /** A call was refused there: that cell does nothing more in this transaction, and takes back what it did. */
  break(cell: Cell): void {
    this.#broken.add(cell);
  }

  async on(cell: Cell): Promise<Transaction> {
    let open = this.#open.get(cell);
    if (!open) this.#open.set(cell, (open = begin(cell, this.first)));
    return (await open).tx;
  }

  async end(error?: unknown): Promise<void> {
    for (const open of [...this.#open.values()].toReversed()) await (await open).end(error);
  }
}

/** A transaction that stays open until it is told how to end. */
function begin(cell: Cell, first: (tx: Queryable) => Promise<unknown>): Promise<Open> {
  return new Promise((resolve, reject) => {
    let finish: (error: unknown) => void = () => {};
    const ended = cell.engine.transactionAfter(first, async (tx) => {
      const told = new Promise<void>((done, fail) => {
        finish = (error) => (error === undefined ? done() : fail(error));
      });
      resolve({
        tx,
        end: async (error) => {
          finish(error);
          await ended.catch((failed: unknown) => {
            if (failed !== error) throw failed;
          });
        },
      });
      await told;
    });
    ended.catch(reject);
  });
}
