import { resultsOn } from "../client/cell-results.js";
import { DeclaredInputs } from "../client/declared-inputs.js";
import type { Millrace } from "../client/millrace.js";
import { Schedules } from "../client/schedules.js";
import { Calls } from "./api/calls.js";
import type { Mill } from "./api/route.js";
import type { ConnectionShares } from "./connection-shares.js";

const maxMills = 1000;
/** The share of those who wait for results. */
const waiting = "who waits for results";

/**
 * The client as each of those who ask uses it: on their share of the connections. Results are waited for together, by
 * one look for all, which is one more of those who share: the client itself would read them as an application does,
 * with integers beyond 2^53 rounded and its codec applied, while all else is answered as it is stored.
 */
export function millsOn(mill: Millrace, connections: ConnectionShares): (who: string) => Mill {
  const mills = new Map<string, Mill>();
  const results = resultsOn(mill.engine.onPools((pool) => connections.poolFor(pool, waiting)));
  const inputs = new DeclaredInputs(mill.engine);
  return (who) => {
    let own = mills.get(who);
    if (!own) {
      const engine = mill.engine.onPools((pool) => connections.poolFor(pool, who));
      own = {
        engine,
        cells: mill.cells,
        calls: new Calls(engine),
        inputs,
        schedules: new Schedules(engine, mill.schedules.app, mill.schedules.onChange),
        result: (...of) => results.wait(...of),
      };
      mills.set(who, own);
      // An application may have any number of users. Whoever uses a forgotten one keeps it until they are done.
      if (mills.size > maxMills) mills.delete(mills.keys().next().value!);
    }
    return own;
  };
}
