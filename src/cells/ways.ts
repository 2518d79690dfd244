import {
  CellError,
  DatabaseUnavailableError,
  FingerprintElsewhereError,
  QueueMovedError,
  TimeoutError,
} from "../db/errors.js";
import { type CallOptions, type FollowedCall, asQueryable } from "../db/foreign.js";
import { type Queryable, runQuery } from "../db/queryable.js";
import type { JobId, JobRecord } from "../db/types.js";
import { actMs, askAll, askEach, askOne, atMost, isAway, isPartial, patienceMs, within } from "./ask.js";
import type { Cell } from "./cell.js";
import { handleOf } from "./handle.js";
import { Lingering, type CellOf, makeWay, mostMoves, mostTries } from "./move-follow.js";
import { promptly } from "./promptly.js";
import { type Router, isUnknownQueue } from "./router.js";
import type { Address } from "./tenants.js";
import { CellsTransaction } from "./transaction.js";

type Call<More> = (CallOptions & More) | undefined;

/** The number of a transaction tells its end in its own cell only: it is told as a handle. */
function followedIn<More extends object>(cell: Cell, call: Call<More>): Call<More> {
  const { follow }: FollowedCall = call ?? {};
  if (call === undefined || follow === undefined) return call;
  return { ...call, follow: (xid: string) => follow(handleOf(cell.name, xid)) };
}

/**
 * What tells servers and databases apart, for everybody to ask, whichever way they have come. Another one after a
 * restart. A copy of a server has the identifier of the first, but did not start in the same microsecond.
 */
const placeText = "select current_database() || ' ' || extract(epoch from pg_postmaster_start_time())::text as place";

/** One that hangs is not asked again for so long, where it is not the one that matters. */
const lateMs = 10_000;
/** Less than readers wait for a cell: the one that is to answer them has some of that left. */
const lookMs = 1000;

/** The ways that calls take to cells: that of a queue, of a job, of many jobs, to all. */
export class Ways {
  readonly #places = new Map<string, string>();
  readonly #placeOf = new WeakMap<object, string>();
  readonly #late = new Map<Cell, { readonly until: number; readonly error: unknown }>();

  constructor(readonly router: Router) {}

  /** What is asked of one cell, in the caller's transaction if it has one there. */
  async to<T, More extends object>(
    cell: Cell,
    call: Call<More>,
    ask: (cell: Cell, call: Call<More>) => Promise<T>,
  ): Promise<T> {
    const { tx } = call ?? {};
    if (tx === undefined) return askOne(cell, () => ask(cell, call));
    if (tx instanceof CellsTransaction) {
      const asked = askOne(cell, async () => ask(cell, followedIn(cell, { ...call!, tx: await tx.on(cell) })));
      return asked.catch((error: unknown) => {
        tx.break(cell);
        throw error;
      });
    }
    await this.#mustBeOf(cell, tx);
    return ask(cell, followedIn(cell, call));
  }

  /** A transaction of the caller's must be one of the cell's database: in another one, the job would be nowhere. */
  async #mustBeOf(cell: Cell, tx: NonNullable<CallOptions["tx"]>): Promise<void> {
    const given = await this.#placeIn(tx);
    if (given === this.#places.get(cell.name)) return;
    if (given === (await this.#placeAt(cell))) return;
    throw new CellError(
      `the transaction is not one of cell "${cell.name}"`,
      "begin it on the server of that cell: mill.cells.whereIs(queue) tells which that is",
      undefined,
      "foreign",
      cell.name,
    );
  }

  /** The cells that may know something when nothing else tells which: all, or the one of the caller's transaction. */
  async mayKnow(call: CallOptions | undefined): Promise<readonly Cell[]> {
    await this.router.ready();
    return isForeign(call) ? [await this.#cellWith(call!.tx!)] : this.router.list;
  }

  async #cellWith(tx: NonNullable<CallOptions["tx"]>): Promise<Cell> {
    const given = await this.#placeIn(tx);
    const { list } = this.router;
    const known = list.find(({ name }) => this.#places.get(name) === given);
    if (known) return known;
    let away: unknown;
    const ask = (cell: Cell): Promise<string | undefined> =>
      atMost(actMs, () => askOne(cell, () => this.#placeAt(cell))).catch((error: unknown) => {
        if (!isAway(error)) throw error;
        away ??= error; // another one may be it
        return undefined;
      });
    const places = await Promise.all(list.map(ask));
    const found = list[places.indexOf(given)];
    if (found) return found;
    throw (
      away ??
      new CellError("the transaction is not one of any cell", "begin it on the server of a cell", undefined, "foreign")
    );
  }

  async #placeIn(tx: NonNullable<CallOptions["tx"]>): Promise<string> {
    let given = this.#placeOf.get(tx);
    if (given === undefined) this.#placeOf.set(tx, (given = await placeOf(asQueryable(tx))));
    return given;
  }

  async #placeAt(cell: Cell): Promise<string> {
    const place = await placeOf(cell.pool);
    this.#places.set(cell.name, place);
    return place;
  }

  /** To the cell of a queue, or of a tenant of it; and on to where the queue has gone, if it has. */
  async queue<T, More extends object>(
    address: Address,
    call: Call<More>,
    ask: (cell: Cell, call: Call<More>) => Promise<T>,
  ): Promise<T> {
    const name = address.queue ?? "default";
    for (let moves = 0; ; moves += 1) {
      try {
        return await this.to(await this.router.cellOf(address), call, ask);
      } catch (error) {
        if (isUnknownQueue(error)) this.router.forget(name);
        if (!(error instanceof QueueMovedError)) throw error;
        this.router.moved(error.queue, error.cell);
        // a transaction that was refused something does nothing more
        if (call?.tx !== undefined || moves === mostMoves) throw error;
        await this.makeWay(error);
      }
    }
  }

  /**
   * Do something that may enqueue with fingerprints, and again where they had to be handed over by the cell that their
   * queue comes from. `lingering` tells of which jobs it is decided there. A transaction of ours begins anew
   * (`repeated`); in one of the caller's the next try succeeds.
   */
  async following<T>(
    call: CallOptions | undefined,
    work: (lingering: Lingering) => Promise<T>,
    canLinger = true,
  ): Promise<T> {
    if (call?.tx instanceof CellsTransaction) return work(call.tx.lingering);
    if (call?.tx === undefined) return this.repeated(work, canLinger);
    return work(new Lingering()).catch(async (error: unknown) => {
      if (error instanceof QueueMovedError) this.router.moved(error.queue, error.cell);
      if (error instanceof FingerprintElsewhereError) await this.makeWay(error).catch(() => {});
      throw error;
    });
  }

  /** Do something that writes nothing when it is refused, and again where that helps. */
  async repeated<T>(work: (lingering: Lingering) => Promise<T>, canLinger = true): Promise<T> {
    const lingering = new Lingering();
    for (let tries = 1; ; tries += 1) {
      try {
        return await work(lingering);
      } catch (error) {
        if (tries > mostTries || !(await this.makeWay(error, canLinger ? lingering : undefined))) throw error;
      }
    }
  }

  /** See `makeWay`. */
  async makeWay(error: unknown, lingering?: Lingering): Promise<boolean> {
    if (error instanceof QueueMovedError) this.router.moved(error.queue, error.cell);
    return makeWay(error, this.#cellOf, async (queue) => (await this.router.cellOf({ queue })).engine, lingering);
  }

  readonly #cellOf: CellOf = (name) => this.router.cells.get(name)?.engine;

  /** To the cell of a job, with its id there. */
  async job<T, More extends object>(
    handle: JobId,
    call: Call<More>,
    ask: (cell: Cell, id: JobId, call: Call<More>) => Promise<T>,
  ): Promise<T> {
    const { cell, id } = await this.router.jobAt(handle);
    return this.to(cell, call, (at, own) => ask(at, id, own));
  }

  /** To the cells of several jobs, each once. */
  async jobs<T, More extends object>(
    handles: readonly JobId[],
    call: Call<More>,
    ask: (cell: Cell, ids: JobId[], call: Call<More>) => Promise<T>,
  ): Promise<{ readonly cell: Cell; readonly answer: T }[]> {
    const parts = new Map<Cell, JobId[]>();
    for (const handle of handles) {
      const { cell, id } = await this.router.jobAt(handle);
      parts.set(cell, [...(parts.get(cell) ?? []), id]);
    }
    return askEach([...parts.keys()], (cell) => this.to(cell, call, (at, own) => ask(at, parts.get(cell)!, own)));
  }

  /** To all cells at once. */
  async all<T, More extends object>(
    call: Call<More>,
    ask: (cell: Cell, call: Call<More>) => Promise<T>,
  ): Promise<{ readonly cell: Cell; readonly answer: T }[]> {
    if (isForeign(call)) throw seesOneCell();
    await this.router.ready();
    return askAll(this.router.list, (cell) => this.to(cell, call, ask));
  }

  /** To all cells that have a queue: its own, and others in which something of it is left. */
  async everywhere<T, More extends object>(
    queue: string | undefined,
    call: Call<More>,
    ask: (cell: Cell, call: Call<More>) => Promise<T>,
  ): Promise<{ readonly cell: Cell; readonly answer: T }[]> {
    const name = queue ?? "default";
    const home = await this.router.homeOf(name).catch((error: unknown): undefined => {
      // where it would be cannot be asked: there is what others have of it
      if (!isPartial() || !(error instanceof DatabaseUnavailableError)) throw error;
    });
    if (isForeign(call)) {
      if (!home) throw seesOneCell();
      return [{ cell: home, answer: await this.queue({ queue }, call, ask) }];
    }
    const members = home ? undefined : new Set((await this.router.members()).names);
    const answers = await askAll(this.router.list, async (cell) => {
      if (cell === home)
        return this.queue({ queue }, call, async (at, own) => ({ cell: at, answer: await ask(at, own) }));
      const hasIt = members?.has(cell.name) || (await this.#has(cell, name, home));
      return hasIt ? { cell, answer: await this.to(cell, call, ask) } : undefined;
    });
    return answers.map(({ answer }) => answer).filter((one) => one !== undefined);
  }

  /** What is found in all cells, or in those that have a queue. */
  async lookFor<R>(
    queue: string | undefined,
    call: CallOptions | undefined,
    ask: (cell: Cell, call: CallOptions | undefined) => Promise<R>,
  ): Promise<{ readonly cell: Cell; readonly answer: R }[]> {
    return queue === undefined ? this.all(call, ask) : this.everywhere(queue, call, ask);
  }

  /** In all cells; one that does not know what it is about is fine, as long as another one does. */
  async whereKnown<R>(
    call: CallOptions | undefined,
    isUnknown: new (...of: never[]) => Error,
    tell: (cell: Cell, call: CallOptions | undefined) => Promise<R>,
  ): Promise<R[]> {
    const unknown: unknown[] = [];
    const told = await this.all(undefined, async (cell) => {
      try {
        return [await this.to(cell, call, tell)];
      } catch (error) {
        if (!(error instanceof isUnknown)) throw error;
        unknown.push(error);
        return [];
      }
    });
    if (unknown.length === told.length) throw unknown[0];
    return told.flatMap(({ answer }) => answer);
  }

  /** Whoever serves a cell that is away does it when it is back. The others wait for it no longer than this. */
  async eachThatIsThere<R>(
    ask: (cell: Cell) => Promise<R>,
    ms = patienceMs,
  ): Promise<{ readonly cell: Cell; readonly answer: R }[]> {
    await this.router.ready();
    const answers = await Promise.all(
      this.router.list.map((cell) =>
        within(ms, cell, ask(cell)).then(
          (answer) => ({ cell, answer }),
          () => undefined,
        ),
      ),
    );
    return answers.filter((one) => one !== undefined);
  }

  /**
   * One that cannot be asked, and is not the queue's own, is left out: by its name where those are told, and elsewhere
   * unless jobs of the queue must be there, because it is just moving from there.
   */
  async #has(cell: Cell, queue: string, home: Cell | undefined): Promise<boolean> {
    try {
      return (await this.look(cell, [queue])).length > 0;
    } catch (error) {
      if (isAway(error) && (isPartial() || (home && (await arrivesFrom(home, queue)) === cell.name))) throw error;
      return false;
    }
  }

  /** Which of these queues are in a cell. One that hangs fails at once, until it is time to ask it again. */
  async look(cell: Cell, queues: readonly string[]): Promise<readonly string[]> {
    const late = this.#late.get(cell);
    if (late && performance.now() < late.until) throw late.error;
    const question = { cells: 0, queues, seconds: 1 };
    try {
      const asked = promptly(cell.engine).cellHold("nobody", "look", question);
      return (await askOne(cell, () => within(lookMs, cell, asked))).queues;
    } catch (error) {
      if (isLate(error)) this.#late.set(cell, { until: performance.now() + lateMs, error });
      throw error;
    }
  }
}

/** In a transaction of the caller's, which is in one cell. */
export const isForeign = (call: CallOptions | undefined): boolean =>
  call?.tx !== undefined && !(call.tx instanceof CellsTransaction);

const isLate = (error: unknown): boolean => isAway(error) && error.cause instanceof TimeoutError;

/** The cell that a queue is moving from, as the one says that it moves to. */
export async function arrivesFrom(home: Cell, queue: string): Promise<string | undefined> {
  const moves = await askOne(home, () => home.engine.moves.list());
  return moves.find((move) => move.queue === queue && move.direction === "arriving")?.cell;
}

function seesOneCell(): CellError {
  return new CellError(
    "a transaction sees one cell, and this is about several",
    "ask without tx, or for a queue that is in one cell",
    undefined,
    "across",
  );
}

async function placeOf(db: Queryable): Promise<string> {
  const [row] = await runQuery(db, placeText, []);
  return String(row?.["place"]);
}

/** What several cells answered, each with the cell that it is of. */
export function labelled<T extends object>(
  found: readonly { readonly cell: Cell; readonly answer: readonly T[] }[],
): (T & { readonly cell: string })[] {
  return found.flatMap(({ cell, answer }) => answer.map((one) => ({ ...one, cell: cell.name })));
}

/** What a cell answered, with handles for the ids in these places. */
export function withHandles<T extends object>(cell: Cell, record: T, ...keys: readonly (keyof T)[]): T {
  const changed: Partial<Record<keyof T, unknown>> = {};
  for (const key of keys) {
    const value = record[key];
    if (typeof value === "string") changed[key] = handleOf(cell.name, value);
    else if (Array.isArray(value)) changed[key] = value.map((id: JobId) => handleOf(cell.name, id));
  }
  return { ...record, ...changed };
}

/** A job of a cell as everybody sees it. */
export const jobIn = (cell: Cell, job: JobRecord): JobRecord => ({
  ...withHandles(cell, job, "id", "parent"),
  cell: cell.name,
});

/** A job's place among those of all cells: ids follow the time, in each cell by itself. */
export function compareHandles(a: JobId, b: JobId): number {
  const [cellA, idA] = splitAt(a);
  const [cellB, idB] = splitAt(b);
  if (idA !== idB) return idA < idB ? 1 : -1;
  return cellA < cellB ? -1 : cellA > cellB ? 1 : 0;
}

function splitAt(handle: JobId): [cell: string, id: bigint] {
  const at = handle.indexOf(":");
  return [handle.slice(0, at), BigInt(handle.slice(at + 1))];
}

/** The `before` that a cell is asked with, for a page that goes on after a handle. */
export function beforeIn(cell: Cell, handle: { readonly cell: string | undefined; readonly id: JobId }): JobId {
  const isAfter = handle.cell !== undefined && cell.name > handle.cell;
  return isAfter ? String(BigInt(handle.id) + 1n) : handle.id;
}
