import type pg from "pg";
import type { Engine } from "../db/engine.js";

/** One schema on one server, and how to get there. */
export interface Cell {
  /** What it is called in the list of cells, and in the handles of its jobs. */
  readonly name: string;
  readonly engine: Engine;
  readonly pool: pg.Pool;
  /** Whether the pool was made here, and is closed here. */
  readonly ownsPool: boolean;
}
