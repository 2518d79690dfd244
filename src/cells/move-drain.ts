import { setTimeout as sleep } from "node:timers/promises";
import type { MoveObstacle } from "../db/move-engine.js";
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
    const homes = await homesOf(cells, queue, cell);
    const home = queue === "default" ? ofDefault : homes[0];
    const fewest = [...queues].toSorted((a, b) => a[1] - b[1])[0]![0];
    const hasLeft = movedTo !== null && !(await arrivesIn(cells, queue, movedTo));
    if (hasLeft) empty.push({ queue, to: movedTo }); // when it was drained before
    else if (movedTo === null && jobs === 0 && home !== undefined && (await hasNothingElse(cells, queue, cell, home)))
      empty.push({ queue, to: home });
    else {
      const target = movedTo ?? home ?? fewest;
      const plan = await planMove(cells, queue, target, { from: cell });
      // those whose dead letters it gets move before it
      moves.push({ ...plan, against: plan.against.filter(({ reason }) => reason !== "deadLetter") });
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
 * side: one that takes a week keeps no other. Only a queue that gets dead letters of others waits until they have
 * ended.
 */
export async function drainCell(
  cells: CellEngines,
  cell: string,
  targets: DrainTargets,
  { to, ...options }: DrainOptions = {},
): Promise<MoveResult[]> {
  const { moves } = cells.get(cell)!;
  const results: MoveResult[] = [];
  for (;;) {
    const plan = await planDrain(cells, cell, targets, to);
    checkPlan(plan);
    const waiting: MoveObstacle[] = [];
    const canGo = async (queue: string): Promise<boolean> => {
      const letters = (await moves.settings(queue)).against.filter(({ reason }) => reason === "deadLetter");
      waiting.push(...letters.slice(0, 1));
      return letters.length === 0;
    };
    let closed = 0;
    for (const { queue, to: home } of plan.empty) {
      if (!(await canGo(queue))) continue;
      const version = 1 + Math.max(0, ...(await moves.routes()).map((route) => route.version));
      await moves.leave(queue, home, version, undefined, options.by);
      results.push({ queue, from: cell, to: home, untold: [] });
      closed += 1;
    }
    const begun: BegunMove[] = [];
    for (const { queue, to: home } of plan.moves) {
      if (!(await canGo(queue))) continue;
      const move = await beginMove(cells, queue, home, { ...options, from: cell });
      if (move) begun.push(move);
    }
    const [first] = waiting;
    if (first && closed + begun.length === 0) throw refused(first.reason, first.message, first.remedy);
    await endMoves(cells, begun, options);
    results.push(...begun.map(({ queue, from, to: home, untold }) => ({ queue, from, to: home, untold })));
    for (let pauseMs = 20; (await moves.live()).some(({ movedTo }) => movedTo !== null); pauseMs *= 1.5) {
      await cells.get(cell)!.maintain(); // the empty ones finish too
      await sleep(Math.min(pauseMs, 1000), undefined, options.signal ? { signal: options.signal } : {});
    }
    if (!first) return results;
  }
}

async function arrivesIn(cells: CellEngines, queue: string, cell: string): Promise<boolean> {
  const list = (await cells.get(cell)?.moves.list()) ?? [];
  return list.some((move) => move.queue === queue && move.direction === "arriving");
}

/** Whether all that is set for a queue in a cell is so in its home too, so that nothing is lost with it. */
async function hasNothingElse(cells: CellEngines, queue: string, cell: string, home: string): Promise<boolean> {
  const { moves } = cells.get(cell)!;
  const here = await moves.settings(queue);
  if (here.schedules.length > 0 || (await moves.hasFingerprints(queue))) return false;
  const there = await cells.get(home)!.moves.settings(queue);
  const isSame = (key: "options" | "groups"): boolean =>
    Object.keys(here[key]).length === 0 || JSON.stringify(here[key]) === JSON.stringify(there[key]);
  return isSame("options") && isSame("groups");
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
