import { existsSync, readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../../", import.meta.url));
const read = (file: string) => readFileSync(path.join(root, file), "utf8");
const folders = ["bench", "chaos", "dashboard", "deploy", "docs", "examples", "scripts", "sql", "src", "test"];
const files = [
  ...readdirSync(root),
  ...folders.flatMap((folder) =>
    readdirSync(path.join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((file) => !/(^|\/)(node_modules|dist|results|\.blocks-\d+)\//.test(file))
      .map((file) => `${folder}/${file}`),
  ),
];
const texts = files.filter((file) => /(^|\/)(README|ARCHITECTURE|CONTRIBUTING)\.md$/.test(file));
/** What is made when something is installed or runs is not there before. */
const ignored = read(".gitignore").trim().split("\n");
const isMade = (word: string) => ignored.some((made) => word === made || `${word}/`.endsWith(`/${made}`));

/** What is written like a path of ours: with a folder of the repository in front, or a file of a kind that we have. */
const isPath = (word: string) =>
  new RegExp(`^(\\.\\.?|${folders.join("|")})/[\\w./-]*$`).test(word) || /^[\w/-]+\.(ts|tsx|mjs|sql)$/.test(word);

/** Paths in a text, in quotes of code or as targets of links. Blocks of code are examples, and left out. */
function pathsIn(text: string): string[] {
  const prose = text.replaceAll(/^```[\s\S]*?^```/gm, "");
  const quoted = [...prose.matchAll(/`([^`\s]+)`/g)].map(([, word]) => word!).filter(isPath);
  const linked = [...prose.matchAll(/\]\(([^)#\s]+)[^)]*\)/g)].map(([, target]) => target!);
  return [...quoted, ...linked.filter((target) => !/^https?:/.test(target))];
}

/** From the text's own folder, from the root, or, when only the end of it is given, anywhere. */
const isThere = (word: string, from: string) =>
  existsSync(path.join(root, path.dirname(from), word)) ||
  existsSync(path.join(root, word)) ||
  isMade(word) ||
  files.some((file) => file.endsWith(`/${word}`));

it("every folder of src has a README", () => {
  const subsystems = readdirSync(path.join(root, "src"), { withFileTypes: true }).filter((entry) =>
    entry.isDirectory(),
  );
  const without = subsystems.filter(({ name }) => !files.includes(`src/${name}/README.md`)).map(({ name }) => name);
  expect(without).toEqual([]);
});

describe("files that are named in", () => {
  it.each(texts)("%s exist", (file) => {
    const missing = pathsIn(read(file)).filter((word) => !isThere(word, file));
    expect(missing).toEqual([]);
  });

  it("sources and other documents exist", () => {
    const others = files.filter((file) => /\.(ts|tsx|mjs|sql|md)$/.test(file) && !/\.generated\.|CHANGELOG/.test(file));
    const named = new RegExp(`(?<![\\w./"-])(?:${folders.join("|")})/[\\w./-]*\\.(?:ts|tsx|mjs|sql|md)\\b`, "g");
    const found = others.flatMap((file) => [...read(file).matchAll(named)].map(([word]) => ({ file, word })));
    expect(found.length).toBeGreaterThan(100);
    expect(found.filter(({ word }) => !existsSync(path.join(root, word)))).toEqual([]);
  });

  it("a text are found, wherever they stand, and missed when they are gone", () => {
    const text =
      "See `gone.sql`, `sql/gone/`, [it](gone.md#part) and [that](https://example.org/gone).\n```\n`x.ts`\n```";
    expect(pathsIn(text)).toEqual(["gone.sql", "sql/gone/", "gone.md"]);
    expect(pathsIn(text).filter((word) => isThere(word, "README.md"))).toEqual([]);
    expect(texts).toContain("ARCHITECTURE.md");
    expect(pathsIn(read("ARCHITECTURE.md")).length).toBeGreaterThan(50);
  });
});
