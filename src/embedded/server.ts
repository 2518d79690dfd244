import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { type Binaries, findBinaries } from "./binaries.js";
import { freePort } from "./free-port.js";

/** Options of `startEmbeddedServer`. */
export interface EmbeddedServerOptions {
  /** Folder of the database; kept after stop. Default: a temporary one, removed on stop. */
  readonly folder?: string;
  /** Server settings, as for `postgres -c`. Default none. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** A running embedded PostgreSQL. */
export interface EmbeddedServer {
  /** Connection string of the superuser, on loopback. */
  readonly url: string;
  readonly port: number;
  /** Process id of the postmaster. */
  readonly pid: number;
  /** Stop the server; `immediate` as in a crash. Removes a temporary folder. */
  stop(mode?: "fast" | "immediate"): Promise<void>;
}

/** Start a real PostgreSQL from npm, on a free port of 127.0.0.1. */
export async function startEmbeddedServer(options: EmbeddedServerOptions = {}): Promise<EmbeddedServer> {
  const binaries = await findBinaries();
  const temporary = options.folder === undefined;
  const folder = options.folder ?? mkdtempSync(path.join(tmpdir(), "millrace-"));
  mkdirSync(folder, { recursive: true });
  if (binaries.user.uid !== undefined) chownSync(folder, binaries.user.uid, binaries.user.gid ?? binaries.user.uid);
  const data = path.join(folder, "data");
  if (!existsSync(path.join(data, "PG_VERSION"))) await initialise(binaries, data);

  const port = await freePort();
  const settings = { listen_addresses: "127.0.0.1", port: String(port), unix_socket_directories: "", ...options.settings };
  const flags = Object.entries(settings).flatMap(([key, value]) => ["-c", `${key}=${value}`]);
  const server = spawn(binaries.postgres, ["-D", data, ...flags], { ...binaries.user, stdio: ["ignore", "ignore", "pipe"], cwd: folder });
  const stopWithUs = () => server.kill("SIGINT");
  process.once("exit", stopWithUs);
  await ready(server);
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    port,
    pid: server.pid ?? 0,
    async stop(mode = "fast") {
      process.off("exit", stopWithUs);
      if (server.exitCode === null && server.signalCode === null) {
        const exited = once(server, "exit");
        server.kill(mode === "fast" ? "SIGINT" : "SIGQUIT");
        await exited;
      }
      if (temporary) rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function initialise(binaries: Binaries, data: string): Promise<void> {
  const initdb = spawn(binaries.initdb, ["-D", data, "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"], {
    ...binaries.user,
    stdio: ["ignore", "ignore", "pipe"],
    cwd: path.dirname(data),
  });
  const log = collect(initdb);
  const [code] = (await once(initdb, "exit")) as [number | null];
  if (code !== 0) throw new Error(`initdb failed: ${log()}`);
}

async function ready(server: ChildProcess): Promise<void> {
  const log = collect(server);
  await new Promise<void>((resolve, reject) => {
    server.stderr?.on("data", () => {
      if (log().includes("database system is ready to accept connections")) resolve();
    });
    server.once("exit", () => reject(new Error(`PostgreSQL did not start: ${log()}`)));
    server.once("error", reject);
  });
}

/** Keep the last part of what a process says, for error messages. */
function collect(child: ChildProcess): () => string {
  let text = "";
  child.stderr?.setEncoding("utf8").on("data", (chunk: string) => (text = (text + chunk).slice(-10_000)));
  return () => text;
}
