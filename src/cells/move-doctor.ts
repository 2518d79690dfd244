import type { Engine } from "../db/engine.js";
import type { CellLook } from "../db/types.js";
import { Members, newestOf } from "./members.js";
import type { CellEngines } from "./move.js";

/** Something that was found in the cells. */
export interface CellFinding {
  readonly cell: string;
  readonly state: "fine" | "look" | "wrong";
  readonly message: string;
  readonly remedy?: string;
}

/** What is wrong with several cells together: one that cannot be used, a move that nobody goes on with, routes. */
export async function examineCells(cells: CellEngines): Promise<CellFinding[]> {
  const findings: CellFinding[] = [];
  const sound = new Map<string, Engine>();
  for (const [cell, engine] of cells) {
    try {
      await engine.check();
      sound.set(cell, engine);
      findings.push({ cell, state: "fine", message: "can be used" });
    } catch (error) {
      const { message, remedy } = error as Error & { remedy?: string };
      findings.push({ cell, state: "wrong", message, ...(remedy === undefined ? {} : { remedy }) });
    }
  }
  const looks = new Map<string, CellLook>();
  for (const [cell, engine] of sound) looks.set(cell, await engine.cellLook());
  const members = new Members(newestOf(looks)?.members ?? []);
  findings.push(...examineList(cells, looks, members), ...(await examineMoves(sound)));
  findings.push(...(await examineRoutes(sound)), ...(await examineGone(sound, cells, members)));
  return findings;
}

/** Names that are not those of the cells, and changes of the list that not all cells know. */
function examineList(cells: CellEngines, looks: ReadonlyMap<string, CellLook>, members: Members): CellFinding[] {
  const findings: CellFinding[] = [];
  const byId = new Map<string, string>();
  for (const [cell, { id, name }] of looks) {
    const other = byId.get(id);
    const message =
      other !== undefined
        ? `is the same as "${other}"`
        : name !== null && name !== cell
          ? `is called "${name}" by others`
          : undefined;
    byId.set(id, cell);
    if (message) findings.push({ cell, state: "wrong", message, remedy: "give every process the same list of cells" });
  }
  for (const cell of members.named) {
    const state = members.stateOf(cell);
    if (state === "joining" || state === "leaving")
      findings.push({
        cell,
        state: "look",
        message: `is ${state}: a change of the list was broken off, and some new queues are refused`,
        remedy: `millrace cells ${state === "joining" ? "add" : "drain"} ${cell}`,
      });
    if (!cells.has(cell) && state !== "removed")
      findings.push({ cell, state: "wrong", message: "is in the list, and was not named", remedy: "name it too" });
  }
  return findings;
}

/** Routes to cells that nobody can go to. */
async function examineGone(sound: CellEngines, cells: CellEngines, members: Members): Promise<CellFinding[]> {
  const gone = new Map<string, string>();
  for (const [key, { cell }] of await newestRoutes(sound))
    if (!cells.has(cell) || members.stateOf(cell) === "removed") gone.set(key, cell);
  return [...gone].map(([queue, cell]) => ({
    cell,
    state: "wrong" as const,
    message: `queue "${queue}" is routed to it, and it is gone`,
    remedy: `name "${cell}" again, and move the queue out of it`,
  }));
}

async function examineMoves(cells: CellEngines): Promise<CellFinding[]> {
  const findings: CellFinding[] = [];
  for (const [cell, { moves }] of cells) {
    for (const move of await moves.list()) {
      if (move.direction !== "arriving") continue;
      const remedy = `millrace cells move ${move.queue} ${cell}`;
      const old = (await cells.get(move.cell)?.moves.list())?.find(({ queue }) => queue === move.queue);
      const message = !cells.has(move.cell)
        ? `queue "${move.queue}" moves here from "${move.cell}", which cannot be asked`
        : !old
          ? `queue "${move.queue}" was to move here from "${move.cell}", and has not left it`
          : old.drainedAt
            ? `queue "${move.queue}" has ended in "${move.cell}", and was not told so`
            : `queue "${move.queue}" moves here from "${move.cell}": ${old.live} jobs are left there`;
      findings.push({ cell, state: "look", message, remedy });
    }
  }
  return findings;
}

/** Where each queue is that has moved: the highest version of a route holds. */
async function newestRoutes(
  cells: CellEngines,
): Promise<Map<string, { readonly cell: string; readonly version: number }>> {
  const newest = new Map<string, { readonly cell: string; readonly version: number }>();
  for (const { moves } of cells.values())
    for (const route of await moves.routes())
      if (route.version > (newest.get(route.key)?.version ?? -1)) newest.set(route.key, route);
  return newest;
}

/** A cell that has an older one sends its clients the long way round. */
async function examineRoutes(cells: CellEngines): Promise<CellFinding[]> {
  const newest = await newestRoutes(cells);
  const known = new Map<string, ReadonlyMap<string, number>>();
  for (const [cell, { moves }] of cells)
    known.set(cell, new Map((await moves.routes()).map(({ key, version }) => [key, version])));
  return [...known].flatMap(([cell, versions]) => {
    const older = [...newest].filter(([key, { version }]) => (versions.get(key) ?? -1) < version);
    const [first] = older;
    return first
      ? [
          {
            cell,
            state: "look" as const,
            message: `does not know ${older.length} routes, among them that "${first[0]}" lives in "${first[1].cell}"`,
            remedy: "millrace cells doctor --fix",
          },
        ]
      : [];
  });
}

/** Copy the newest of each route to all cells. */
export async function copyRoutes(cells: CellEngines): Promise<void> {
  for (const { moves } of cells.values())
    for (const { key, cell, version } of await moves.routes())
      for (const other of cells.values()) await other.moves.routePut(key, cell, version);
}
