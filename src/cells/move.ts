import { setTimeout as sleep } from "node:timers/promises";
import type { Engine } from "../db/engine.js";
import { MillraceError, MoveRefusedError, QueueNotFoundError } from "../db/errors.js";
import type { MoveObstacle, QueueMove, QueueSettings } from "../db/move-engine.js";

/** The cells that are known, by their names. */
export type CellEngines = ReadonlyMap<string, Engine>;

/** How far a move has come. */
export interface MoveProgress {
  readonly queue: string;
  readonly from: string;
  readonly to: string;
  /**
   * `ready`: the new cell is ready. `left`: new jobs go there. `draining`: jobs of the old cell go on. `filling`: none
   * is left, and a rate has to fill up. `done`.
   */
  readonly step: "ready" | "left" | "draining" | "filling" | "done";
  /** Jobs that have not ended in the old cell. */
  readonly live: number;
  /** Schedules that are still in the old cell, because a run of theirs goes on. */
  readonly schedules: number;
}

/** What a move would do. */
export interface MovePlan {
  readonly queue: string;
  readonly from: string;
  readonly to: string;
  /** It has begun already, and would go on. */
  readonly begun: boolean;
  /** Nothing is handed out in the new cell until all has ended in the old one: the queue has an order, or a limit. */
  readonly held: boolean;
  /** Jobs that have not ended in the old cell. */
  readonly live: number;
  /** When the last of those is due that wait for their time; the move lasts at least until then. */
  readonly latestDueAt: string | null;
  readonly schedules: readonly string[];
  /** What speaks against it. It is refused while there is anything. */
  readonly against: readonly MoveObstacle[];
}

/** What a move has done. */
export interface MoveResult {
  readonly queue: string;
  readonly from: string;
  readonly to: string;
  /** Cells that could not be told of the new route. Clients that ask there are sent on by the old cell. */
  readonly untold: readonly string[];
}

/** Options of `moveQueue`. */
export interface MoveOptions {
  /** The cell that the queue lives in. Default the one that has it; needed when several have one of this name. */
  readonly from?: string;
  /** Who moves it. */
  readonly by?: string;
  /** Whether to come back as soon as new jobs go to the new cell; call it again to go on. Default false. */
  readonly detach?: boolean;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: MoveProgress) => void;
}

interface Way {
  readonly from: string;
  readonly version: number;
  /** The move as the new cell knows it, when the queue has left the old one. */
  readonly arriving: QueueMove | undefined;
}

/** Say what a move would do, and what speaks against it. Changes nothing. */
export async function planMove(
  cells: CellEngines,
  queue: string,
  to: string,
  options: Pick<MoveOptions, "from"> = {},
): Promise<MovePlan> {
  const way = await findWay(cells, queue, to, options.from);
  if (way === undefined) throw refused("cell", `queue "${queue}" lives in the cell "${to}" already`, "nothing to do");
  const settings = await cells.get(way.from)!.moves.settings(queue);
  const against =
    way.arriving || settings.against.length > 0 ? settings.against : await rehearse(cells, queue, to, way, settings);
  return {
    queue,
    from: way.from,
    to,
    begun: way.arriving !== undefined,
    held: settings.limited,
    live: settings.live,
    latestDueAt: settings.latestDueAt,
    schedules: settings.schedules,
    against,
  };
}

/** A move that has begun: new jobs go to the new cell. */
export interface BegunMove extends MoveResult {
  /** How long the rates of the old cell take to fill up. */
  readonly fillSeconds: number;
}

/**
 * Move a queue to another cell, while producers and workers go on. Nothing is copied: what is in the old cell ends
 * there. All it needs to know is in the databases, so a move that was broken off goes on when it is called again, by
 * anybody.
 */
export async function moveQueue(
  cells: CellEngines,
  queue: string,
  to: string,
  options: MoveOptions = {},
): Promise<MoveResult> {
  const move = await beginMove(cells, queue, to, options);
  if (move === undefined) return { queue, from: to, to, untold: [] };
  if (!options.detach) await endMoves(cells, [move], options);
  const { from, untold } = move;
  return { queue, from, to, untold };
}

/** Send new jobs of a queue to another cell; nothing when all of it is there. */
export async function beginMove(
  cells: CellEngines,
  queue: string,
  to: string,
  options: MoveOptions = {},
): Promise<BegunMove | undefined> {
  const way = await findWay(cells, queue, to, options.from);
  if (way === undefined) return undefined;
  const { from, version } = way;
  const [old, next] = [cells.get(from)!.moves, cells.get(to)!.moves];
  let settings = await old.settings(queue);
  const progress = (step: MoveProgress["step"]): void =>
    options.onProgress?.({ queue, from, to, step, live: settings.live, schedules: settings.schedules.length });

  // what is set for the queue may change until it has left: the new cell is told again then
  for (let hasLeft = way.arriving !== undefined, tries = 1; !hasLeft; tries += 1) {
    if (tries > 1) settings = await old.settings(queue);
    const [first] = settings.against;
    if (first) throw refused(first.reason, first.message, first.remedy);
    const move = { from, here: to, version, settings: settings.text, hold: settings.limited, by: options.by };
    await next.arrive(queue, move);
    progress("ready");
    hasLeft = await old.leave(queue, to, version, settings.text, options.by);
    if (!hasLeft && tries === mostTries)
      throw refused(
        "moving",
        `what is set for queue "${queue}" changes again and again`,
        "move it when that has ended",
      );
  }
  await next.admit(queue, version);
  const untold: string[] = [];
  for (const [name, engine] of cells)
    if (name !== from) await engine.moves.routePut(queue, to, version).catch(() => untold.push(name));
  progress("left");
  return { queue, from, to, untold, fillSeconds: settings.fillSeconds };
}

/** Wait until all has ended in the old cell of each queue, however long any of them takes. */
export async function endMoves(
  cells: CellEngines,
  moves: readonly BegunMove[],
  options: Pick<MoveOptions, "signal" | "onProgress"> = {},
): Promise<void> {
  let left = moves;
  for (let pauseMs = 20; ; pauseMs = Math.min(pauseMs * 1.5, 1000)) {
    // upkeep proves that all has ended
    for (const from of new Set(left.map((move) => move.from))) await cells.get(from)!.maintain();
    const waits = await Promise.all(left.map((move) => lookAt(cells, move, options.onProgress)));
    left = left.filter((_, i) => waits[i]! > 0);
    if (left.length === 0) return;
    const soonest = Math.min(...waits.filter((ms) => ms > 0));
    await sleep(Math.min(pauseMs, soonest), undefined, options.signal ? { signal: options.signal } : {});
  }
}

/** Go on with a move as far as it can. Returns after how many milliseconds to look again; 0 when it is done. */
async function lookAt(
  cells: CellEngines,
  { queue, from, to, fillSeconds }: BegunMove,
  onProgress: MoveOptions["onProgress"],
): Promise<number> {
  const [old, next] = [cells.get(from)!.moves, cells.get(to)!.moves];
  const schedules = await old.bringSchedules(queue, next);
  const leaving = (await old.list()).find((move) => move.queue === queue && move.direction === "leaving");
  if (!leaving) throw refused("moving", `queue "${queue}" has moved on from "${from}" meanwhile`, "look again");
  const fill = Math.max(fillSeconds, (await next.settings(queue)).fillSeconds);
  const missing = leaving.drainedSeconds === null ? Infinity : fill - leaving.drainedSeconds;
  const isDone = missing <= 0 && schedules === 0;
  if (isDone) {
    await old.bringFingerprints(queue, next);
    await next.arrived(queue);
  }
  const step = isDone ? "done" : leaving.drainedAt ? "filling" : "draining";
  onProgress?.({ queue, from, to, step, live: isDone ? 0 : leaving.live, schedules: isDone ? 0 : schedules });
  return isDone ? 0 : Math.max(missing * 1000, 5);
}

const mostTries = 20;

/** Where a queue comes from, and with which version; nothing when it lives there already, and all of it. */
async function findWay(
  cells: CellEngines,
  queue: string,
  to: string,
  wanted: string | undefined,
): Promise<Way | undefined> {
  for (const name of [to, ...(wanted === undefined ? [] : [wanted])])
    if (!cells.has(name))
      throw refused("cell", `there is no cell "${name}"`, `use one of ${[...cells.keys()].join(", ")}`);
  const arriving = (await cells.get(to)!.moves.list()).find(
    (move) => move.queue === queue && move.direction === "arriving",
  );
  if (arriving) {
    if (!cells.has(arriving.cell))
      throw refused("cell", `queue "${queue}" moves from "${arriving.cell}", which is not known`, "name that cell too");
    // else it was broken off before, and the queue may be elsewhere by now
    if ((await cells.get(arriving.cell)!.moves.queue(queue))?.movedTo === to)
      return { from: arriving.cell, version: arriving.version, arriving };
  }
  const routes = new Map<string, number>();
  const homes: string[] = [];
  for (const [name, engine] of cells) {
    const { moves } = engine;
    const here = await moves.queue(queue);
    if (here?.isSpread)
      throw refused(
        "spread",
        `queue "${queue}" is spread over cells by tenant`,
        "leave it where it is; one that is no longer wanted can be closed",
      );
    // one that is to move here, and has not left the other cell yet, is there
    if (here && here.movedTo === null && ((await engine.queueHome(queue)) ?? name) === name) homes.push(name);
    for (const route of await moves.routes()) if (route.key === queue) routes.set(route.cell, route.version);
  }
  const version = Math.max(0, ...routes.values()) + 1;
  const routed = [...routes].toSorted((a, b) => b[1] - a[1])[0]?.[0];
  const others = homes.filter((name) => name !== to);
  const from = wanted ?? (others.length > 1 && routed !== undefined ? routed : others[0]);
  if (homes.length === 0) throw new QueueNotFoundError(`there is no queue "${queue}" in any cell`);
  if (from === undefined || from === to) return undefined;
  if (wanted === undefined && others.length > 1 && routed === undefined)
    throw refused("cell", `several cells have a queue "${queue}": ${others.join(", ")}`, "say from which one it moves");
  if (!homes.includes(from)) throw refused("cell", `queue "${queue}" does not live in "${from}"`, "look where it is");
  return { from, version, arriving: undefined };
}

/** What the new cell says to the arrival: it is done, and taken back. */
async function rehearse(
  cells: CellEngines,
  queue: string,
  to: string,
  { from, version }: Way,
  settings: QueueSettings,
): Promise<MoveObstacle[]> {
  const takenBack = new Error("taken back");
  try {
    await cells.get(to)!.transaction(async (tx) => {
      const move = { from, here: to, version, settings: settings.text, hold: settings.limited };
      await cells.get(to)!.moves.arrive(queue, move, { tx: tx as never });
      throw takenBack;
    });
  } catch (error) {
    if (error === takenBack) return [];
    if (error instanceof MoveRefusedError || (error instanceof MillraceError && error.code === "MR001"))
      return [
        {
          reason: error instanceof MoveRefusedError ? error.reason : "settings",
          message: error.message,
          remedy: error.remedy ?? "",
        },
      ];
    throw error;
  }
  return [];
}

/** Why something cannot be, as the database says it. */
export function refused(reason: string, message: string, remedy: string): MoveRefusedError {
  return new MoveRefusedError(message, remedy, { detail: JSON.stringify({ reason }) });
}
