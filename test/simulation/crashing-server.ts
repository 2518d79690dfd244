import pg from "pg";
import { ChaosServer } from "../../chaos/server.js";
import { Engine } from "../../src/db/engine.js";

/** One life of the server, from a start to the crash that ends it. Its connections belong to it alone. */
export interface Life {
  /** Counts from 0; two deliveries in one life have no crash between them. */
  readonly number: number;
  readonly pool: pg.Pool;
  readonly engine: Engine;
}

/**
 * The operating system survives, so what was written stays written without fsync; what was only in the server's memory
 * is lost. That is what commits asynchronously: nobody writes it in the background here, so it stays there until
 * somebody else's commit.
 */
const settings = { max_connections: "60", fsync: "off", wal_writer_delay: "10s" };

/** How long any wait for a connection or a statement may take. */
const patienceMs = 15_000;

/** An embedded PostgreSQL of its own that can be killed without warning and started again on what it left. */
export class CrashingServer {
  readonly #server = new ChaosServer(settings, undefined, false);
  readonly #lives: Life[] = [];

  /** The present life; during a crash, the one that has just ended. */
  get life(): Life {
    const life = this.#lives.at(-1);
    if (!life) throw new Error("the server was never started");
    return life;
  }

  async start(): Promise<void> {
    await this.#server.start();
    const pool = new pg.Pool({
      connectionString: this.#server.url,
      max: 20,
      connectionTimeoutMillis: patienceMs,
      statement_timeout: patienceMs,
      query_timeout: patienceMs,
    });
    pool.on("error", () => {});
    pool.on("connect", (client) => client.on("error", () => {}));
    this.#lives.push({ number: this.#lives.length, pool, engine: new Engine({ pool }) });
  }

  /** Kill the postmaster and all its children at once. Nobody gets to write anything any more. */
  crash(): Promise<void> {
    return this.#server.crash();
  }

  async end(): Promise<void> {
    await Promise.all(this.#lives.map(({ pool }) => pool.end()));
    await this.#server.remove();
  }
}
