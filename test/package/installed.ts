import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../..", import.meta.url));

/** What `npm install millrace` gives a project: the packed package, and the packages that it depends on. */
export interface Installed {
  /** The project's folder. */
  readonly folder: string;
  readonly tarball: string;
  /** Write a file of the project. Its path. */
  write(name: string, text: string): string;
  remove(): void;
}

/**
 * Without a registry: packages are copied from where `npm ci` put them, and only those that are not for development.
 * `others`: what else the project installs.
 */
export function installPackage(manifest: object = { type: "module" }, others: readonly string[] = []): Installed {
  const folder = mkdtempSync(path.join(tmpdir(), "millrace-package-"));
  const tarball = path.join(folder, pack(folder));
  const modules = path.join(folder, "node_modules");
  const own = path.join(modules, "millrace");
  mkdirSync(own, { recursive: true });
  execFileSync("tar", ["-xzf", tarball, "-C", own, "--strip-components=1"]);
  for (const place of [...productionPackages(), ...others.map((name) => `node_modules/${name}`)])
    cpSync(path.join(root, place), path.join(folder, place), { recursive: true });
  writeFileSync(path.join(folder, "package.json"), JSON.stringify({ name: "newcomer", private: true, ...manifest }));
  return {
    folder,
    tarball,
    write(name, text) {
      const file = path.join(folder, name);
      mkdirSync(path.dirname(file), { recursive: true });
      writeFileSync(file, text);
      return file;
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** In a copy, because packing writes another README for as long as it lasts. */
function pack(folder: string): string {
  const copy = path.join(folder, "repository");
  for (const name of readdirSync(root))
    if (/^(dist|sql|docs|deploy|scripts|package\.json|LICENSE|.*\.md)$/.test(name))
      cpSync(path.join(root, name), path.join(copy, name), { recursive: true, filter: isOurs });
  const answer = execFileSync("npm", ["pack", "--json", "--silent", "--pack-destination", folder], {
    cwd: copy,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  rmSync(copy, { recursive: true });
  return (JSON.parse(answer) as { filename: string }[])[0]!.filename;
}

/** The packages of docs/site are 143 MB, once it was built. */
const isOurs = (source: string): boolean => path.basename(source) !== "node_modules";

function productionPackages(): string[] {
  const lock = JSON.parse(readFileSync(path.join(root, "package-lock.json"), "utf8")) as {
    packages: Record<string, { dev?: boolean; devOptional?: boolean }>;
  };
  return Object.entries(lock.packages)
    .filter(([place, { dev, devOptional }]) => place !== "" && !dev && !devOptional)
    .map(([place]) => place)
    .filter((place) => existsSync(path.join(root, place))); // optional ones of other platforms are not there
}

/** What a folder takes on disk, in blocks of 4 KiB. */
export function diskUse(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + Math.ceil(statSync(path.join(entry.parentPath, entry.name)).size / 4096) * 4096, 0);
}
