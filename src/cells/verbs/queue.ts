import { CellError, InvalidArgumentError, MoveRefusedError, QueueClosedError } from "../../db/errors.js";
import type * as T from "../../db/types.js";
import { askOne } from "../ask.js";
import type { Cell } from "../cell.js";
import { flat, sum } from "../merge.js";
import { type Change, changeSpread, purgeSpread } from "../spread.js";
import { arrivesFrom, isForeign, withHandles } from "../ways.js";
import { CellsHoldVerbs } from "./hold.js";
import type { Call } from "./verbs.js";

/** Queues, types and groups are changed, in all cells that have something of them. */
export abstract class CellsQueueVerbs extends CellsHoldVerbs {
  override async transactionsEnded(): Promise<never> {
    throw new CellError("numbers of transactions are those of one server", "ask a cell");
  }

  /** Those of a spread queue are told in each cell: who asks does not say of which tenant. */
  override async queueNotify(queues: readonly string[], call?: Call): Promise<void> {
    const parts = new Map<Cell, string[]>();
    for (const queue of queues) {
      const home = await this.router.homeOf(queue);
      for (const cell of home ? [home] : await this.router.spreadCells())
        parts.set(cell, [...(parts.get(cell) ?? []), queue]);
    }
    await Promise.all(
      [...parts].map(([cell, own]) => this.ways.to(cell, call, (at, its) => at.engine.queueNotify(own, its))),
    );
  }

  /** A new queue is placed first. One that names others, such as dead letters, is placed beside them. */
  override async queuePut(name: string, defaults: T.Defaults = {}, call?: Call): Promise<T.Json> {
    const beside = await this.#beside(name, defaults);
    const cell = await this.router.place(name, beside?.name);
    if (cell === undefined || defaults?.spread) return this.#putSpread(name, defaults, call);
    if (beside && beside !== cell)
      throw new CellError(
        `queue "${name}" is in cell "${cell.name}", what it names is in "${beside.name}"`,
        "a queue, its dead letters and what it waits for are in one cell: name others, or move one of them",
        undefined,
        "across",
        cell.name,
      );
    const put = await this.ways
      .queue({ queue: name }, call, (at, own) => at.engine.queuePut(name, defaults, own))
      .catch((error: unknown) => {
        if (!(error instanceof MoveRefusedError && error.reason === "cell")) throw error;
        this.router.forget(name); // its cell was removed before it was made there
        this.router.forgetMembers();
        if (call?.tx !== undefined) throw error;
        return this.queuePut(name, defaults);
      });
    // it was placed here, and made by somebody else meanwhile
    if ((put as T.Defaults).spread) return this.#putSpread(name, defaults, call);
    const left = isForeign(call) ? undefined : await this.#leftBy(name);
    if (left) await askOne(left, () => left.engine.moves.putLeft(name, defaults));
    return put;
  }

  async #putSpread(name: string, defaults: T.Defaults, call: Call): Promise<T.Json> {
    this.router.forget(name);
    const [first] = await changeSpread(this.ways, name, call, {
      ask: (cell, own) => cell.engine.queuePut(name, defaults, own),
      makes: true,
    });
    return first!.answer;
  }

  /** The cell that a queue leaves, while it moves: what is set for it holds for its jobs there too. */
  async #leftBy(name: string): Promise<Cell | undefined> {
    const home = await this.router.cellOf({ queue: name });
    const old = await arrivesFrom(home, name);
    return old !== undefined && old !== home.name ? this.router.cell(old) : undefined;
  }

  async #beside(name: string, defaults: T.Defaults): Promise<Cell | undefined> {
    const { deadLetterQueue, waitsFor } = defaults as { deadLetterQueue?: string | null; waitsFor?: string[] | null };
    const others = [deadLetterQueue, ...(waitsFor ?? [])].filter((one) => typeof one === "string" && one !== name);
    let beside: Cell | undefined;
    for (const other of others) {
      const cell = await this.router.homeOf(other as string);
      if (!cell) continue; // it is spread, and so in each
      if (beside && cell !== beside)
        throw new CellError(
          `queue "${name}" names queues of several cells: ${others.join(", ")}`,
          "name queues of one cell, or move one of them",
          undefined,
          "across",
        );
      beside = cell;
    }
    return beside;
  }

  override async typePut(type: string, defaults: T.Defaults, call?: Call): Promise<T.Json> {
    const [first] = await this.ways.all(call, (cell, own) => cell.engine.typePut(type, defaults, own));
    return first!.answer;
  }

  override async typeDeclare(definitions: readonly T.DeclaredType[], by?: string, call?: Call): Promise<string[]> {
    const found = await this.ways.all(call, (cell, own) => cell.engine.typeDeclare(definitions, by, own));
    return [...new Set(flat(found))];
  }

  override async definitions(type?: string, call?: Call): Promise<T.DefinitionRecord[]> {
    const newest = new Map<string, T.DefinitionRecord>();
    for (const one of flat(await this.ways.all(call, (cell, own) => cell.engine.definitions(type, own)))) {
      const known = newest.get(one.type);
      if (!known || known.version < one.version) newest.set(one.type, one);
    }
    return [...newest.values()].toSorted((a, b) => (a.type < b.type ? -1 : 1));
  }

  override async groupPut(queue: string, group: string, options: T.GroupOptions, call?: Call): Promise<T.GroupOptions> {
    const ask = (cell: Cell, own: Call): Promise<T.GroupOptions> => cell.engine.groupPut(queue, group, options, own);
    if (!(await this.router.homeOf(queue))) {
      const [first] = await changeSpread(this.ways, queue, call, { ask });
      return first!.answer;
    }
    const set = await this.ways.queue({ queue }, call, ask); // which may refuse it
    if (!isForeign(call)) await this.#elsewhere(queue, (cell) => cell.engine.moves.groupPutLeft(queue, group, options));
    return set;
  }

  /** What is left of a queue in other cells than its own. */
  async #elsewhere<R>(queue: string, ask: (cell: Cell, call: Call) => Promise<R>): Promise<R[]> {
    const home = await this.router.cellOf({ queue });
    const found = await this.ways.everywhere(queue, undefined, async (cell, own) =>
      cell === home ? undefined : ask(cell, own),
    );
    return found.map(({ answer }) => answer).filter((one) => one !== undefined);
  }

  /** In all cells that have the queue. */
  async #change<R>(
    queue: string,
    call: Call,
    change: Change<R>,
  ): Promise<{ readonly cell: Cell; readonly answer: R }[]> {
    return (await this.router.homeOf(queue))
      ? this.ways.everywhere(queue, call, change.ask)
      : changeSpread(this.ways, queue, call, change);
  }

  /** In each cell: a limit holds for the jobs of a cell. */
  override async resourcePut(name: string, options: T.ResourceOptions, call?: Call): Promise<T.ResourceOptions> {
    const [first] = await this.ways.all(call, (cell, own) => cell.engine.resourcePut(name, options, own));
    return first!.answer;
  }

  override async queuePause(
    name: string,
    why: T.QueuePart & { readonly by?: string; readonly because?: string } = {},
    call?: Call,
  ): Promise<void> {
    await this.#change(name, call, { ask: (cell, own) => cell.engine.queuePause(name, why, own) });
  }

  override async queueResume(name: string, part: T.QueuePart & T.DecisionNote = {}, call?: Call): Promise<void> {
    const ask = (cell: Cell, own: Call): Promise<void> => cell.engine.queueResume(name, part, own);
    const isMade = (error: unknown): boolean => error instanceof InvalidArgumentError; // it is not paused
    if (!(await this.router.homeOf(name))) return void (await changeSpread(this.ways, name, call, { ask, isMade }));
    // a failure may have paused it in one cell only
    const refusals: unknown[] = [];
    const asked = await this.ways.everywhere(name, call, async (cell, own) => {
      await ask(cell, own).catch((error: unknown) => {
        if (!isMade(error) || isForeign(own)) throw error;
        refusals.push(error);
      });
    });
    if (refusals.length === asked.length) throw refusals[0];
  }

  override async queueClose(name: string, note: T.DecisionNote = {}, call?: Call): Promise<void> {
    await this.#openOrClose(name, call, {
      ask: (cell, own) => cell.engine.queueClose(name, note, own),
      isMade: (error) => error instanceof QueueClosedError,
    });
  }

  override async queueOpen(name: string, note: T.DecisionNote = {}, call?: Call): Promise<void> {
    await this.#openOrClose(name, call, {
      ask: (cell, own) => cell.engine.queueOpen(name, note, own),
      isMade: (error) => error instanceof InvalidArgumentError, // it is not closed
    });
  }

  /** A queue that moves is closed where it was by the move, and stays so. */
  async #openOrClose(name: string, call: Call, change: Change<void>): Promise<void> {
    if (await this.router.homeOf(name)) await this.ways.queue({ queue: name }, call, change.ask);
    else await changeSpread(this.ways, name, call, change);
  }

  /** One cursor for all: that of each cell, by its name. */
  override async queueEvents(
    since?: string,
    call?: Call,
  ): Promise<{ readonly cursor: string; readonly events: T.QueueEvent[] }> {
    const cursors = since === undefined ? {} : readCursors(since);
    const found = await this.ways.all(call, async (cell, own) => cell.engine.queueEvents(cursors[cell.name], own));
    const next = { ...cursors, ...Object.fromEntries(found.map(({ cell, answer }) => [cell.name, answer.cursor])) };
    const events = found.flatMap(({ cell, answer }) =>
      answer.events.map((one) => ({ ...withHandles(cell, one, "jobId"), cell: cell.name })),
    );
    return { cursor: JSON.stringify(next), events: events.toSorted((a, b) => a.at.getTime() - b.at.getTime()) };
  }

  override async queueSetAside(name: string, part: Pick<T.QueuePart, "type"> = {}, call?: Call): Promise<number> {
    return sum(await this.ways.everywhere(name, call, (cell, own) => cell.engine.queueSetAside(name, part, own)));
  }

  override async queueShed(name: string, before: Date, part: T.QueuePart = {}, call?: Call): Promise<number> {
    return sum(await this.ways.everywhere(name, call, (cell, own) => cell.engine.queueShed(name, before, part, own)));
  }

  override async queuePurge(queue: string, call?: Call): Promise<number> {
    return sum(await this.ways.everywhere(queue, call, (cell, own) => cell.engine.queuePurge(queue, own)));
  }

  override async queuePurgeStep(queue: string, from: T.PurgeStep = {}, call?: Call): Promise<T.PurgeStepped> {
    if (!(await this.router.homeOf(queue))) return purgeSpread(this.ways, queue, from, call);
    // what is left in other cells goes with the first step
    const isFirst = from.before === undefined && !isForeign(call);
    const left = isFirst ? await this.#elsewhere(queue, (cell) => cell.engine.queuePurge(queue)) : [];
    const step = await this.ways.queue({ queue }, call, (cell, own) => cell.engine.queuePurgeStep(queue, from, own));
    return { ...step, jobs: left.reduce((total, jobs) => total + jobs, step.jobs) };
  }

  override async queueRedrive(
    queue: string,
    options: { readonly target?: string; readonly limit?: number } = {},
    call?: Call,
  ): Promise<number> {
    return sum(await this.ways.everywhere(queue, call, (cell, own) => cell.engine.queueRedrive(queue, options, own)));
  }
}

function readCursors(since: string): Record<string, string> {
  try {
    const cursors: unknown = JSON.parse(since);
    if (typeof cursors === "object" && cursors !== null && !Array.isArray(cursors)) return cursors as never;
  } catch {
    // told below
  }
  throw new InvalidArgumentError("this is no cursor over several cells", "use one that queueEvents returned");
}
