import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, existsSync, lstatSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { type Binaries, findBinaries } from "./binaries.js";
import { freePort } from "./free-port.js";
import { endWithUs } from "./keeper.js";
import { missingBinaries } from "./missing.js";
import { type ServerUser, isOwner, writeSecret } from "./own-folder.js";
import { givePassword, newPassword, passwordFile, readPassword } from "./password.js";

/** Options of `startEmbeddedServer`. */
export interface EmbeddedServerOptions {
  /** Folder of the database, and of its password; kept after stop. Default: a temporary one, removed on stop. */
  readonly folder?: string;
  /** Server settings, as for `postgres -c`. Default none. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** A running embedded PostgreSQL. */
export interface EmbeddedServer {
  /** Connection string of the superuser, on loopback, with the password that keeps other users of the machine out. */
  readonly url: string;
  readonly port: number;
  /** Process id of the postmaster. */
  readonly pid: number;
  /** Stop the server; `immediate` as in a crash. Removes a temporary folder. */
  stop(mode?: "fast" | "immediate"): Promise<void>;
  /** Let the process end while the server runs; it ends with it. */
  unref(): void;
}

/** Start a real PostgreSQL from npm, on a free port of 127.0.0.1. */
export async function startEmbeddedServer(options: EmbeddedServerOptions = {}): Promise<EmbeddedServer> {
  const binaries = await findBinaries();
  if (!binaries) throw missingBinaries("no package brings it along");
  const temporary = options.folder === undefined;
  const folder = prepareFolder(options.folder ?? mkdtempSync(path.join(tmpdir(), "millrace-")), binaries.user);
  const data = path.join(folder, "data");
  const password = await prepareData(binaries, folder, data);

  const settings = {
    listen_addresses: "127.0.0.1",
    port: String(await freePort()),
    unix_socket_directories: "",
    ...options.settings,
  };
  const flags = Object.entries(settings).flatMap(([key, value]) => ["-c", `${key}=${value}`]);
  const server = spawn(binaries.postgres, ["-D", data, ...flags], {
    ...binaries.user,
    stdio: ["ignore", "ignore", "pipe"],
    cwd: folder,
  });
  const stopWithUs = () => {
    server.kill(temporary ? "SIGQUIT" : "SIGINT");
    if (temporary) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  process.once("exit", stopWithUs);
  const callOff = temporary ? endWithUs(server.pid ?? 0, folder) : undefined;
  await ready(server);
  return {
    url: `postgres://postgres:${password}@127.0.0.1:${settings.port}/postgres`,
    port: Number(settings.port),
    pid: server.pid ?? 0,
    async stop(mode = "fast") {
      process.off("exit", stopWithUs);
      callOff?.();
      if (server.exitCode === null && server.signalCode === null) {
        const exited = once(server, "exit");
        server.kill(mode === "fast" ? "SIGINT" : "SIGQUIT");
        await exited;
      }
      if (temporary) rmSync(folder, { recursive: true, force: true });
    },
    unref() {
      server.unref();
      (server.stderr as Socket).unref();
    },
  };
}

/**
 * A folder that nobody else can change: what is in it is believed. Root's server runs as somebody else, who must come
 * through, but no further.
 */
function prepareFolder(given: string, user: ServerUser): string {
  mkdirSync(given, { recursive: true, mode: 0o700 });
  const folder = realpathSync(given);
  const { uid, mode } = lstatSync(folder);
  if (process.platform === "win32") return folder;
  if (uid === user.uid) chownSync(folder, process.getuid!(), process.getgid!());
  else if (!isOwner(uid)) throw new Error(`${given} belongs to another user: use a folder of your own`);
  if ((mode & 0o002) !== 0)
    throw new Error(
      `everybody may write to ${given}: use a folder of your own, or take that right away with chmod o-w`,
    );
  if (user.uid !== undefined && (mode & 0o001) === 0) chmodSync(folder, (mode & 0o7777) | 0o011);
  return folder;
}

/** Make the data, or take what is there. Returns the password. */
async function prepareData(binaries: Binaries, folder: string, data: string): Promise<string> {
  const known = readPassword(folder, binaries.user);
  const password = known ?? newPassword();
  if (existsSync(path.join(data, "PG_VERSION"))) {
    if (known === undefined) {
      await givePassword(binaries, data, password);
      writeSecret(passwordFile(folder), password, binaries.user);
    }
  } else {
    if (known === undefined) writeSecret(passwordFile(folder), password, binaries.user);
    await initialise(binaries, folder, data);
  }
  return password;
}

async function initialise(binaries: Binaries, folder: string, data: string): Promise<void> {
  const { uid, gid } = binaries.user;
  mkdirSync(data, { recursive: true, mode: 0o700 });
  if (uid !== undefined) chownSync(data, uid, gid ?? uid);
  const how = [
    "--auth=scram-sha-256",
    `--pwfile=${passwordFile(folder)}`,
    "--encoding=UTF8",
    "--locale=C",
    "--no-sync",
  ];
  const initdb = spawn(binaries.initdb, ["-D", data, "-U", "postgres", ...how], {
    ...binaries.user,
    stdio: ["ignore", "ignore", "pipe"],
    cwd: folder,
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
