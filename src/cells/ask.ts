import { AsyncLocalStorage } from "node:async_hooks";
import {
  DatabaseUnavailableError,
  JobNotFoundError,
  type MillraceError,
  QueueNotFoundError,
  ScheduleNotFoundError,
  TimeoutError,
} from "../db/errors.js";
import type { MissingCell } from "../db/types.js";
import type { Cell } from "./cell.js";
import { unknownCell } from "./handle.js";

/** What was found, and the cells that could not be asked. */
export interface PartialAnswer<T> {
  readonly answer: T;
  readonly missing: readonly MissingCell[];
}

/** How the questions of one piece of work are asked. */
interface Asking {
  /** Cells that have not answered; without it, one that does not answer fails all. */
  readonly missing?: Map<string, string>;
  /** What is asked of all cells is asked of this one. */
  readonly only?: string;
  /** No cell has longer, where one that does not answer fails what it was asked. */
  readonly withinMs?: number;
}

const asking = new AsyncLocalStorage<Asking>();

/** How long a cell may take where others need not wait for it. */
export const patienceMs = 1500;
/** How long it may take to do something there, meanwhile. */
export const actMs = 5000;
/** A look that ends by itself ends in time to be answered. */
const lookSeconds = 1;

/**
 * Do something with the cells that answer within a time limit, and tell which did not. Elsewhere a cell that does not
 * answer fails the whole call.
 */
export async function partial<T>(work: () => Promise<T>): Promise<PartialAnswer<T>> {
  const missing = new Map<string, string>();
  const answer = await asking.run({ ...asking.getStore(), missing }, work).catch((error: unknown) => {
    const [because] = missing.values();
    // it may be in a cell that was not asked
    throw because !== undefined && isNotFound(error) ? new DatabaseUnavailableError(because, error) : error;
  });
  return { answer, missing: [...missing].map(([cell, because]) => ({ cell, because })) };
}

const isNotFound = (error: unknown): boolean =>
  error instanceof QueueNotFoundError || error instanceof JobNotFoundError || error instanceof ScheduleNotFoundError;

/** Do something in which questions to all cells are asked of one. */
export function narrowed<T>(only: string | undefined, work: () => Promise<T>): Promise<T> {
  return only === undefined ? work() : asking.run({ ...asking.getStore(), only }, work);
}

/** Do something in which each cell is waited for this long. */
export function atMost<T>(withinMs: number, work: () => Promise<T>): Promise<T> {
  return asking.run({ ...asking.getStore(), withinMs }, work);
}

/** What could not be asked is missing in the answer: named where `partial` is, else that is a failure. */
export function leaveOut(missing: readonly MissingCell[]): void {
  const outer = asking.getStore()?.missing;
  if (!outer && missing[0]) throw new DatabaseUnavailableError(missing[0].because);
  for (const { cell, because } of missing) outer?.set(cell, because);
}

/** Whether those that do not answer are left out. */
export const isPartial = (): boolean => asking.getStore()?.missing !== undefined;

/** How long a look for jobs may go on, where there is a limit. */
export const lookLimit = (): { readonly seconds?: number } => (isPartial() ? { seconds: lookSeconds } : {});

/** Ask one cell; an error of the connection names it. Inside of `partial` it has no longer than any other. */
export async function askOne<T>(cell: Cell, ask: (cell: Cell) => Promise<T>): Promise<T> {
  const { missing, withinMs } = asking.getStore() ?? {};
  const late = missing?.get(cell.name);
  if (late !== undefined) throw new DatabaseUnavailableError(late);
  try {
    const ms = missing ? patienceMs : withinMs;
    return await (ms === undefined ? ask(cell) : within(ms, cell, ask(cell)));
  } catch (error) {
    const named = naming(cell, error);
    if (isAway(named)) missing?.set(cell.name, named.message);
    throw named;
  }
}

/** It does not answer, or its connections are all taken by questions that it does not answer. */
export const isAway = (error: unknown): error is Error => error instanceof DatabaseUnavailableError;

function naming(cell: Cell, error: unknown): unknown {
  const prefix = `cell "${cell.name}": `;
  if (!(error instanceof DatabaseUnavailableError) || error.message.startsWith(prefix)) return error;
  return new DatabaseUnavailableError(`${prefix}${messageOf(error)}`, error, error.remedy);
}

/** What an error says, without what is to be done. */
export const messageOf = ({ message, remedy }: MillraceError): string =>
  remedy && message.endsWith(` (${remedy})`) ? message.slice(0, -remedy.length - 3) : message;

/** Those of all cells that are meant: all, unless `narrowed` says otherwise. */
export function chosen(cells: readonly Cell[]): readonly Cell[] {
  const only = asking.getStore()?.only;
  if (only === undefined) return cells;
  const found = cells.filter(({ name }) => name === only);
  const names = cells.map(({ name }) => name);
  if (found.length === 0 && cells.length > 0) throw unknownCell(only, names);
  return found;
}

/** Ask all at once, or the one that is meant. */
export async function askAll<T>(
  cells: readonly Cell[],
  ask: (cell: Cell) => Promise<T>,
): Promise<{ readonly cell: Cell; readonly answer: T }[]> {
  return askEach(chosen(cells), ask);
}

/** Ask these at once. One that fails fails all, but inside `partial`, where it is left out and named. */
export async function askEach<T>(
  asked: readonly Cell[],
  ask: (cell: Cell) => Promise<T>,
): Promise<{ readonly cell: Cell; readonly answer: T }[]> {
  const missing = asking.getStore()?.missing;
  const answers = await Promise.all(
    asked.map(async (cell) => {
      try {
        return { cell, answer: await askOne(cell, ask) };
      } catch (error) {
        if (!missing || !isAway(error)) throw error;
        return undefined;
      }
    }),
  );
  const answered = answers.filter((one) => one !== undefined);
  if (answered.length === 0 && asked.length > 0)
    throw new DatabaseUnavailableError([...(missing?.values() ?? [])].join("; ") || "no cell answers");
  return answered;
}

/** Wait so long for a cell, and no longer. */
export function within<T>(ms: number, { name }: Pick<Cell, "name">, work: Promise<T>): Promise<T> {
  work.catch(() => {}); // it may fail later, when nobody waits any more
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () =>
        reject(
          new DatabaseUnavailableError(
            `cell "${name}": it has not answered within ${ms} ms`,
            new TimeoutError(`no answer within ${ms} ms`),
            "look at that server",
          ),
        ),
      ms,
    );
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/**
 * Have a cell hand something out beside others, whose leases run meanwhile: it is not waited for when it hangs. What
 * comes when `isLate` goes back.
 */
export async function handOut<T>(cell: Cell, claim: (isLate: () => boolean) => Promise<T>): Promise<T> {
  let isLate = false;
  return within(
    actMs,
    cell,
    claim(() => isLate),
  ).catch((error: unknown) => {
    isLate = true;
    throw error;
  });
}
