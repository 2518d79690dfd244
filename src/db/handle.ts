import type { JobId } from "./types.js";

/** A job as everybody sees it who may have several cells: `a:123` where its cell has a name among others. */
export const handleIn = (cell: string | undefined, id: JobId): JobId => (cell === undefined ? id : `${cell}:${id}`);

/** The id of a job in its own cell, of what `handleIn` made. */
export const idIn = (cell: string | undefined, handle: JobId): JobId =>
  cell === undefined ? handle : handle.slice(cell.length + 1);
