import type { Engine } from "../db/engine.js";
import type { ConnectionPool } from "../db/queryable.js";
import { AnsweringPool } from "../db/answer-time.js";

const prompt = new WeakMap<Engine, Engine>();

/**
 * The engine of a cell for calls that must not hang with it: an open connection to a host that is gone is silent, and
 * without an end to waiting so is the caller. 30 s, or the `query_timeout` of the cell's options.
 */
export function promptly(engine: Engine): Engine {
  let known = prompt.get(engine);
  if (!known) prompt.set(engine, (known = engine.onPools(answering)));
  return known;
}

function answering(pool: ConnectionPool & { readonly options?: { readonly query_timeout?: number } }): ConnectionPool {
  return new AnsweringPool(pool, pool.options?.query_timeout || undefined);
}
