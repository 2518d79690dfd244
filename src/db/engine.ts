import { checkKeys } from "./encode.js";
import { CellDistributedError, SchemaRestoredError } from "./errors.js";
import { checkSchema } from "./schema-version.js";
import type { ConnectionPool, Queryable } from "./queryable.js";
import { MoveEngine } from "./move-engine.js";
import { ScheduleEngine } from "./schedule-engine.js";
import { checkSchemaName, defaultSchema } from "./schema-name.js";
import { ServerEngine } from "./server-engine.js";
import { SqsEngine } from "./sqs-engine.js";
import { Statements } from "./statements.js";
import { CellVerbs } from "./verbs/cells.js";

/** Options of `new Engine`. */
export interface EngineOptions {
  /** A `pg` Pool, or anything that queries and connects like one. */
  readonly pool: ConnectionPool;
  /** The schema that holds the cell. Default `millrace`. */
  readonly schema?: string;
  /**
   * Keep the engine's few statements prepared on each connection. Default true; turn off behind poolers that cannot.
   */
  readonly prepare?: boolean;
  /** The name of the cell, where it is one of several: handlers see its jobs as `name:id`. @internal */
  readonly cell?: string | undefined;
}

/**
 * The engine's verbs, one method per SQL function. Every call takes an explicit transaction as `{ tx }`, or commits by
 * itself.
 *
 * @example
 * ```ts
 * import pg from "pg";
 * import { Engine } from "millrace";
 *
 * const engine = new Engine({ pool: new pg.Pool() });
 * await engine.enqueue({ type: "resize", input: { key: "a.png" } });
 * for (const job of await engine.claim({ limit: 10 })) await engine.complete(job);
 * ```
 */
export class Engine extends CellVerbs {
  // The verbs are in verbs/, each in the file that is named like the room of its SQL function.
  /** The schema that holds the cell. */
  readonly schema: string;
  /** The name of the cell, where it is one of several. @internal */
  readonly cell: string | undefined;
  /** The verbs on schedules. */
  readonly schedules: ScheduleEngine;
  /** What a move of a queue between cells needs. @internal */
  readonly moves: MoveEngine;
  /** What only a server asks for. @internal */
  readonly server: ServerEngine;
  /** What the SQS endpoint needs beyond the verbs here. @internal */
  readonly sqs: SqsEngine;

  /** What the statements go through. @internal */
  readonly pool: ConnectionPool;

  constructor(options: EngineOptions) {
    checkKeys(options, new Set(["pool", "schema", "prepare", "cell"]));
    super(new Statements(options.pool, checkSchemaName(options.schema ?? defaultSchema), options.prepare ?? true));
    this.schema = this.db.schema;
    this.pool = options.pool;
    this.cell = options.cell;
    this.schedules = new ScheduleEngine(this.db);
    this.moves = new MoveEngine(this.db);
    this.server = new ServerEngine(this.db);
    this.sqs = new SqsEngine(this.db);
  }

  /** The same engine on another pool, or on one connection of it. */
  withPool(pool: ConnectionPool): Engine {
    return new Engine({ pool, schema: this.schema, prepare: this.db.prepare, cell: this.cell });
  }

  /** The same engine on a pool made of its own; over several cells, of each of theirs. @internal */
  onPools(pools: (pool: ConnectionPool, cell?: string) => ConnectionPool): Engine {
    return this.withPool(pools(this.db.pool));
  }

  /** Refuse a schema of another version, with the command to run. Changes nothing. */
  async check(): Promise<void> {
    await checkSchema(this.db.pool, { schema: this.schema });
    await this.db
      .rows("cell_status", "select payload_limit, restored, distributed from :cell_status()", [])
      .then(([row]) => {
        if (row?.["distributed"])
          throw new CellDistributedError(
            `Citus has distributed tables of the schema "${this.schema}"`,
            'a cell is a plain schema of one server: undistribute it, or install one with "millrace migrate" on each node',
          );
        if (row?.["restored"])
          throw new SchemaRestoredError(
            `the schema "${this.schema}" was restored from another server`,
            'run "millrace repair"',
          );
      });
  }

  /** Run several calls in one transaction: give it to each as `{ tx }`. What `work` throws takes all of them back. */
  async transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T> {
    return this.db.inTransaction(undefined, work);
  }

  /** The same, with something that comes first: in each of them, over several cells. @internal */
  async transactionAfter<T>(
    first: (tx: Queryable) => Promise<unknown>,
    work: (tx: Queryable) => Promise<T>,
  ): Promise<T> {
    return this.transaction(async (tx) => {
      await first(tx);
      return work(tx);
    });
  }
}
