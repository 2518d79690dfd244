import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import pg from "pg";
import { type EmbeddedServer, startEmbeddedServer } from "millrace";
import { Network } from "./network.js";
import { freePort } from "./ports.js";
import type { World } from "./world.js";

/** A streaming replica of the world's server, which may take its place. */
export class Standby {
  readonly folder = mkdtempSync(path.join(tmpdir(), "millrace-standby-"));
  readonly port: number;
  /** What it hears the server through. */
  readonly wire: Network;
  /** Resolves with the promotion: only then does a server say that it takes connections of all kinds. */
  #server: Promise<EmbeddedServer> | undefined;

  private constructor(port: number, wire: Network) {
    this.port = port;
    this.wire = wire;
  }

  /** Copied from the running server, and streaming when this resolves. */
  static async follow(world: World): Promise<Standby> {
    const standby = new Standby(await freePort(), await Network.open(world.server.port));
    world.onClose(() => standby.#remove());
    await standby.#copy(world);
    appendFileSync(path.join(standby.#data, "postgresql.auto.conf"), `primary_conninfo = '${standby.wire.url}'\n`);
    standby.#write("standby.signal", "");
    const settings = { ...world.server.settings, port: String(standby.port) };
    standby.#server = startEmbeddedServer({ folder: standby.folder, settings });
    const failed = standby.#server.then(() => Promise.reject(new Error("the replica did not follow")));
    failed.catch(() => {}); // once it streams, nobody asks
    const streams = world.until(
      "the replica streams",
      async () => (await world.sql("select from pg_stat_replication where state = 'streaming'")).length > 0,
      30_000,
    );
    await Promise.race([streams, failed]);
    return standby;
  }

  /** Make it a server of its own. */
  async promote(): Promise<void> {
    this.wire.close();
    const client = new pg.Client({ host: "127.0.0.1", port: this.port, user: "postgres", database: "postgres" });
    await client.connect();
    try {
      await client.query("select pg_promote(true, 60)");
    } finally {
      await client.end();
    }
    await this.#server;
  }

  get #data(): string {
    return path.join(this.folder, "data");
  }

  /** What pg_basebackup does, which npm does not bring. The session that begins a backup has to end it. */
  async #copy(world: World): Promise<void> {
    const client = await world.pool.connect();
    try {
      await client.query("select pg_backup_start('chaos', true)");
      const { status, stderr } = spawnSync("cp", ["-a", world.server.data, this.#data], { encoding: "utf8" });
      if (status !== 0) throw new Error(`the data could not be copied: ${stderr}`);
      const { rows } = await client.query<{ labelfile: string }>("select labelfile from pg_backup_stop(false)");
      this.#write("backup_label", rows[0]?.labelfile ?? "");
    } finally {
      client.release(true);
    }
    spawnSync("cp", ["-a", path.join(world.server.folder, "password"), this.folder]);
    for (const left of ["postmaster.pid", "postmaster.opts"]) rmSync(path.join(this.#data, left), { force: true });
  }

  /** As a file of whoever owns the data, which the server removes later. */
  #write(name: string, text: string): void {
    const file = path.join(this.#data, name);
    writeFileSync(file, text);
    const { uid, gid } = statSync(this.#data);
    chownSync(file, uid, gid);
  }

  async #remove(): Promise<void> {
    this.wire.close();
    const lock = path.join(this.#data, "postmaster.pid");
    if (existsSync(lock)) process.kill(Number(readFileSync(lock, "utf8").split("\n")[0]), "SIGQUIT");
    await this.#server?.then((server) => server.stop("immediate")).catch(() => {}); // it never was more than a replica
    rmSync(this.folder, { recursive: true, force: true });
  }
}
