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
        const release = client.release.bind(client);
        // The pool gives each client a new one of these whenever it hands it out.
        client.release = (error) => {
          release(error);
          shares.give(who);
        };
        return client;
      } catch (error) {
        shares.give(who);
        throw error;
      }
    },
  };
}
