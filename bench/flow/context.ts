import type pg from "pg";
import type { Engine } from "../../src/db/engine.js";

/** What a measurement of `bench:flow` works with. */
export interface FlowBench {
  readonly pool: pg.Pool;
  readonly engine: Engine;
  readonly quick: boolean;
  readonly newQueue: () => Promise<string>;
  readonly report: (what: string, key: string, value: number) => void;
}
