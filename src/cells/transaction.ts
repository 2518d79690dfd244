import type { Queryable } from "../db/queryable.js";
import type { Transaction } from "../db/foreign.js";
import { askOne, patienceMs, within } from "./ask.js";
import type { Cell } from "./cell.js";
import { Lingering } from "./move-follow.js";

/** So long may the first and the last word in a cell take: other cells hold what they have for it. */
const answerMs = 30_000;

/**
 * A transaction of ours that begins in a cell with the first call that goes there. Nearly always there is one; several
 * commit one after another, the last that was begun first, so that a failure between two of them leaves some.
 */
export class CellsTransaction {
  readonly #parts = new Map<Cell, Part>();
  readonly #broken = new Set<Cell>();
  #hasEnded = false;

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
    return [...this.#parts.keys()].find((cell) => !this.#broken.has(cell));
  }

  /** Whether it has begun in a cell, so that it may have done something there. */
  hasBegunIn(cell: Cell): boolean {
    return this.#parts.get(cell)?.hasBegun === true;
  }

  /** A call was refused there: that cell does nothing more in this transaction, and takes back what it did. */
  break(cell: Cell): void {
    this.#broken.add(cell);
  }

  /** Fails when the transaction has ended, also while it was to begin there: nobody would end it. */
  async on(cell: Cell): Promise<Transaction> {
    if (this.#hasEnded) throw hasEnded();
    let part = this.#parts.get(cell);
    if (!part) this.#parts.set(cell, (part = new Part(cell, this.first)));
    const { tx } = part;
    await within(answerMs, cell, part.begun);
    if (this.#hasEnded) throw hasEnded();
    return tx;
  }

  /**
   * Ends in every cell, in those too that are still to answer. With an error it takes all back, and waits for none that
   * does not answer; else it throws what failed first, and takes back what has not been committed by then.
   */
  async end(error?: unknown): Promise<void> {
    this.#hasEnded = true;
    const parts = [...this.#parts.values()].toReversed();
    let failure: { readonly error: unknown } | undefined = error === undefined ? undefined : { error };
    if (!failure)
      for (const part of parts.filter(({ cell, hasBegun }) => hasBegun && !this.#broken.has(cell))) {
        try {
          await askOne(part.cell, () => within(answerMs, part.cell, part.end()));
        } catch (failed) {
          failure = { error: failed };
          break;
        }
      }
    const reason = failure?.error ?? hasEnded();
    await Promise.all(parts.map((part) => within(patienceMs, part.cell, part.end(reason)).catch(() => {})));
    if (error === undefined && failure) throw failure.error;
  }
}

const hasEnded = (): Error => new Error("the transaction has ended");

/** A transaction in one cell that stays open until it is told how to end, which may be before it has begun. */
class Part {
  readonly begun: Promise<void>;
  readonly #ended: Promise<void>;
  #db: Queryable | undefined;
  #isTold = false;
  #tell: (error: unknown) => void = () => {};

  constructor(
    readonly cell: Cell,
    first: (tx: Queryable) => Promise<unknown>,
  ) {
    let begun = (): void => {};
    let failed = (_: unknown): void => {};
    this.begun = new Promise((resolve, reject) => ([begun, failed] = [resolve, reject]));
    const told = new Promise<void>((done, fail) => {
      this.#tell = (error) => (error === undefined ? done() : fail(error));
    });
    told.catch(() => {}); // it may never have begun
    this.#ended = cell.engine.transactionAfter(first, (db) => {
      this.#db = db;
      begun();
      return told;
    });
    this.#ended.catch(failed);
  }

  get hasBegun(): boolean {
    return this.#db !== undefined;
  }

  /** The connection, as long as it is this transaction's: what came after its end would commit by itself. */
  readonly tx: Queryable = {
    query: (query) => (this.#isTold || !this.#db ? Promise.reject(hasEnded()) : this.#db.query(query)),
  };

  /** Commits, or takes all back, and resolves when that is done. Only the first word counts. */
  end(error?: unknown): Promise<void> {
    this.#isTold = true;
    this.#tell(error);
    return this.#ended;
  }
}
