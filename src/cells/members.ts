import { CellError, NotGrantedError } from "../db/errors.js";
import type { CellLook, CellMember } from "../db/types.js";
import { askOne } from "./ask.js";
import type { Cell } from "./cell.js";
import { winner } from "./rendezvous.js";

/** What a cell of the list is: see `CellRecord`. */
export type MemberState = "member" | "joining" | "leaving" | "out" | "removed" | "known";

/** The list that queues are placed by, as the cells know it: sql/cells/README.md. */
export class Members {
  /** Of the newest list. */
  readonly version: number;
  /** The members of each version, oldest first. */
  readonly #lists: readonly (readonly string[])[];
  /** The list as it will be when all cells know of the change that is under way. */
  readonly #next: readonly string[];
  readonly #removed: ReadonlySet<string>;

  /** `all`: the changes of the list. */
  constructor(readonly all: readonly CellMember[]) {
    this.version = Math.max(0, ...all.map(({ version }) => version));
    const known = all.filter(({ version }) => version % 2 === 0);
    const versions = [...new Set(known.map(({ version }) => version))].toSorted((a, b) => a - b);
    this.#lists = versions.map((upTo) => listOf(known.filter(({ version }) => version <= upTo)));
    this.#next = listOf(all);
    this.#removed = new Set(this.named.filter((name) => this.stateOf(name) === "removed"));
  }

  get names(): readonly string[] {
    return this.#lists.at(-1) ?? [];
  }

  /** All that the list ever had. */
  get named(): readonly string[] {
    return [...new Set(this.all.map(({ name }) => name))];
  }

  /** The changes that not all cells know yet. */
  get pending(): readonly CellMember[] {
    return this.all.filter(({ version }) => version % 2 === 1);
  }

  stateOf(cell: string): MemberState {
    const last = this.all
      .filter(({ name }) => name === cell)
      .toSorted((a, b) => a.version - b.version)
      .at(-1);
    if (!last) return "known";
    if (last.version % 2 === 1) return last.state === "in" ? "joining" : "leaving";
    return last.state === "in" ? "member" : last.state;
  }

  /** The only member of the first list: ids from before there were several cells are its. */
  get founder(): string | undefined {
    return this.#lists[0]?.length === 1 ? this.#lists[0][0] : undefined;
  }

  /** Where a queue may be: the homes that the lists gave it, oldest first. What was in a removed cell has moved. */
  homesOf(queue: string): readonly string[] {
    const lists = this.#lists.map((names) => names.filter((name) => !this.#removed.has(name)));
    return [...new Set(lists.filter((names) => names.length > 0).map((names) => winner(queue, names)))];
  }

  /** The home that the newest list gives to a queue. */
  homeOf(queue: string): string {
    return winner(queue, this.names);
  }

  /** Where a new queue is to be; undefined while a change is under way that another place would follow from. */
  placeOf(queue: string): string | undefined {
    const home = this.homeOf(queue);
    return winner(queue, this.#next) === home ? home : undefined;
  }
}

/** Who is in the list after these changes. */
function listOf(changes: readonly CellMember[]): string[] {
  const names = new Set<string>();
  for (const { name, state } of changes.toSorted((a, b) => a.version - b.version))
    if (state === "in") names.add(name);
    else names.delete(name);
  return [...names];
}

/** Somebody must wait until cells have joined or left, to know where something new belongs. */
export function isJoining(what: string): never {
  throw new CellError(
    `a cell is just joining or leaving that ${what} may belong to`,
    "try again; if that does not help, give mill.cells.add or drain again, because that was broken off",
    undefined,
    "joining",
  );
}

/**
 * What the cells know. Cells that were never used together are made to know each other: those that have been used are
 * the first members, or all if none has. Cells that cannot be asked are left out.
 */
export async function readMembers(cells: readonly Cell[], looks: ReadonlyMap<string, CellLook>): Promise<Members> {
  checkLooks(looks);
  const newest = newestOf(looks);
  if (!newest) throw new CellError("no cell answers", "check that the servers run", undefined, "partial");
  const members = newest.version > 0 ? newest.members : founders(cells, looks);
  for (const cell of cells) {
    const look = looks.get(cell.name);
    if (!look || (look.name === cell.name && look.version >= newest.version && look.version > 0)) continue;
    // a role that only reads does without: others will write it
    await askOne(cell, () => cell.engine.cellJoin(cell.name, members)).catch((error: unknown) => {
      if (!(error instanceof NotGrantedError)) throw error;
    });
  }
  return new Members(members);
}

/** What the cell knows that knows most of the list. */
export function newestOf(looks: ReadonlyMap<string, CellLook>): CellLook | undefined {
  return [...looks.values()].toSorted((a, b) => b.version - a.version)[0];
}

function founders(cells: readonly Cell[], looks: ReadonlyMap<string, CellLook>): CellMember[] {
  const silent = cells.find(({ name }) => !looks.has(name));
  if (silent)
    throw new CellError(
      `cell "${silent.name}" does not answer, and the cells have not been used together yet`,
      "let all of them run the first time",
      undefined,
      "partial",
      silent.name,
    );
  const used = cells.filter(({ name }) => looks.get(name)?.isUsed);
  return (used.length > 0 ? used : cells).map(({ name }) => ({ name, version: 2, state: "in" }));
}

/** Two names for one cell, or one that has another name, would send jobs of one queue to two places. */
function checkLooks(looks: ReadonlyMap<string, CellLook>): void {
  const byId = new Map<string, string>();
  for (const [name, look] of looks) {
    const other = byId.get(look.id);
    if (other !== undefined)
      throw new CellError(
        `the cells "${other}" and "${name}" are one and the same`,
        "give each cell a database or a schema of its own",
        undefined,
        "same",
        name,
      );
    byId.set(look.id, name);
  }
  for (const [name, look] of looks)
    if (look.name !== null && look.name !== name)
      throw new CellError(
        `the cell that is called "${name}" here is "${look.name}"`,
        "give every process the same list of cells",
        undefined,
        "name",
        name,
      );
}

/**
 * Change what cells are in the list. In two steps, each in all cells, so that no queue is ever placed twice; when one
 * cannot be reached, nothing is lost, and it can be done again. All ask the cells in one order, so that of two changes
 * at once one is refused everywhere. `prepare`: what new cells must have before they get anything, done when everybody
 * knows that they join.
 */
export async function changeMembers(
  cells: readonly Cell[],
  members: Members,
  names: readonly string[],
  state: CellMember["state"],
  prepare: (joining: Members, added: readonly string[]) => Promise<void>,
): Promise<Members> {
  const inOrder = cells.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const tell = async (changes: readonly CellMember[]): Promise<Members> => {
    for (const cell of inOrder) await askOne(cell, () => cell.engine.cellJoin(cell.name, changes));
    return new Members(changes);
  };
  const done = (all: readonly CellMember[]): CellMember[] =>
    all.map((one) => (one.version % 2 === 1 ? { ...one, version: one.version + 1 } : one));
  const commit = async (changes: readonly CellMember[]): Promise<Members> => {
    const told = await tell(changes);
    const added = told.pending.filter((one) => one.state === "in").map(({ name }) => name);
    if (added.length > 0) await prepare(told, added);
    return tell(done(changes));
  };

  const known = members.pending.length > 0 ? await commit(members.all) : members; // it was broken off
  const wanted = state === "in" ? "member" : state;
  const changed = [...new Set(names)].filter((name) => known.stateOf(name) !== wanted);
  if (changed.length === 0) return known;
  const version = known.version + 1;
  return commit([...known.all, ...changed.map((name) => ({ name, version, state }))]);
}
