import type { Millrace } from "../client/millrace.js";
import { Schedules } from "../client/schedules.js";
import type { ConnectionPool } from "../db/queryable.js";
import { Calls } from "./api/calls.js";
import type { Mill } from "./api/route.js";
import type { Shares } from "./http/shares.js";
import { sharedPool } from "./shared-pool.js";

/**
 * The client as each of those who ask uses it: on their share of the connections. Results are waited for together, by
 * one look for all.
 */
export function millsOn(mill: Millrace, pool: ConnectionPool, connections: Shares): (who: string) => Mill {
  const mills = new Map<string, Mill>(); // as many as there are tokens
  return (who) => {
    let own = mills.get(who);
    if (!own) {
      const engine = mill.engine.withPool(sharedPool(pool, connections, who));
      own = {
        engine,
        calls: new Calls(engine),
        schedules: new Schedules(engine, mill.schedules.app, mill.schedules.onChange),
        result: (...of) => mill.result(...of),
      };
      mills.set(who, own);
    }
    return own;
  };
}
