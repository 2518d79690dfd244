import type pg from "pg";
import type { ConnectionPool, PooledConnection, QueryResult, Queryable } from "../db/queryable.js";
import { answered } from "../db/answer-time.js";

/** Of fewer connections none is kept: others need them more. */
const fewest = 4;

/**
 * One connection of a pool, kept for claims. Its plans stay warm, and nobody can be in front of it: neither upkeep,
 * which would leave a claim to a connection that plans everything for the first time, nor handlers that have taken all
 * others. One on which something failed is not used again, as in a pool.
 */
export class KeptConnection implements ConnectionPool {
  #kept: PooledConnection | undefined;
  #isOver = false;
  readonly #onError = (): void => this.#letGo(true);

  constructor(readonly pool: ConnectionPool) {}

  /** Whether a pool is large enough that one connection is not missed. */
  static fits(pool: pg.Pool): boolean {
    return (pool.options as pg.PoolConfig | undefined)?.max !== undefined && pool.options.max >= fewest;
  }

  async query(query: Parameters<Queryable["query"]>[0]): Promise<QueryResult> {
    const connection = this.#kept ?? (await this.#keep());
    try {
      return await answered(this.pool, connection, query);
    } catch (error) {
      if (connection === this.#kept) this.#letGo(true);
      throw error;
    }
  }

  connect(): Promise<PooledConnection> {
    return this.pool.connect();
  }

  /** Give it back, after the last query has been answered. */
  end(): void {
    this.#isOver = true;
    this.#letGo(false);
  }

  async #keep(): Promise<PooledConnection> {
    const connection = await this.pool.connect();
    if (this.#isOver) {
      connection.release();
      throw new Error("the worker has stopped");
    }
    connection.on?.("error", this.#onError);
    this.#kept = connection;
    return connection;
  }

  #letGo(isBroken: boolean): void {
    const connection = this.#kept;
    this.#kept = undefined;
    connection?.off?.("error", this.#onError);
    connection?.release(isBroken);
  }
}
