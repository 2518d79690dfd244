import type pg from "pg";
import { Engine } from "../db/engine.js";
import { InvalidArgumentError } from "../db/errors.js";
import { hasRoom, isPool, newPool } from "../db/pool.js";
import type { JobId, Json } from "../db/types.js";
import { devUrl } from "../embedded/dev-url.js";
import { errorLine } from "../observe/logger.js";
import type { Worker } from "../worker/worker.js";
import type { WorkerParts } from "../worker/worker-parts.js";
import type { WorkerOptions } from "../worker/worker-options.js";
import { CommitWatch } from "./commit-watch.js";
import { guardPool } from "./guard-pool.js";
import type { Place, PlaceParts, Told } from "./place.js";
import { Results } from "./results.js";
import { makeWorker } from "./worker-maker.js";

type Connection = string | pg.PoolConfig | pg.Pool;

/** The database that was given, here or around. */
export function connectionOf(options: {
  readonly connection?: Connection | undefined;
  readonly cells?: Readonly<Record<string, Connection>> | undefined;
}): Connection {
  const [only] = Object.values(options.cells ?? {});
  const connection = only ?? options.connection ?? (process.env["DATABASE_URL"] || devUrl());
  if (connection) return connection;
  throw new InvalidArgumentError(
    "no database given",
    'pass connection, set DATABASE_URL, or run "millrace dev" in this folder',
  );
}

/** One schema of one database. */
export class OneCell implements Place {
  readonly engine: Engine;
  readonly cells = undefined;
  readonly #pool: pg.Pool;
  readonly #ownsPool: boolean;
  readonly #unguardPool: (() => void) | undefined;
  readonly #commits: CommitWatch;
  readonly #results: Results;

  constructor(connection: Connection, { options: { schema, prepare }, logger, tell }: PlaceParts) {
    this.#ownsPool = !isPool(connection);
    this.#pool = isPool(connection) ? connection : newPool(connection);
    if (!this.#ownsPool)
      this.#unguardPool = guardPool(this.#pool, (error) =>
        logger?.warn({ err: error }, `the pool has lost a connection: ${errorLine(error)}`),
      );
    this.engine = new Engine({
      pool: this.#pool,
      ...(schema === undefined ? {} : { schema }),
      ...(prepare === undefined ? {} : { prepare }),
    });
    this.#commits = new CommitWatch(this.engine, () => hasRoom(this.#pool), tell);
    this.#results = new Results(this.engine);
  }

  committing(xid: string, told: Told): void {
    this.#commits.add(xid, told);
  }

  result(job: JobId, timeoutMs: number, signal?: AbortSignal): Promise<Json> {
    return this.#results.wait(job, timeoutMs, signal);
  }

  worker(options: WorkerOptions, parts: Omit<WorkerParts, "engine" | "pool" | "cell">): Worker {
    return makeWorker(options, { ...parts, engine: this.engine, pool: this.#pool });
  }

  settle(): Promise<void> {
    return this.#commits.close();
  }

  async close(): Promise<void> {
    if (this.#ownsPool) await this.#pool.end();
    this.#unguardPool?.();
  }
}
