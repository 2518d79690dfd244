import type { Engine } from "../db/engine.js";
import type { MoveObstacle } from "../db/move-engine.js";
import type { Members } from "./members.js";
import { copyRoutes } from "./move-doctor.js";
import type { CellEngines } from "./move.js";

/** What removing a cell would leave behind, and what speaks against it. */
export interface RemovePlan {
  readonly cell: string;
  /** Failed jobs in it that nobody has decided on: they cannot be retried when the cell is gone. */
  readonly failed: number;
  /** What speaks against it. It is refused while there is anything. */
  readonly against: readonly MoveObstacle[];
}

/** Say whether a cell can be removed: nothing may come to life in it any more, and nobody may still look for it. */
export async function planRemove(cells: CellEngines, cell: string, members: Members): Promise<RemovePlan> {
  const engine = cells.get(cell)!;
  const against: MoveObstacle[] = [];
  if (["member", "joining", "leaving"].includes(members.stateOf(cell)))
    against.push({
      reason: "member",
      message: `the cell "${cell}" still gets new queues`,
      remedy: `drain it first: millrace cells drain ${cell}`,
    });
  against.push(...(await aliveIn(cells, cell)));
  for (const [name, { moves }] of cells)
    for (const move of await moves.list())
      if (move.direction === "arriving" && move.cell === cell)
        against.push({
          reason: "moving",
          message: `queue "${move.queue}" has not arrived in "${name}" yet`,
          remedy: `end its move first: millrace cells move ${move.queue} ${name}`,
        });
  const failed = (await engine.failures()).reduce((sum, { jobs }) => sum + jobs, 0);
  return { cell, failed, against };
}

/** What may still come to life in a cell: queues that have not finished there, and schedules. */
export async function aliveIn(cells: CellEngines, cell: string): Promise<MoveObstacle[]> {
  const { moves, schedules } = cells.get(cell)!;
  const left = await moves.live();
  const [first] = left.toSorted((a, b) => b.jobs - a.jobs);
  if (!first) {
    const open = await schedulesOf(schedules);
    if (open.length === 0) return [];
    return [
      {
        reason: "live",
        message: `the cell "${cell}" has schedules that have not finished: "${open[0]}"${open.length === 1 ? "" : ` and ${open.length - 1} more`}`,
        remedy: "put them where their queues are, and remove them here (mill.cells.engine)",
      },
    ];
  }
  const queues = left.length === 1 ? "a queue that has" : `${left.length} queues that have`;
  return [
    {
      reason: "live",
      message: `the cell "${cell}" has ${queues} not finished: "${first.queue}", with ${first.jobs} jobs`,
      remedy: `drain it first: millrace cells drain ${cell}`,
    },
  ];
}

async function schedulesOf(schedules: Engine["schedules"]): Promise<string[]> {
  const open: string[] = [];
  for (let after: string | undefined; ;) {
    const page = await schedules.list({ limit: 1000, ...(after === undefined ? {} : { after }) });
    open.push(...page.filter(({ finishedAt }) => finishedAt === null).map(({ name }) => name));
    if (page.length < 1000) return open;
    after = page.at(-1)!.name;
  }
}

/** Tell all cells what only this one knows: where queues are that it has placed, and where queues have gone. */
export async function handOnPlaces(cells: CellEngines, cell: string): Promise<void> {
  await copyRoutes(cells);
  for (const place of await cells.get(cell)!.moves.places())
    for (const [name, { moves }] of cells) if (name !== cell) await moves.routePut(place.queue, place.cell, 0);
}
