import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { freePort } from "./ports.js";
import type { World } from "./world.js";

/** It refuses to run as root; root runs it as `nobody`, who exists everywhere. */
const user = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};
/** Where Debian puts it is not in everybody's path. */
const env = { ...process.env, PATH: `${process.env["PATH"] ?? ""}:/usr/sbin` };

/** Its version, such as 1.21; undefined when it is not on this machine. */
export function pgBouncerVersion(): number | undefined {
  const { stdout } = spawnSync("pgbouncer", ["--version"], { encoding: "utf8", env });
  const [, major, minor] = /PgBouncer (\d+)\.(\d+)/.exec(stdout ?? "") ?? [];
  return major === undefined ? undefined : Number(major) + Number(minor) / 100;
}

/** A pooler in transaction mode in front of the world's server: each transaction may be answered by another session. */
export class PgBouncer {
  readonly port: number;
  readonly #folder = mkdtempSync(path.join(tmpdir(), "millrace-pgbouncer-"));
  #process: ChildProcess | undefined;

  private constructor(port: number) {
    this.port = port;
  }

  static async open(world: World, settings: Readonly<Record<string, string>>): Promise<PgBouncer> {
    const bouncer = new PgBouncer(await freePort());
    world.onClose(() => bouncer.#remove());
    bouncer.#configure(
      {
        listen_addr: "127.0.0.1",
        listen_port: String(bouncer.port),
        unix_socket_dir: "",
        auth_type: "trust",
        auth_file: path.join(bouncer.#folder, "users"),
        pool_mode: "transaction",
        max_client_conn: "500",
        ...settings,
      },
      world.server.port,
    );
    await bouncer.start();
    return bouncer;
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres`;
  }

  async start(): Promise<void> {
    this.#process = spawn("pgbouncer", [path.join(this.#folder, "pgbouncer.ini")], {
      ...user,
      env,
      stdio: "ignore",
      cwd: this.#folder,
    });
    for (const end = Date.now() + 10_000; !(await this.#answers());) {
      if (Date.now() > end) throw new Error("PgBouncer does not answer");
      await sleep(50);
    }
  }

  /** Without a word to anybody who is connected. */
  async kill(): Promise<void> {
    if (!this.#process || this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const exited = once(this.#process, "exit");
    this.#process.kill("SIGKILL");
    await exited;
  }

  #configure(settings: Readonly<Record<string, string>>, target: number): void {
    const lines = Object.entries(settings).map(([key, value]) => `${key} = ${value}`);
    writeFileSync(
      path.join(this.#folder, "pgbouncer.ini"),
      ["[databases]", `postgres = host=127.0.0.1 port=${target}`, "[pgbouncer]", ...lines, ""].join("\n"),
    );
    writeFileSync(path.join(this.#folder, "users"), `"postgres" ""\n`);
    chmodSync(this.#folder, 0o755);
  }

  async #answers(): Promise<boolean> {
    const client = new pg.Client({ connectionString: this.url, connectionTimeoutMillis: 2000 });
    client.on("error", () => {});
    try {
      await client.connect();
      await client.query("select 1");
      return true;
    } catch {
      return false;
    } finally {
      await client.end().catch(() => {});
    }
  }

  async #remove(): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
