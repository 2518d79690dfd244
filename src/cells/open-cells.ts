import type pg from "pg";
import { checkObject } from "../db/check-options.js";
import { Engine } from "../db/engine.js";
import { CellError, InvalidArgumentError } from "../db/errors.js";
import { isPool, newPool } from "../db/pool.js";
import type { Cell } from "./cell.js";
import { checkCellName } from "./handle.js";

/** How to get to each cell, by its name: as `connection` of one. */
export type CellConnections = Readonly<Record<string, string | pg.PoolConfig | pg.Pool>>;

/** Pools for cells. Nothing is sent. What is wrong with the list is told before. */
export function openCells(
  connections: CellConnections,
  options: {
    readonly schema?: string | undefined;
    readonly prepare?: boolean | undefined;
    readonly pool?: pg.PoolConfig;
  } = {},
): Map<string, Cell> {
  checkCells(connections);
  const names = Object.keys(connections);
  return new Map(
    names.map((name) => {
      const connection = connections[name]!;
      const pool = isPool(connection)
        ? connection
        : newPool({
            ...options.pool,
            ...(typeof connection === "string" ? { connectionString: connection } : connection),
          });
      const engine = new Engine({
        pool,
        cell: names.length === 1 ? undefined : name,
        ...(options.schema === undefined ? {} : { schema: options.schema }),
        ...(options.prepare === undefined ? {} : { prepare: options.prepare }),
      });
      return [name, { name, engine, pool, ownsPool: !isPool(connection) }];
    }),
  );
}

/** Refuse a list that is no list of cells. */
export function checkCells(connections: CellConnections): void {
  checkObject(connections, "cells");
  const names = Object.keys(connections);
  if (names.length === 0) throw new InvalidArgumentError("cells is empty", "give at least one: { a: url }");
  names.forEach(checkCellName);
  checkDistinct(connections);
}

function checkDistinct(connections: CellConnections): void {
  const seen = new Map<unknown, string>();
  for (const [name, connection] of Object.entries(connections)) {
    const address = isPool(connection) ? connection : JSON.stringify(connection);
    const other = seen.get(address);
    if (other !== undefined)
      throw new CellError(
        `the cells "${other}" and "${name}" have one address`,
        "give each cell a database or a schema of its own",
        undefined,
        "same",
        name,
      );
    seen.set(address, name);
  }
}
