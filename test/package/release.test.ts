import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { packedReadme } from "../../scripts/pack-readme.mjs";
import { dated, notesOf, obstacles } from "../../scripts/release.mjs";
import { commands } from "../../src/cli/table.js";
import { type Installed, installPackage, root } from "./installed.js";

const read = (file: string): string => readFileSync(path.join(root, file), "utf8");
const manifest = JSON.parse(read("package.json")) as { version: string; engines: { node: string } };

let installed: Installed;
let own: string;
beforeAll(() => {
  installed = installPackage();
  own = path.join(installed.folder, "node_modules/millrace");
});
afterAll(() => installed.remove());

describe("the README that is packed", () => {
  const links = (text: string): string[] => [...text.matchAll(/\]\(([^)]+)\)/g)].map(([, target]) => target!);

  it("has no link that a registry's page cannot follow, and names only files that are in the package", () => {
    const text = readFileSync(path.join(own, "README.md"), "utf8");
    expect(links(text).filter((target) => !/^(https:|#)/.test(target))).toEqual([]);
    const named = [...text.matchAll(/`([\w/-]+\.md)`/g)].map(([, name]) => name!);
    expect(named.length).toBeGreaterThan(15);
    expect(named.filter((name) => !existsSync(path.join(own, name)))).toEqual([]);
    expect(text).not.toContain("npm ci");
  });

  it("leads to the public home, once there is one", () => {
    const text = packedReadme(read("README.md"), "https://forge.example/millrace", "1.2.3");
    expect(links(text)).toContain("https://forge.example/millrace/blob/v1.2.3/docs/steps.md");
  });

  it("is another than that of the repository, which is back when the tarball is there", () => {
    expect(read("README.md")).toContain("npm ci && npm test");
    expect(existsSync(path.join(root, ".readme-of-the-repository"))).toBe(false);
  });
});

describe("the command line of the package", () => {
  it("refers to no document that is not there", () => {
    const main = path.join(own, "dist/cli/main.js");
    const texts = commands
      .filter(({ details }) => details?.join(" ").includes("docs/"))
      .map(({ name }) => execFileSync(process.execPath, [main, ...name.split(" "), "--help"], { encoding: "utf8" }));
    expect(texts.length).toBeGreaterThan(0);
    for (const text of texts) {
      const named = [...text.matchAll(/^ +(\/\S+\.md)$/gm)].map(([, name]) => name!);
      expect(named.length).toBeGreaterThan(0);
      expect(named.filter((name) => !existsSync(name))).toEqual([]);
    }
  });
});

describe("a release", () => {
  const changelog = "# Changelog\n\n## 1.1.0 (unreleased)\n\n- New.\n\n## 1.0.0 (2026-01-02)\n\n- First.\n";

  it("has the notes of its version, and its day", () => {
    expect(notesOf(changelog, "1.1.0")).toBe("- New.");
    expect(notesOf(changelog, "1.0.0")).toBe("- First.");
    expect(notesOf(changelog, "1.1")).toBeUndefined();
    expect(notesOf(dated(changelog, "1.1.0", "2026-03-04"), "1.1.0")).toBe("- New.");
    expect(dated(changelog, "1.1.0", "2026-03-04")).toContain("## 1.1.0 (2026-03-04)");
    expect(notesOf(read("CHANGELOG.md"), manifest.version)).toBeDefined();
  });

  it("is refused while anything stands in its way", () => {
    const good = { version: "1.1.0", notes: "- New.", isClean: true, tags: ["v1.0.0"], repository: "https://x" };
    expect(obstacles(good)).toEqual([]);
    expect(obstacles({ ...good, isClean: false })).toHaveLength(1);
    expect(obstacles({ ...good, tags: ["v1.1.0"] })).toHaveLength(1);
    expect(obstacles({ ...good, notes: undefined })).toHaveLength(1);
    expect(obstacles({ ...good, repository: undefined })).toHaveLength(1);
  });

  it("is checked on every supported Node and PostgreSQL", () => {
    const workflow = read(".github/workflows/check.yml");
    expect(workflow).toContain("node: [20, 22, 24]");
    expect(workflow).toContain("postgres: [14, 15, 16, 17, 18]");
    expect(workflow).toContain("npm ci && npm test");
    for (const [, folders] of workflow.matchAll(/vitest run (.+)$/gm))
      for (const folder of folders!.split(" ")) expect(existsSync(path.join(root, folder))).toBe(true);
  });
});
