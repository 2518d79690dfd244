import { CellError } from "../db/errors.js";
import { type CallOptions, asQueryable } from "../db/foreign.js";
import { runQuery } from "../db/queryable.js";
import type { PurgeStep, PurgeStepped } from "../db/types.js";
import { askOne } from "./ask.js";
import type { Cell } from "./cell.js";
import { CellsTransaction } from "./transaction.js";
import type { Ways } from "./ways.js";

const changeTries = 3;

/** How a change is made in each cell of a spread queue. */
export interface Change<R> {
  readonly ask: (cell: Cell, call: CallOptions | undefined) => Promise<R>;
  /** Whether an error says that a cell has made this change before: one that was broken off is done again. */
  readonly isMade?: (error: unknown) => boolean;
  /** It makes the queue where there is none. */
  readonly makes?: true;
}

/** The list of cells that a change began with is an older one. */
class ListChanged extends Error {}

/**
 * Change what is set for a spread queue in all of its cells, in a transaction in each: they are committed one after
 * another, so what is refused by one is changed in none. Changes of one queue follow each other.
 */
export async function changeSpread<R>(
  ways: Ways,
  queue: string,
  call: CallOptions | undefined,
  change: Change<R>,
): Promise<{ readonly cell: Cell; readonly answer: R }[]> {
  const given = call?.tx;
  if (given instanceof CellsTransaction) return changeIn(ways, queue, call, change);
  if (given !== undefined)
    throw new CellError(
      `queue "${queue}" is spread over several cells`,
      "a transaction is one of one cell: change the queue without tx",
      undefined,
      "across",
    );
  for (let tries = 1; ; tries += 1) {
    const tx = new CellsTransaction(async () => {});
    try {
      const answers = await changeIn(ways, queue, { ...call, tx }, change);
      await tx.end();
      return answers;
    } catch (error) {
      await tx.end(error ?? new Error("taken back"));
      if (!(error instanceof ListChanged)) throw error;
      if (tries === changeTries)
        throw new CellError("the list of cells does not come to rest", "try again", error, "joining");
    }
  }
}

async function changeIn<R>(
  ways: Ways,
  queue: string,
  call: CallOptions | undefined,
  { ask, isMade, makes }: Change<R>,
): Promise<{ readonly cell: Cell; readonly answer: R }[]> {
  const { router } = ways;
  const members = await router.members();
  const home = router.cell(members.homesOf(queue)[0]!);
  const version = await ways.to(home, call, (at, own) => at.engine.spreadLock(queue, own!));
  if (version !== members.version) {
    router.forgetMembers();
    throw new ListChanged();
  }
  const cells = [home];
  for (const name of members.named) {
    const state = members.stateOf(name);
    if (state === "removed" || name === home.name) continue;
    const cell = router.cell(name);
    // one that joins may not have it yet, and is told when it gets the queue; one that is out may have it still
    const getsIt = state === "member" || (state === "joining" && makes);
    if (getsIt || (await askOne(cell, () => cell.engine.queueHome(queue))) !== null) cells.push(cell);
  }
  const answers: { readonly cell: Cell; readonly answer: R }[] = [];
  let made: unknown;
  for (const cell of cells)
    await ways.to(cell, call, async (at, own) => {
      const tx = asQueryable(own!.tx!);
      if (isMade) await runQuery(tx, "savepoint before_change", []);
      try {
        answers.push({ cell, answer: await ask(at, own) });
      } catch (error) {
        if (!isMade?.(error)) throw error;
        await runQuery(tx, "rollback to savepoint before_change", []);
        made = error;
      }
    });
  if (answers.length === 0) throw made;
  return answers;
}

/** A step of purging a spread queue: its cells in turn, each from its own beginning. */
export async function purgeSpread(
  ways: Ways,
  queue: string,
  { after, ...from }: PurgeStep,
  call: CallOptions | undefined,
): Promise<PurgeStepped> {
  const cells = (await ways.router.spreadCells()).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const [name, lane] = after?.split(":") ?? [];
  const cell = name === undefined ? cells[0]! : ways.router.cell(name);
  const { jobs, next } = await ways.to(cell, call, (at, own) =>
    at.engine.queuePurgeStep(queue, { ...from, ...(lane ? { after: lane } : {}) }, own),
  );
  if (next) return { jobs, next: { ...next, after: `${cell.name}:${next.after ?? ""}` } };
  const following = cells[cells.indexOf(cell) + 1];
  return { jobs, next: following ? { after: `${following.name}:` } : null };
}
