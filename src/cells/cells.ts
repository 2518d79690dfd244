import type { Engine } from "../db/engine.js";
import { CellError, InvalidArgumentError } from "../db/errors.js";
import { newPool } from "../db/pool.js";
import { makeAnchor } from "./anchor.js";
import { askAll, partial } from "./ask.js";
import type { PartialAnswer } from "./ask.js";
import { type MemberState, Members } from "./members.js";
import { type CellFinding, copyRoutes, examineCells } from "./move-doctor.js";
import { type DrainOptions, type DrainPlan, type DrainTargets, checkPlan, drainCell, planDrain } from "./move-drain.js";
import {
  type CellEngines,
  type MoveOptions,
  type MovePlan,
  type MoveResult,
  moveQueue,
  planMove,
  refused,
} from "./move.js";
import { type RemovePlan, aliveIn, handOnPlaces, planRemove } from "./remove.js";
import type { Router } from "./router.js";

/** A cell as `mill.cells.list()` shows it. */
export interface CellRecord {
  readonly name: string;
  /**
   * `member`: it gets new queues. `joining`: it will. `leaving`: it will not any more. `out`: it was drained, and gets
   * none. `removed`: processes do without it. `known`: it was never added, and serves what it has. `missing`: it does
   * not answer.
   */
  readonly state: MemberState | "missing";
  /** Workers that serve it; null when it does not answer. */
  readonly workers: number | null;
  /** Jobs that wait and run in it; null when it does not answer. */
  readonly waiting: number | null;
  readonly running: number | null;
  /** Why it does not answer. */
  readonly because?: string;
}

/** What draining a cell has done. */
export interface DrainResult {
  readonly cell: string;
  readonly moved: readonly MoveResult[];
}

/** Whether to change nothing, and only say what would be done. */
export interface Rehearsal {
  readonly dryRun?: boolean;
}

/** Several cells that are used as one: `mill.cells`. See docs/cells.md. */
export class Cells {
  readonly #router: Router;
  readonly #coordinator: string | undefined;

  /** `coordinator`: that of Citus, where it named the cells. */
  constructor(router: Router, coordinator?: string) {
    this.#router = router;
    this.#coordinator = coordinator;
  }

  /** What single cells are asked by, by their names. */
  async #engines(): Promise<CellEngines> {
    await this.#router.ready();
    return new Map(this.#router.list.map(({ name, engine }) => [name, engine]));
  }

  /** The names of all cells of the list. */
  async names(): Promise<readonly string[]> {
    await this.#router.ready();
    return [...this.#router.cells.keys()];
  }

  /** All cells: whether they get new queues, who serves them, and how much waits. Those that are away are named too. */
  async list(): Promise<CellRecord[]> {
    await this.#router.ready();
    const members = await this.#router.members();
    const { answer, missing } = await partial(() =>
      askAll(this.#router.list, async ({ engine }) => ({
        look: await engine.cellLook(),
        queues: await engine.queues(),
      })),
    ).catch((error: unknown) => ({
      answer: [],
      missing: this.#router.list.map(({ name }) => ({ cell: name, because: String(error) })),
    }));
    return this.#router.list.map(({ name }) => {
      const found = answer.find(({ cell }) => cell.name === name)?.answer;
      if (!found)
        return {
          name,
          state: "missing",
          workers: null,
          waiting: null,
          running: null,
          because: missing.find(({ cell }) => cell === name)?.because ?? "it does not answer",
        };
      const total = (key: "waiting" | "running"): number => found.queues.reduce((sum, queue) => sum + queue[key], 0);
      return {
        name,
        state: members.stateOf(name),
        workers: found.look.holders,
        waiting: total("waiting"),
        running: total("running"),
      };
    });
  }

  /**
   * Let cells get new queues too, once every process has them in its list; also those that were drained. Queues that
   * exist stay where they are. All cells must be there; when that is broken off, do it again. Returns the cells that
   * get new queues then.
   *
   * @example
   * ```ts
   * const mill = new Millrace({ cells: { a: "postgres://db-a/app", b: "postgres://db-b/app" } });
   * await mill.cells?.add("b");
   * ```
   */
  async add(names: string | readonly string[], { dryRun = false }: Rehearsal = {}): Promise<readonly string[]> {
    await this.#router.ready();
    const added = [names].flat();
    for (const name of added) this.#router.cell(name);
    const members = await this.#router.membersOfAll();
    for (const name of added)
      if (members.stateOf(name) === "removed")
        throw new CellError(
          `there was another cell "${name}", which was removed: handles that were stored name it`,
          "give the new one another name",
          undefined,
          "name",
          name,
        );
    if (dryRun) return [...new Set([...members.names, ...added])];
    return (await this.#router.change(added, "in")).names;
  }

  /**
   * Move a queue to another cell, while producers and workers go on: new jobs go there, what is in the old cell ends in
   * it. Resolves when all of it has; one that was broken off goes on when it is called again, by anybody. With `dryRun`
   * nothing is changed, and the answer says what would be done, and what speaks against it.
   *
   * @example
   * ```ts
   * const mill = new Millrace({ cells: { a: "postgres://db-a/app", b: "postgres://db-b/app" } });
   * const { held, against } = await mill.cells!.move("mails", "b", { dryRun: true });
   * if (against.length === 0) await mill.cells!.move("mails", "b", { by: "ann" });
   * ```
   */
  async move(queue: string, to: string, options: MoveOptions & { readonly dryRun: true }): Promise<MovePlan>;
  async move(queue: string, to: string, options?: MoveOptions & { readonly dryRun?: false }): Promise<MoveResult>;
  async move(queue: string, to: string, options: MoveOptions & Rehearsal = {}): Promise<MovePlan | MoveResult> {
    const cells = await this.#engines();
    for (const name of [to, options.from]) if (name !== undefined) this.#router.cell(name);
    return options.dryRun ? planMove(cells, queue, to, options) : moveQueue(cells, queue, to, options);
  }

  /**
   * Take a cell out of the list that new queues are placed by, and move all queues out of it: to `to`, or to the cells
   * that have the fewest. Resolves when nothing is left in it. One whose queues cannot all move is refused before
   * anything is changed. `add` puts it back; what has moved stays where it is then.
   *
   * @example
   * ```ts
   * const mill = new Millrace({ cells: { a: "postgres://db-a/app", b: "postgres://db-b/app" } });
   * await mill.cells!.drain("a", { by: "ann" });
   * await mill.cells!.remove("a");
   * ```
   */
  async drain(name: string, options: DrainOptions & { readonly dryRun: true }): Promise<DrainPlan>;
  async drain(name: string, options?: DrainOptions & { readonly dryRun?: false }): Promise<DrainResult>;
  async drain(name: string, options: DrainOptions & Rehearsal = {}): Promise<DrainPlan | DrainResult> {
    const cells = await this.#engines();
    const { dryRun, ...rest } = options;
    for (const one of [name, rest.to]) if (one !== undefined) this.#router.cell(one);
    const targets = await this.#targets(name, rest.to);
    const plan = await planDrain(cells, name, targets, rest.to);
    if (dryRun) return plan;
    checkPlan(plan);
    await this.#router.change([name], "out");
    return { cell: name, moved: await drainCell(cells, name, targets, rest) };
  }

  async #targets(drained: string, to: string | undefined): Promise<DrainTargets> {
    const members = await this.#router.membersOfAll();
    const names = members.names.filter((name) => name !== drained);
    if (names.length === 0) throw refused("cell", "there is no other cell to drain into", "add one first");
    if (to !== undefined && !names.includes(to))
      throw refused("cell", `the cell "${to}" gets no new queues, or is the one to drain`, `use ${names.join(" or ")}`);
    // where processes will look for it that do without the drained one
    const without = new Members([...members.all, { name: drained, version: members.version + 2, state: "removed" }]);
    let ofDefault = without.homesOf("default")[0]!;
    for (let at = ""; at !== ofDefault;) {
      at = ofDefault;
      const next = await this.#router.cell(at).engine.queueHome("default");
      if (next !== null && next !== drained) ofDefault = next;
    }
    return { names, ofDefault };
  }

  /**
   * Remove a cell that was drained: processes find all queues without it, and can take it out of their lists. Its
   * history stays in its database. One that still gets queues, or in which something may come to life, is refused with
   * `MoveRefusedError`. Handles of its jobs are refused with `CellError`, reason `gone`, by processes that do not have
   * it any more. With `dryRun` nothing is changed, and the answer says what speaks against it.
   *
   * @example
   * ```ts
   * const mill = new Millrace({ cells: { a: "postgres://db-a/app", b: "postgres://db-b/app" } });
   * const { failed, against } = await mill.cells!.remove("a", { dryRun: true });
   * if (failed === 0 && against.length === 0) await mill.cells!.remove("a");
   * ```
   */
  async remove(name: string, { dryRun = false }: Rehearsal = {}): Promise<RemovePlan> {
    const cells = await this.#engines();
    this.#router.cell(name);
    const plan = await planRemove(cells, name, await this.#router.membersOfAll());
    if (dryRun) return plan;
    const refuse = ([first]: RemovePlan["against"]): void => {
      if (first) throw refused(first.reason, first.message, first.remedy);
    };
    refuse(plan.against);
    await handOnPlaces(cells, name);
    await this.#router.change([name], "removed");
    const alive = await aliveIn(cells, name); // no queue arrives any more in one that knows it was removed
    if (alive.length > 0) await this.#router.change([name], "out");
    refuse(alive);
    return plan;
  }

  /**
   * On Citus: make the table `here` in a schema that it distributes, which calls `near` a tenant are carried by.
   * Returns its name. Only for a client that was given `citus`. Safe to repeat.
   *
   * @example
   * ```ts
   * const mill = new Millrace({ citus: "postgres://coordinator/app" });
   * await mill.cells!.anchor("tenant_1"); // "tenant_1.here"
   * ```
   */
  async anchor(schema: string): Promise<string> {
    if (this.#coordinator === undefined)
      throw new InvalidArgumentError("anchors are made by the coordinator of Citus", "give its address as citus");
    const pool = newPool({ connectionString: this.#coordinator, max: 1 });
    try {
      return await makeAnchor(pool, schema);
    } finally {
      await pool.end();
    }
  }

  /**
   * Look for what is wrong with the cells together: one that cannot be used, changes of the list and moves that nobody
   * goes on with, routes that not all know. With `fix` the newest routes are copied to all before.
   *
   * @example
   * ```ts
   * const mill = new Millrace({ cells: { a: "postgres://db-a/app", b: "postgres://db-b/app" } });
   * for (const { cell, state, message } of await mill.cells!.doctor()) console.log(cell, state, message);
   * ```
   */
  async doctor({ fix = false }: { readonly fix?: boolean } = {}): Promise<CellFinding[]> {
    const cells = await this.#engines();
    if (fix) await copyRoutes(cells);
    return examineCells(cells);
  }

  /** The cell that a queue is in, or would be in; of one that is spread by tenant, the cell of a tenant. */
  async whereIs(queue: string, tenant?: string): Promise<string> {
    return (await this.#router.whereIs({ queue, ...(tenant === undefined ? {} : { tenant }) })).name;
  }

  /** The verbs of one cell, by its own ids. */
  async engine(name: string): Promise<Engine> {
    await this.#router.ready();
    return this.#router.cell(name).engine;
  }

  /**
   * Ask what is asked of all cells, and go without those that do not answer within 1.5 s: they are named. Elsewhere one
   * that does not answer fails the call.
   *
   * @example
   * ```ts
   * const { answer, missing } = await mill.cells!.partial(() => mill.queues.list());
   * for (const { cell, because } of missing) console.warn(`without ${cell}: ${because}`);
   * ```
   */
  async partial<T>(ask: () => Promise<T>): Promise<PartialAnswer<T>> {
    return partial(ask);
  }
}
