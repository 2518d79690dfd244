import { narrowed, partial } from "../../cells/ask.js";
import { InvalidArgumentError } from "../../db/errors.js";
import type { MissingCell } from "../../db/types.js";
import type { Mill, Route } from "./route.js";

/** Ask one cell of several, where somebody says which. */
export async function inCellOf<T>(
  mill: Pick<Mill, "cells">,
  cell: string | undefined,
  ask: () => Promise<T>,
): Promise<T> {
  if (cell !== undefined && !mill.cells)
    throw new InvalidArgumentError("there is one cell here, and it has no name", "leave `cell` out");
  return narrowed(cell, ask);
}

/**
 * Over several cells, whoever looks does not wait for one that does not answer: it is left out, and named in the answer
 * if that is about all. What is to be done is done in all, or fails.
 */
export async function overCells(
  route: Pick<Route, "method" | "cells">,
  mill: Pick<Mill, "cells">,
  cell: string | undefined,
  work: () => Promise<unknown>,
): Promise<unknown> {
  if (!mill.cells || !(route.method === "GET" || route.cells === "named")) return inCellOf(mill, cell, work);
  const { answer, missing } = await partial(() => inCellOf(mill, cell, work));
  return route.cells === undefined || missing.length === 0 ? answer : named(answer as object, missing);
}

const named = (answer: object, missing: readonly MissingCell[]): object => ({ ...answer, missing });
