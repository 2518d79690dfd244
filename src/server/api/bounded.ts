import type { Engine } from "../../db/engine.js";
import type { Queryable } from "../../db/queryable.js";

const lockTimeout = "5s";
const statementTimeout = "60s";

/** Whoever has an open transaction on the same jobs must not take the server's connections one by one. For the rest of this transaction. */
export async function boundWaits(tx: Queryable): Promise<void> {
  await tx.query({ text: "select set_config('lock_timeout', $1, true), set_config('statement_timeout', $2, true)", values: [lockTimeout, statementTimeout] });
}

/** Do it in one transaction that waits for nobody for long. */
export async function bounded<T>(engine: Engine, work: (tx: Queryable) => Promise<T>): Promise<T> {
  return engine.transaction(async (tx) => {
    await boundWaits(tx);
    return work(tx);
  });
}
