import type { Engine } from "../db/engine.js";
import type { Queryable } from "../db/queryable.js";

const limits = { lock: "5s", statement: "60s" };

/**
 * Do it in one transaction that waits for nobody for long: whoever has one open on the same jobs must not take the
 * server's connections one by one.
 */
export async function bounded<T>(engine: Engine, work: (tx: Queryable) => Promise<T>): Promise<T> {
  const text = "select set_config('lock_timeout', $1, true), set_config('statement_timeout', $2, true)";
  return engine.transactionAfter((tx) => tx.query({ text, values: [limits.lock, limits.statement] }), work);
}
