import { CellError, InvalidArgumentError } from "../db/errors.js";
import { shown } from "../db/check-options.js";
import { checkId } from "../db/encode.js";
import type { JobId } from "../db/types.js";

/** A job among several cells: `a:123`. A cell may answer with the handle of a job in another one. */
export const handleOf = (cell: string, id: JobId): JobId => (id.includes(":") ? id : `${cell}:${id}`);

const pattern = /^([a-z][a-z0-9-]{0,30}):(\d{1,19})$/;

/** The cell and the id that a handle is made of; a plain id has no cell. */
export function splitHandle(handle: JobId): { readonly cell: string | undefined; readonly id: JobId } {
  const [, cell, id] = (typeof handle === "string" && pattern.exec(handle)) || [];
  if (cell !== undefined) return { cell, id: checkId(id!) };
  if (typeof handle === "string" && /^\d+$/.test(handle)) return { cell: undefined, id: checkId(handle) };
  throw new InvalidArgumentError(`${shown(handle)} is not a job of a cell`, 'handles are such as "a:123"');
}

/** The cell that a handle names. */
export const cellOf = (handle: JobId): string | undefined => pattern.exec(handle)?.[1];

const name = /^[a-z][a-z0-9-]{0,30}$/;

export function checkCellName(cell: string): string {
  if (typeof cell === "string" && name.test(cell)) return cell;
  throw new InvalidArgumentError(
    `${shown(cell)} cannot name a cell`,
    "use 1 to 31 lower-case letters, digits and -, beginning with a letter",
  );
}

export function unknownCell(cell: string, known: Iterable<string>): CellError {
  return new CellError(
    `there is no cell "${cell}"`,
    `this process has ${[...known].join(", ")}; add it to the list of cells`,
    undefined,
    "unknown",
    cell,
  );
}
