import type pg from "pg";

interface Guard {
  users: number;
  readonly onLost: Set<(error: Error) => void>;
  readonly release: () => void;
}

const guards = new WeakMap<pg.Pool, Guard>();

/**
 * A pool that loses a connection emits an error, and so does the connection; unheard, either ends the process. A pool
 * that the caller passes in is listened to as long as somebody here uses it: its own listeners hear it too. Returns how
 * to end that.
 */
export function guardPool(pool: pg.Pool, onLost: (error: Error) => void): () => void {
  // something that only queries as a pool does loses no connections
  if (typeof (pool as Partial<pg.Pool>).on !== "function") return () => {};
  const guard = guards.get(pool) ?? newGuard(pool);
  guards.set(pool, guard);
  guard.users += 1;
  guard.onLost.add(onLost);
  return () => {
    if (!guard.onLost.delete(onLost)) return;
    guard.users -= 1;
    if (guard.users > 0) return;
    guard.release();
    guards.delete(pool);
  };
}

function newGuard(pool: pg.Pool): Guard {
  const onLost = new Set<(error: Error) => void>();
  const heard = new WeakSet<pg.PoolClient>();
  const onError = (error: Error): void => {
    for (const tell of onLost) tell(error);
  };
  // One that is in somebody's hands tells the statement that waits for it; between two statements there is none.
  const hear = (client: pg.PoolClient): void => {
    if (heard.has(client)) return;
    heard.add(client);
    client.on("error", () => {});
  };
  pool.on("error", onError).on("connect", hear).on("acquire", hear);
  const release = (): void => void pool.off("error", onError).off("connect", hear).off("acquire", hear);
  return { users: 0, onLost, release };
}
