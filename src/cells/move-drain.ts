import { setTimeout as sleep } from "node:timers/promises";
import type { BegunMove, CellEngines, MoveOptions, MovePlan, MoveResult } from "./move.js";
import { beginMove, endMoves, planMove, refused } from "./move.js";

/** A queue that has nothing in the cell that is drained, and a home elsewhere: it only has to be closed. */
export interface EmptyQueue {
  readonly queue: string;
  readonly to: string;
}

/** What draining a cell would do. */
export interface DrainPlan {
  readonly cell: string;
  /** The queues that would move, or go on moving, each with what speaks against it. */
  readonly moves: readonly MovePlan[];
  readonly empty: readonly EmptyQueue[];
}

/** Options of `drainCell`. */
export interface DrainOptions extends Omit<MoveOptions, "from" | "detach"> {
  /** The cell to move all queues to. Default whichever other cell of the list has the fewest. */
  readonly to?: string;
}

/** Where the queues of a cell that is drained go. */
export interface DrainTargets {
  /** The other cells that get new queues. */
  readonly names: readonly string[];
  /** The cell of `default`, which every cell has: that which processes look for it in. */
  readonly ofDefault: string;
}

/** Say what draining a cell would do, and what speaks against it. Changes nothing. */
export async function planDrain(
  cells: CellEngines,
  cell: string,
  { names, ofDefault }: DrainTargets,
  to?: string,
): Promise<DrainPlan> {
  const queues = new Map<string, number>();
  for (const name of to === undefined ? names : [to]) queues.set(name, (await cells.get(name)!.moves.live()).length);
  const moves: MovePlan[] = [];
  const empty: EmptyQueue[] = [];
  for (const { queue, jobs, movedTo } of await cells.get(cell)!.moves.live()) {
    const [home] = await homesOf(cells, queue, cell);
    const fewest = [...queues].toSorted((a, b) => a[1] - b[1])[0]![0];
    const target = movedTo ?? (queue === "default" ? ofDefault : fewest);
    if (movedTo === null && jobs === 0 && home !== undefined)
      empty.push({ queue, to: queue === "default" ? ofDefault : home });
    else {
      moves.push(await planMove(cells, queue, target, { from: cell }));
      queues.set(target, (queues.get(target) ?? 0) + 1);
    }
  }
  return { cell, moves, empty };
}

/** Refuse what speaks against it, before anything is done. */
export function checkPlan(plan: DrainPlan): void {
  const [first] = plan.moves.flatMap(({ against }) => against);
  if (first) throw refused(first.reason, first.message, first.remedy);
}

/**
 * Move all queues out of a cell. First new jobs of all of them go elsewhere, then what is left of them ends, side by
 * side: one that takes a week keeps no other.
 */
export async function drainCell(
  cells: CellEngines,
  cell: string,
  targets: DrainTargets,
  { to, ...options }: DrainOptions = {},
): Promise<MoveResult[]> {
  const plan = await planDrain(cells, cell, targets, to);
  checkPlan(plan);
  const { moves } = cells.get(cell)!;
  const results: MoveResult[] = [];
  for (const { queue, to: home } of plan.empty) {
    const version = 1 + Math.max(0, ...(await moves.routes()).map((route) => route.version));
    await moves.leave(queue, home, version, undefined, options.by);
    results.push({ queue, from: cell, to: home, untold: [] });
  }
  const begun: BegunMove[] = [];
  for (const { queue, to: home } of plan.moves) {
    const move = await beginMove(cells, queue, home, { ...options, from: cell });
    if (move) begun.push(move);
  }
  await endMoves(cells, begun, options);
  for (let pauseMs = 20; (await moves.live()).some(({ movedTo }) => movedTo !== null); pauseMs *= 1.5) {
    await cells.get(cell)!.maintain(); // the empty ones finish too
    await sleep(Math.min(pauseMs, 1000), undefined, options.signal ? { signal: options.signal } : {});
  }
  return [...results, ...begun.map(({ queue, from, to: home, untold }) => ({ queue, from, to: home, untold }))];
}

/** The other cells that have a queue of this name. */
async function homesOf(cells: CellEngines, queue: string, except: string): Promise<string[]> {
  const homes: string[] = [];
  for (const [name, { moves }] of cells) {
    const here = name === except ? undefined : await moves.queue(queue);
    if (here && here.movedTo === null) homes.push(name);
  }
  return homes;
}
