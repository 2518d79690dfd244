import { checkName } from "../db/check-options.js";
import { CellError, InvalidArgumentError } from "../db/errors.js";
import { askOne } from "./ask.js";
import type { Cell } from "./cell.js";
import { type Members, isJoining } from "./members.js";
import { promptly } from "./promptly.js";

/** What a job says of where it belongs. */
export interface Address {
  readonly queue?: string | null | undefined;
  readonly tenant?: string | null | undefined;
}

/** Places that a process remembers; of more it forgets those that it has not asked for in the longest time. */
const mostKnown = 100_000;
const placeTries = 5;

/** What the places of tenants are found by. */
export interface TenantParts {
  readonly members: () => Promise<Members>;
  /** The list has changed. */
  readonly forgetMembers: () => void;
  readonly cell: (name: string) => Cell;
}

/** By this a tenant of a queue is given to a cell. Names of queues have no slash. */
const keyOf = (queue: string, tenant: string): string => `${queue}/${tenant}`;

/** Knows the cell of each tenant of spread queues. A tenant's place does not change, so what is remembered holds. */
export class Tenants {
  readonly #places = new Map<string, Cell>();

  constructor(readonly parts: TenantParts) {}

  /** The tenant that a job of a spread queue names; without one it has no cell. */
  static of(queue: string, tenant: string | null | undefined): string {
    if (tenant !== undefined && tenant !== null) return checkName(tenant, "tenant", "nameLength");
    throw new InvalidArgumentError(
      `queue "${queue}" is spread by tenant: each of its jobs needs one`,
      'give the option "tenant"',
    );
  }

  /** The cell of a tenant; one that has none yet gets one. */
  async place(queue: string, tenant: string): Promise<Cell> {
    return this.#known(keyOf(queue, tenant)) ?? (await this.placeAll(queue, [tenant])).get(tenant)!;
  }

  /** The cells of tenants, with one question for those of each cell. */
  async placeAll(queue: string, tenants: Iterable<string>): Promise<Map<string, Cell>> {
    const places = new Map<string, Cell>();
    let left = this.#recall(queue, new Set(tenants), places);
    for (let tries = 0; left.length > 0; tries += 1) {
      if (tries === placeTries)
        throw new CellError("the list of cells does not come to rest", "try again", undefined, "joining");
      const members = await this.parts.members();
      // the only home a tenant can have had need not be asked first: it places, or knows
      const isOnly = (key: string): boolean => members.homesOf(key).length === 1 && members.placeOf(key) !== undefined;
      const elsewhere = left.filter((tenant) => !isOnly(keyOf(queue, tenant)));
      await this.#find(queue, elsewhere, places, members);
      left = left.filter((tenant) => !places.has(tenant));
      const asked = await this.#ask(queue, left, places, {
        homes: (key) => [members.placeOf(key) ?? this.#isJoining(queue)],
        here: (cell, own) => promptly(cell.engine).tenantsPlace(queue, own, members.version),
      });
      for (const { failure } of asked) if (failure !== undefined) throw failure;
      left = left.filter((tenant) => !places.has(tenant));
      if (left.length > 0) this.parts.forgetMembers();
    }
    return places;
  }

  /** The cell of a tenant, or the one that it would get. */
  async whereIs(queue: string, tenant: string): Promise<Cell> {
    const places = new Map<string, Cell>();
    const [left] = this.#recall(queue, [tenant], places);
    const members = await this.parts.members();
    if (left !== undefined) await this.#find(queue, [tenant], places, members);
    return places.get(tenant) ?? this.parts.cell(members.homesOf(keyOf(queue, tenant)).at(-1)!);
  }

  /** Ask all homes that the lists gave the tenants. One that is away may have those that no other one has. */
  async #find(queue: string, tenants: readonly string[], places: Map<string, Cell>, members: Members): Promise<void> {
    const asked = await this.#ask(queue, tenants, places, {
      homes: (key) => members.homesOf(key),
      here: (cell, own) => promptly(cell.engine).tenantsHere(queue, own),
    });
    for (const { failure, tenants: own } of asked)
      if (failure !== undefined && own.some((tenant) => !places.has(tenant))) throw failure;
  }

  /** Ask each cell about its tenants, all at once. Returns who was asked for whom, and what has failed. */
  async #ask(
    queue: string,
    tenants: readonly string[],
    places: Map<string, Cell>,
    {
      homes,
      here,
    }: {
      readonly homes: (key: string) => readonly string[];
      readonly here: (cell: Cell, tenants: string[]) => Promise<string[]>;
    },
  ): Promise<{ readonly tenants: readonly string[]; readonly failure: unknown }[]> {
    const parts = new Map<Cell, string[]>();
    for (const tenant of tenants)
      for (const home of homes(keyOf(queue, tenant))) {
        const cell = this.parts.cell(home);
        parts.set(cell, [...(parts.get(cell) ?? []), tenant]);
      }
    return Promise.all(
      [...parts].map(async ([cell, own]) => {
        try {
          for (const tenant of await askOne(cell, () => here(cell, own))) {
            places.set(tenant, cell);
            this.#remember(keyOf(queue, tenant), cell);
          }
          return { tenants: own, failure: undefined };
        } catch (failure) {
          return { tenants: own, failure };
        }
      }),
    );
  }

  #isJoining(queue: string): never {
    this.parts.forgetMembers();
    return isJoining(`a tenant of queue "${queue}"`);
  }

  /** Puts those that are known into `places`, and returns the others. */
  #recall(queue: string, tenants: Iterable<string>, places: Map<string, Cell>): string[] {
    return [...tenants].filter((tenant) => {
      const cell = this.#known(keyOf(queue, tenant));
      if (cell) places.set(tenant, cell);
      return cell === undefined;
    });
  }

  #known(key: string): Cell | undefined {
    const cell = this.#places.get(key);
    if (cell && this.#places.size === mostKnown) this.#remember(key, cell); // it was asked for last
    return cell;
  }

  #remember(key: string, cell: Cell): void {
    this.#places.delete(key);
    this.#places.set(key, cell);
    if (this.#places.size > mostKnown) this.#places.delete(this.#places.keys().next().value!);
  }
}
