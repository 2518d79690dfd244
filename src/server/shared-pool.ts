import { exactTypes } from "../db/exact-types.js";
import type { ConnectionPool } from "../db/queryable.js";
import type { Shares } from "./http/shares.js";

/**
 * A pool of which somebody uses no more than their share; the rest of what they want waits for that, in a line of their
 * own.
 */
export function sharedPool(pool: ConnectionPool, shares: Shares, who: string): ConnectionPool {
  return {
    query: (query) => shares.use(who, () => pool.query({ ...query, types: exactTypes })),
    async connect() {
      await shares.wait(who);
      try {
        const client = await pool.connect();
        return {
          query: (query) => client.query({ ...query, types: exactTypes }),
          release: (error) => {
            client.release(error);
            shares.give(who);
          },
          on: (...of) => client.on?.(...of),
          off: (...of) => client.off?.(...of),
        };
      } catch (error) {
        shares.give(who);
        throw error;
      }
    },
  };
}
