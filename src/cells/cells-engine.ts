import { InvalidArgumentError } from "../db/errors.js";
import type { ConnectionPool, Queryable } from "../db/queryable.js";
import { CellsSchedules } from "./cells-schedules.js";
import { CellsServer } from "./cells-server.js";
import { CellsSqs } from "./cells-sqs.js";
import type { Router } from "./router.js";
import { CellsTransaction } from "./transaction.js";
import { CellsUpkeepVerbs } from "./verbs/upkeep.js";

/**
 * The engine's verbs over several cells: each goes to the cell of its queue or its job, or to all. Jobs are known by
 * handles (`a:123`) on this side.
 */
export class CellsEngine extends CellsUpkeepVerbs {
  // The verbs are in verbs/, each in a file of the same name as that of one cell in src/db/verbs.
  override readonly schedules: CellsSchedules;
  override readonly server: CellsServer;
  override readonly sqs: CellsSqs;

  constructor(router: Router, schema: string) {
    super(router, schema);
    this.schedules = new CellsSchedules(this.ways, this.db);
    this.server = new CellsServer(this.ways, this.db);
    this.sqs = new CellsSqs(this.ways, this.db);
  }

  /** The same cells, each on another pool. */
  override onPools(pools: (pool: ConnectionPool, cell: string) => ConnectionPool): CellsEngine {
    return new CellsEngine(
      this.router.like((cell) => ({ ...cell, engine: cell.engine.onPools((pool) => pools(pool, cell.name)) })),
      this.schema,
    );
  }

  override withPool(): never {
    throw new InvalidArgumentError("several cells have no pool in common", "use onPools");
  }

  override async check(): Promise<void> {
    await this.router.members();
  }

  override async transaction<R>(work: (tx: Queryable) => Promise<R>): Promise<R> {
    return this.transactionAfter(async () => {}, work);
  }

  override async transactionAfter<R>(
    first: (tx: Queryable) => Promise<unknown>,
    work: (tx: Queryable) => Promise<R>,
  ): Promise<R> {
    // begun anew where it was refused something because a queue moves
    return this.ways.repeated(async (lingering) => {
      const tx = new CellsTransaction(first, lingering);
      let done: R;
      try {
        done = await work(tx);
      } catch (error) {
        await tx.end(error ?? new Error("taken back"));
        throw error;
      }
      await tx.end();
      return done;
    });
  }
}
