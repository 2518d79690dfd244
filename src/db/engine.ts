import { checkKeys } from "./encode.js";
import { SchemaRestoredError } from "./errors.js";
import { checkSchema } from "./migrate.js";
import type { ConnectionPool, Queryable } from "./queryable.js";
import { ScheduleEngine } from "./schedule-engine.js";
import { checkSchemaName, defaultSchema } from "./schema-name.js";
import { ServerEngine } from "./server-engine.js";
import { SqsEngine } from "./sqs-engine.js";
import { Statements } from "./statements.js";
import { UpkeepVerbs } from "./verbs/upkeep.js";

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
export class Engine extends UpkeepVerbs {
  // The verbs are in verbs/, each in the file that is named like the room of its SQL function.
  /** The schema that holds the cell. */
  readonly schema: string;
  /** The verbs on schedules. */
  readonly schedules: ScheduleEngine;
  /** What only a server asks for. @internal */
  readonly server: ServerEngine;
  /** What the SQS endpoint needs beyond the verbs here. @internal */
  readonly sqs: SqsEngine;

  constructor(options: EngineOptions) {
    checkKeys(options, new Set(["pool", "schema", "prepare"]));
    super(new Statements(options.pool, checkSchemaName(options.schema ?? defaultSchema), options.prepare ?? true));
    this.schema = this.db.schema;
    this.schedules = new ScheduleEngine(this.db);
    this.server = new ServerEngine(this.db);
    this.sqs = new SqsEngine(this.db);
  }

  /** The same engine on another pool, or on one connection of it. */
  withPool(pool: ConnectionPool): Engine {
    return new Engine({ pool, schema: this.schema, prepare: this.db.prepare });
  }

  /** Refuse a schema of another version, with the command to run. Changes nothing. */
  async check(): Promise<void> {
    await checkSchema(this.db.pool, { schema: this.schema });
    await this.db.rows("cell_status", "select payload_limit, restored from :cell_status()", []).then(([row]) => {
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
}
