import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { Engine } from "../../src/db/engine.js";
import { type EmbeddedServer, startEmbeddedServer } from "../../src/embedded/server.js";

/** One life of the server, from a start to the crash that ends it. Its connections belong to it alone. */
export interface Life {
  /** Counts from 0; two deliveries in one life have no crash between them. */
  readonly number: number;
  readonly pool: pg.Pool;
  readonly engine: Engine;
}

/**
 * The operating system survives, so what was written stays written without fsync; what was only in the server's memory is lost.
 * That is what commits asynchronously: nobody writes it in the background here, so it stays there until somebody else's commit.
 */
const settings = { max_connections: "60", fsync: "off", wal_writer_delay: "10s" };

/** How long a restart may take, and any wait for a connection or a statement. */
const patienceMs = 15_000;

/** An embedded PostgreSQL of its own that can be killed without warning and started again on what it left. */
export class CrashingServer {
  readonly #folder = mkdtempSync(path.join(tmpdir(), "millrace-crash-"));
  readonly #lives: Life[] = [];
  #server: EmbeddedServer | undefined;

  /** The present life; during a crash, the one that has just ended. */
  get life(): Life {
    const life = this.#lives.at(-1);
    if (!life) throw new Error("the server was never started");
    return life;
  }

  async start(): Promise<void> {
    this.#server = await this.#startPatiently();
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
  async crash(): Promise<void> {
    const server = this.#server!;
    const children = childrenOf(server.pid);
    for (const pid of [server.pid, ...children]) kill(pid);
    await server.stop();
  }

  async end(): Promise<void> {
    await Promise.all(this.#lives.map(({ pool }) => pool.end()));
    await this.#server?.stop("immediate");
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** A child that outlived the postmaster for a moment still has its shared memory; until it is gone, no new one starts. */
  async #startPatiently(): Promise<EmbeddedServer> {
    const end = Date.now() + patienceMs;
    for (;;) {
      try {
        return await startEmbeddedServer({ folder: this.#folder, settings });
      } catch (error) {
        if (Date.now() > end || !/shared memory block|lock file/.test(String(error))) throw error;
        await sleep(50);
      }
    }
  }
}

/** Linux says who a process's children are. Elsewhere they notice by themselves that the postmaster is gone, and end. */
function childrenOf(pid: number): number[] {
  const list = `/proc/${pid}/task/${pid}/children`;
  return existsSync(list) ? readFileSync(list, "utf8").trim().split(/\s+/).filter(Boolean).map(Number) : [];
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as { code?: string }).code !== "ESRCH") throw error; // it ended by itself
  }
}
