import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import pg from "pg";
import { freePort } from "../../dist/embedded/free-port.js";
import { type EmbeddedServer, startEmbeddedServer } from "../../dist/index.js";

/**
 * The same for all systems. Durability is PostgreSQL's default, said out loud; autovacuum comes by often, which helps
 * queues that update and delete; `idle-cost` takes more than a thousand connections, most of them BullMQ's.
 */
const settings = {
  fsync: "on",
  synchronous_commit: "on",
  full_page_writes: "on",
  shared_buffers: "2GB",
  max_wal_size: "16GB",
  checkpoint_timeout: "30min",
  autovacuum_naptime: "10s",
  max_connections: "1500",
};

/** The one PostgreSQL server, and a database of its own for whatever is measured. */
export class Postgres {
  readonly #server: EmbeddedServer;
  readonly #admin: pg.Pool;
  #databases = 0;

  private constructor(server: EmbeddedServer) {
    this.#server = server;
    this.#admin = new pg.Pool({ connectionString: server.url, max: 2 });
    this.#admin.on("error", () => {}); // the next query tells
  }

  static async start(): Promise<Postgres> {
    return new Postgres(await startEmbeddedServer({ settings }));
  }

  async describe(): Promise<string> {
    const names = [...Object.keys(settings), "autovacuum", "wal_level", "work_mem"];
    const { rows } = await this.#admin.query(
      "select version(), (select string_agg(name || ' = ' || current_setting(name), ', ' order by name) from pg_settings where name = any ($1)) as settings",
      [names],
    );
    const [{ version, settings: shown }] = rows as [{ version: string; settings: string }];
    return `${version.split(" on ")[0]}: ${shown}`;
  }

  /** A new database, a copy of `template` if there is one. Returns its name. */
  async create(template = "template1"): Promise<string> {
    const name = `bench_${(this.#databases += 1)}`;
    await this.#admin.query(`create database ${name} template ${template}`);
    return name;
  }

  async drop(name: string): Promise<void> {
    await this.#admin.query(`drop database ${name} with (force)`);
  }

  urlOf(database: string): string {
    const url = new URL(this.#server.url);
    url.pathname = `/${database}`;
    return url.href;
  }

  /** One connection to a database, for as long as `work` takes. */
  async with<T>(database: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
    const client = new pg.Client({ connectionString: this.urlOf(database) });
    await client.connect();
    try {
      return await work(client);
    } finally {
      await client.end();
    }
  }

  async one<T>(text: string, values: unknown[] = []): Promise<T> {
    return ((await this.#admin.query(text, values)).rows as T[])[0]!;
  }

  /** As a table that has been there for a while: statistics known, pages written. */
  async settle(database: string): Promise<void> {
    await this.with(database, (client) => client.query("vacuum (analyze)"));
    await this.#admin.query("checkpoint");
  }

  /** Processor time of the server and all its processes so far, in seconds; undefined where /proc is not to be had. */
  cpuSeconds(): number | undefined {
    if (process.platform !== "linux") return undefined;
    const statOf = (pid: string): number[] => {
      const text = readFileSync(`/proc/${pid}/stat`, "utf8");
      return text
        .slice(text.lastIndexOf(")") + 4)
        .split(" ")
        .map(Number);
    };
    // Counted from the parent's pid: user and system time at 10 and 11, those of children that have ended at 12 and 13.
    for (;;) {
      const own = statOf(String(this.#server.pid));
      let ticks = own[10]! + own[11]! + own[12]! + own[13]!;
      for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
        try {
          const stat = statOf(pid);
          if (stat[0] === this.#server.pid) ticks += stat[10]! + stat[11]!;
        } catch {
          // it has just ended
        }
      }
      const again = statOf(String(this.#server.pid));
      // else one ended meanwhile, and may have been missed
      if (again[12] === own[12] && again[13] === own[13]) return ticks / 100;
    }
  }

  async stop(): Promise<void> {
    void this.#admin.end();
    await this.#server.stop();
  }
}

/** A Redis of our own, as BullMQ's documentation wants it. */
export class RedisServer {
  readonly url: string;
  readonly #process: ChildProcess;
  readonly #folder: string;
  readonly #client: Redis;

  private constructor(process: ChildProcess, folder: string, port: number) {
    this.#process = process;
    this.#folder = folder;
    this.url = `redis://127.0.0.1:${port}`;
    this.#client = new Redis({ host: "127.0.0.1", port, maxRetriesPerRequest: null });
    this.#client.on("error", () => {}); // it takes a moment to come up
  }

  /** Undefined when there is no redis-server on this machine. */
  static async start(): Promise<RedisServer | undefined> {
    if (spawnSync("redis-server", ["--version"]).status !== 0) return undefined;
    const folder = mkdtempSync(path.join(tmpdir(), "millrace-bench-redis-"));
    const port = await freePort();
    const flags = {
      port,
      bind: "127.0.0.1",
      dir: folder,
      appendonly: "yes",
      appendfsync: "everysec",
      save: "",
      "maxmemory-policy": "noeviction",
    };
    const args = Object.entries(flags).flatMap(([flag, value]) => [`--${flag}`, String(value)]);
    const server = spawn("redis-server", args, { stdio: "ignore" });
    process.once("exit", () => server.kill());
    const redis = new RedisServer(server, folder, port);
    await Promise.race([
      redis.#client.ping(),
      once(server, "exit").then(() => Promise.reject(new Error("redis-server did not start"))),
    ]);
    return redis;
  }

  async describe(): Promise<string> {
    const info = await this.#client.info("server");
    return `Redis ${/redis_version:(\S+)/.exec(info)?.[1]}: appendonly = yes, appendfsync = everysec, maxmemory-policy = noeviction`;
  }

  async clear(): Promise<void> {
    await this.#client.flushall();
  }

  /** Commands carried out so far. */
  async commands(): Promise<number> {
    return Number(/total_commands_processed:(\d+)/.exec(await this.#client.info("stats"))?.[1]);
  }

  async stop(): Promise<void> {
    this.#client.disconnect();
    if (this.#process.exitCode === null) {
      const exited = once(this.#process, "exit");
      this.#process.kill();
      await Promise.race([exited, sleep(5000).then(() => this.#process.kill("SIGKILL"))]);
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
