import type pg from "pg";
import { CellsEngine } from "../cells/cells-engine.js";
import type { Millrace } from "../client/millrace.js";
import type { Engine } from "../db/engine.js";

/** A cell that is served, by itself; the only one has no name. */
export interface ServedCell {
  readonly name: string | undefined;
  readonly engine: Engine;
}

/** The cells of a client. */
export async function servedCells({ engine, cells }: Pick<Millrace, "engine" | "cells">): Promise<ServedCell[]> {
  if (!cells) return [{ name: undefined, engine }];
  return Promise.all((await cells.names()).map(async (name) => ({ name, engine: await cells.engine(name) })));
}

/** The pools of a client, as far as they are known before anything was asked. */
export function poolsOf({ engine }: Pick<Millrace, "engine">): readonly pg.Pool[] {
  return engine instanceof CellsEngine ? engine.router.opened.map(({ pool }) => pool) : [engine.pool as pg.Pool];
}
