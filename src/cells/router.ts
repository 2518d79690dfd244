import {
  CellError,
  DatabaseUnavailableError,
  InvalidArgumentError,
  QueueNotFoundError,
  SchemaVersionError,
} from "../db/errors.js";
import type { Engine } from "../db/engine.js";
import type { CellLook, CellMember, JobId } from "../db/types.js";
import { askOne, messageOf } from "./ask.js";
import type { Cell } from "./cell.js";
import { handleOf, splitHandle, unknownCell } from "./handle.js";
import { admitLeft } from "./move-follow.js";
import { type Members, changeMembers, isJoining, readMembers } from "./members.js";
import { promptly } from "./promptly.js";
import { copySpreadQueues } from "./spread-copy.js";
import { type Address, Tenants } from "./tenants.js";

/** A queue that moves is found where it was, and followed from there, so often. */
export const longestWay = 5;
const placeTries = 5;

/** Where a queue is that is spread by tenant: in each cell. A cell says so by this name. */
const spread = "*";

/**
 * Knows the cell of each queue. What it remembers is a hint: a cell that a queue has left says so, and where it went.
 */
export class Router {
  readonly #homes = new Map<string, Cell | typeof spread>();
  readonly #tenants = new Tenants({
    members: () => this.members(),
    forgetMembers: () => this.forgetMembers(),
    cell: (name) => this.cell(name),
  });
  #members: Promise<Members> | undefined;
  #cells: ReadonlyMap<string, Cell> | undefined;
  #opening: Promise<unknown> | undefined;
  readonly #open: () => Promise<ReadonlyMap<string, Cell>>;

  /** `cells`: all of them, or how to learn which there are. */
  constructor(cells: ReadonlyMap<string, Cell> | (() => Promise<ReadonlyMap<string, Cell>>)) {
    this.#cells = typeof cells === "function" ? undefined : cells;
    this.#open = typeof cells === "function" ? cells : () => Promise.resolve(cells);
  }

  /** Resolves when it is known which cells there are. */
  async ready(): Promise<void> {
    if (this.#cells) return;
    this.#opening ??= this.#open().then(
      (cells) => (this.#cells = cells),
      (error: unknown) => {
        this.#opening = undefined;
        throw error;
      },
    );
    await this.#opening;
  }

  get cells(): ReadonlyMap<string, Cell> {
    if (!this.#cells) throw new Error("the cells are not known yet");
    return this.#cells;
  }

  /** Those that are known; none before they are. */
  get opened(): readonly Cell[] {
    return [...(this.#cells?.values() ?? [])];
  }

  /** The same, with other ways to the cells. */
  like(change: (cell: Cell) => Cell): Router {
    const changed = (cells: readonly Cell[]) => new Map(cells.map((cell) => [cell.name, change(cell)]));
    return new Router(this.#cells ? changed(this.list) : () => this.ready().then(() => changed(this.list)));
  }

  get list(): readonly Cell[] {
    return [...this.cells.values()];
  }

  /** A cell by its name. */
  cell(name: string): Cell {
    const cell = this.cells.get(name);
    if (!cell) throw unknownCell(name, this.cells.keys());
    return cell;
  }

  /** The list that queues are placed by; read once, and again when it was found to have changed. */
  async members(): Promise<Members> {
    await this.ready();
    this.#members ??= this.#read();
    try {
      return await this.#members;
    } catch (error) {
      this.#members = undefined;
      throw error;
    }
  }

  /** What each cell says of itself; those that do not answer are left out. Of another release is refused. */
  async looks(): Promise<Map<string, CellLook>> {
    await this.ready();
    const looks = new Map<string, CellLook>();
    await Promise.all(
      this.list.map(async (cell) => {
        try {
          await askOne(cell, () => cell.engine.check());
          looks.set(cell.name, await askOne(cell, () => cell.engine.cellLook()));
        } catch (error) {
          if (!(error instanceof DatabaseUnavailableError)) throw wrongRelease(cell, error);
        }
      }),
    );
    return looks;
  }

  async #read(): Promise<Members> {
    return readMembers(this.list, await this.looks());
  }

  /** The list is read again when it is needed: it was found to have changed. */
  forgetMembers(): void {
    this.#members = undefined;
  }

  /** The list as it is now. For a change of it all cells must answer that are in it, or were. */
  async membersOfAll(): Promise<Members> {
    const looks = await this.looks();
    const silent = this.list.find(({ name }) => !looks.has(name));
    if (silent)
      throw new CellError(
        `cell "${silent.name}" does not answer, and all must know of a change of their list`,
        "let all of them run",
        undefined,
        "partial",
        silent.name,
      );
    const members = await readMembers(this.list, looks);
    for (const name of members.named) if (members.stateOf(name) !== "removed") this.cell(name);
    return members;
  }

  /** Change what cells are in the list. */
  async change(names: readonly string[], state: CellMember["state"]): Promise<Members> {
    await this.ready();
    for (const name of names) this.cell(name);
    const members = await this.membersOfAll();
    this.#members = changeMembers(this.list, members, names, state, (joining, added) =>
      copySpreadQueues(
        joining.names.map((name) => this.cell(name)),
        added.map((name) => this.cell(name)),
        (queue) => this.cell(joining.homesOf(queue)[0]!),
      ),
    );
    return this.members();
  }

  /**
   * The cell that a queue is in. One that is nowhere would be in the cell that is returned. Of a spread queue the cell
   * of the tenant, which gets one if it has none.
   */
  async cellOf({ queue, tenant }: Address): Promise<Cell> {
    const name = queue ?? "default";
    const home = await this.#homeOf(name);
    return home === spread ? this.#tenants.place(name, Tenants.of(name, tenant)) : home;
  }

  /** The cells of several jobs, with one question for all new tenants of a cell. */
  async cellsOf(addresses: readonly Address[]): Promise<Cell[]> {
    const homes: (Cell | typeof spread)[] = [];
    const tenants = new Map<string, Set<string>>();
    for (const { queue, tenant } of addresses) {
      const name = queue ?? "default";
      const home = await this.#homeOf(name);
      homes.push(home);
      if (home === spread) tenants.set(name, (tenants.get(name) ?? new Set()).add(Tenants.of(name, tenant)));
    }
    const places = new Map<string, Map<string, Cell>>();
    for (const [name, own] of tenants) places.set(name, await this.#tenants.placeAll(name, own));
    return homes.map((home, n) => {
      const { queue, tenant } = addresses[n]!;
      return home === spread ? places.get(queue ?? "default")!.get(tenant!)! : home;
    });
  }

  /** As `cellOf`, but nothing is placed. */
  async whereIs({ queue = "default", tenant }: { readonly queue?: string; readonly tenant?: string }): Promise<Cell> {
    const home = await this.#homeOf(queue);
    if (home !== spread) return home;
    if (tenant !== undefined) return this.#tenants.whereIs(queue, Tenants.of(queue, tenant));
    throw new InvalidArgumentError(
      `queue "${queue}" is spread by tenant`,
      "say of which tenant: whereIs(queue, tenant)",
    );
  }

  /** The cell that a queue is in as a whole, or would be in; nothing of one that is spread. */
  async homeOf(queue = "default"): Promise<Cell | undefined> {
    const home = await this.#homeOf(queue);
    return home === spread ? undefined : home;
  }

  /** The cells of a spread queue. */
  async spreadCells(): Promise<Cell[]> {
    return (await this.members()).names.map((name) => this.cell(name));
  }

  /** The cell that tells what is set for a queue; of a spread one any does, and this is its oldest home. */
  async settingsOf(queue: string): Promise<Cell> {
    const home = await this.#homeOf(queue);
    return home === spread ? this.cell((await this.members()).homesOf(queue)[0]!) : home;
  }

  async #homeOf(queue: string): Promise<Cell | typeof spread> {
    return this.#homes.get(queue) ?? (await this.#find(queue)) ?? this.#home(queue);
  }

  /**
   * A queue that is nowhere is to be created in the cell that the list gives it to, or where `beside` is. Nothing when
   * it is spread.
   */
  async place(queue: string, beside?: string): Promise<Cell | undefined> {
    for (let tries = 0; tries < placeTries; tries += 1) {
      const known = this.#homes.get(queue) ?? (await this.#find(queue));
      if (known) return known === spread ? undefined : known;
      const members = await this.members();
      const home = members.placeOf(queue);
      if (home === undefined) {
        this.forgetMembers();
        return isJoining(`queue "${queue}"`);
      }
      const cell = this.cell(home);
      const placed = await askOne(cell, () => promptly(cell.engine).queuePlace(queue, members.version, beside));
      if (placed === spread) return undefined;
      if (placed !== null) return this.#remember(queue, this.cell(placed));
      this.forgetMembers(); // the list has changed
    }
    throw new CellError(`the list of cells does not come to rest`, "try again", undefined, "joining");
  }

  /** A call was told that a queue has moved. */
  moved(queue: string, name: string): Cell {
    const cell = this.cells.get(name);
    if (cell) return this.#remember(queue, cell);
    throw new CellError(
      `queue "${queue}" has moved to cell "${name}", which this process does not have`,
      `it has ${[...this.cells.keys()].join(", ")}; add that cell to the list`,
      undefined,
      "gone",
      name,
    );
  }

  /** A queue may have gone: the next call looks for it again. */
  forget(queue: string): void {
    this.#homes.delete(queue);
  }

  async #home(queue: string): Promise<Cell> {
    return this.cell((await this.members()).homeOf(queue));
  }

  /** A list that has changed since it was read may have given the queue another home: then it is read once more. */
  async #find(queue: string): Promise<Cell | typeof spread | undefined> {
    const members = await this.members();
    const found = await this.#findBy(members, queue);
    if (found || !(await this.#hasChanged(members, queue))) return found;
    this.#members = undefined;
    return this.#findBy(await this.members(), queue);
  }

  /** Every cell knows of a change before any queue is placed by it. */
  async #hasChanged(members: Members, queue: string): Promise<boolean> {
    const cell = this.cell(members.homesOf(queue)[0]!);
    return (await askOne(cell, () => cell.engine.cellLook())).version !== members.version;
  }

  async #findBy(members: Members, queue: string): Promise<Cell | typeof spread | undefined> {
    for (const home of members.homesOf(queue)) {
      let cell = this.cell(home);
      let before: Cell | undefined;
      for (let way = 0; way < longestWay; way += 1) {
        const at = await this.#ask(cell, queue);
        if (at === null) break;
        if (at === spread) return this.#rememberSpread(queue);
        if (at === cell.name) return this.#remember(queue, cell);
        const cellOf = (name: string): Engine | undefined => this.cells.get(name)?.engine;
        // each may say that the queue is in the other one, when its move was broken off just then
        if (at === before?.name && !(await admitLeft(queue, at, cell.name, cellOf)))
          await admitLeft(queue, cell.name, at, cellOf);
        before = cell;
        cell = this.moved(queue, at);
      }
    }
    return undefined;
  }

  /** A queue that is spread is in each cell, so where one is away, the others know of it. */
  async #ask(cell: Cell, queue: string): Promise<string | null> {
    try {
      return await askOne(cell, () => promptly(cell.engine).queueHome(queue));
    } catch (error) {
      if (!(error instanceof DatabaseUnavailableError)) throw error;
      const others = this.list.filter((other) => other !== cell);
      const asked = others.map(async ({ engine }) => {
        if ((await engine.queueHome(queue)) === spread) return spread;
        throw error;
      });
      return Promise.any(asked).catch(() => Promise.reject(error));
    }
  }

  #rememberSpread(queue: string): typeof spread {
    this.#homes.set(queue, spread);
    return spread;
  }

  #remember(queue: string, cell: Cell): Cell {
    this.#homes.set(queue, cell);
    return cell;
  }

  /** The cell of a job, and its id there. Ids from before there were several cells belong to the first of them. */
  async jobAt(handle: JobId): Promise<{ readonly cell: Cell; readonly id: JobId }> {
    const { cell, id } = splitHandle(handle);
    await this.ready();
    if (cell !== undefined) {
      if (!this.cells.has(cell) && (await this.members()).stateOf(cell) === "removed") throw removedCell(cell, handle);
      return { cell: this.cell(cell), id };
    }
    const { founder } = await this.members();
    if (founder !== undefined) return { cell: this.cell(founder), id };
    throw new CellError(
      `${id} may be a job of any cell`,
      `give its handle, such as "${handleOf([...this.cells.keys()][0]!, id)}"`,
      undefined,
      "foreign",
    );
  }
}

function removedCell(cell: string, handle: JobId): CellError {
  return new CellError(
    `job ${handle} is one of cell "${cell}", which was removed`,
    `its history is in that database: add "${cell}" to the list of this process to look at it`,
    undefined,
    "gone",
    cell,
  );
}

function wrongRelease(cell: Cell, error: unknown): unknown {
  if (!(error instanceof SchemaVersionError)) return error;
  return new CellError(
    `cell "${cell.name}" is of another release: ${messageOf(error)}`,
    error.remedy ?? 'run "millrace migrate"',
    error,
    "release",
    cell.name,
  );
}

/** There is no such queue in this cell. */
export const isUnknownQueue = (error: unknown): boolean => error instanceof QueueNotFoundError;
