import type pg from "pg";
import { translateError } from "./errors.js";

/** A result as the `pg` driver returns it. */
export interface QueryResult {
  readonly rows: readonly Record<string, unknown>[];
}

/** The seam to a database: what a `pg` Pool, Client and PoolClient have in common. */
export interface Queryable {
  query(query: {
    readonly text: string;
    readonly values: unknown[];
    readonly name?: string;
    /** How the values that come back are read. Default as the connection does. */
    readonly types?: pg.CustomTypesConfig;
  }): Promise<QueryResult>;
}

/** A pool that can hand out one connection, for calls that need several statements. */
export interface ConnectionPool extends Queryable {
  connect(): Promise<PooledConnection>;
}

/** A connection of a pool, to be given back. */
export interface PooledConnection extends Queryable {
  release(error?: boolean | Error): void;
  on?(event: "error", listener: (error: Error) => void): unknown;
  off?(event: "error", listener: (error: Error) => void): unknown;
}

export async function runQuery(
  db: Queryable,
  text: string,
  values: unknown[],
  name?: string,
): Promise<QueryResult["rows"]> {
  try {
    const result = await db.query(name === undefined ? { text, values } : { text, values, name });
    return result.rows;
  } catch (error) {
    throw translateError(error);
  }
}

/** Run `work` in one transaction: the given one, or a new one on a connection of the pool. */
export async function inTransaction<T>(
  pool: ConnectionPool,
  tx: Queryable | undefined,
  work: (db: Queryable) => Promise<T>,
): Promise<T> {
  if (tx) return work(tx);
  let client;
  try {
    client = await pool.connect();
  } catch (error) {
    throw translateError(error);
  }
  let broken = false;
  // A connection that dies between two statements emits an error; unheard, it would end the process.
  const onError = () => (broken = true);
  client.on?.("error", onError);
  try {
    await runQuery(client, "begin", []);
    const result = await work(client);
    await runQuery(client, "commit", []);
    return result;
  } catch (error) {
    await runQuery(client, "rollback", []).catch(() => (broken = true));
    throw error;
  } finally {
    client.off?.("error", onError);
    client.release(broken);
  }
}
