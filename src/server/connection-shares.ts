import type pg from "pg";
import type { ConnectionPool } from "../db/queryable.js";
import { Shares } from "./http/shares.js";
import { sharedPool } from "./shared-pool.js";

/** The connections of each pool, for all who ask: there is one pool for each cell. */
export class ConnectionShares {
  readonly #shares = new Map<ConnectionPool, Shares>();

  of(pool: ConnectionPool): Shares {
    let shares = this.#shares.get(pool);
    if (!shares) this.#shares.set(pool, (shares = new Shares("connections", (pool as pg.Pool).options.max)));
    return shares;
  }

  /** A pool of which somebody uses no more than their share. */
  poolFor(pool: ConnectionPool, who: string): ConnectionPool {
    return sharedPool(pool, this.of(pool), who);
  }
}
