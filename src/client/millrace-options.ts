import type pg from "pg";
import type { CellConnections } from "../cells/open-cells.js";
import type { Logger } from "../observe/logger.js";
import type { Metrics } from "../observe/metrics.js";
import type { Tracing } from "../observe/tracing.js";

/** Options of `new Millrace`. */
export interface MillraceOptions {
  /**
   * A connection string, the options of a `pg` Pool, or a Pool of yours (which you close). While Millrace uses it, a
   * connection that your pool loses is logged, and does not end the process. Default: the variable
   * `DATABASE_URL`, else the server of a `millrace dev` that runs in this folder.
   */
  readonly connection?: string | pg.PoolConfig | pg.Pool | undefined;
  /**
   * Several cells that are used as one, by their names: how to get to each, as `connection` says it of one. Every
   * process must have the same names for the same cells. Jobs are then known by handles such as `a:123`. See
   * docs/cells.md. Default one cell, that of `connection`.
   */
  readonly cells?: CellConnections | undefined;
  /** The coordinator of a Citus cluster, whose nodes are the cells. Default none. */
  readonly citus?: string | undefined;
  /** The schema that holds the queue. Default `millrace`. */
  readonly schema?: string;
  /** Keep statements prepared on each connection. Default true; turn off behind poolers that cannot. */
  readonly prepare?: boolean;
  /** Where measurements go. Default nowhere. */
  readonly metrics?: Metrics;
  /** How runs join the trace of their enqueue. Default they do not. */
  readonly tracing?: Tracing;
  /**
   * Where failures and troubles are told: any object with `warn` and `error` that take an object and a text, such as a
   * pino logger; false for nowhere. Default the console, one line for each.
   */
  readonly logger?: Logger | false;
  /** The release of the application, such as a version or a commit: shown with its workers. Default none. */
  readonly release?: string;
  /** The application, where several share a database: schedules declared here belong to it. Default `default`. */
  readonly app?: string;
}
