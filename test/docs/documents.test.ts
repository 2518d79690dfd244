import { readFileSync, readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { anchorsOf, blocksOf, compileBlocks, deadLinks, documents, userBlocks } from "../../scripts/check-docs.mjs";

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

describe("links of documents", () => {
  it("lead somewhere, to their heading too", () => {
    const files = documents();
    expect(files).toContain("docs/steps.md");
    expect(files).toContain("src/worker/README.md");
    expect(files.flatMap((file) => deadLinks(file).map((link) => `${file}: ${link}`))).toEqual([]);
  });

  it("are found to be dead: a file that is gone, a heading that has another name", () => {
    const texts: Record<string, string> = {
      "docs/a.md":
        "# A\n[b](b.md) [part](b.md#the-second-part) [self](#a) [gone](c.md) [renamed](b.md#the-part) [no](#b)\n" +
        "[picture](x.png#a) [out](https://example.org/gone) `[code](gone.md)`\n```\n[code](gone.md)\n```\n",
      "docs/b.md": "# B\n## The `second` part\n",
    };
    const dead = deadLinks("docs/a.md", (file) => texts[file] ?? (file === "docs/x.png" ? true : undefined));
    expect(dead).toEqual(["c.md", "b.md#the-part", "#b", "x.png#a"]);
  });

  it("meet headings as forges name them", () => {
    const text = "# One (`two`): three\n## Same\n## Same\n```sh\n# no heading\n```\n## [Linked](x.md) übrig\n";
    expect(anchorsOf(text)).toEqual(["one-two-three", "same", "same-1", "linked-übrig"]);
  });
});

describe("blocks of TypeScript in what users read", () => {
  it("compile", () => {
    const blocks = userBlocks();
    expect(blocks.length).toBeGreaterThan(100);
    expect(compileBlocks(blocks).errors).toEqual([]);
  });

  it("are told by page and line when they do not", () => {
    const text = "# Page\n\n```ts\nconst a = 1;\nawait mill.enqueue(sendMail, { too: 1 });\n```\n";
    const [block] = blocksOf(text, "ts");
    expect(block).toMatchObject({ line: 4 });
    const { errors } = compileBlocks([{ file: "docs/page.md", ...block! }]);
    expect(errors[0]).toMatch(/^docs\/page\.md:5: error TS\d+: /);
  });

  it("are left out, and told, when a package is missing", () => {
    const file = "docs/page.md";
    const { errors, compiled, left } = compileBlocks([
      { file, line: 1, code: 'import { none } from "no-such-package";\nnone();\n' },
      { file, line: 9, code: 'import pg from "pg";\nnew pg.Client();\n' },
    ]);
    expect({ errors, compiled, left: left.map(({ line }) => line) }).toEqual({ errors: [], compiled: 1, left: [1] });
  });
});

describe("the index and the glossary", () => {
  const index = read("docs/README.md");

  it("the index names every document for users once, and the README leads to it", () => {
    const listed = [...index.matchAll(/^- \[[^\]]+\]\(([\w-]+\.md)\)/gm)].map(([, file]) => file!);
    const pages = readdirSync(new URL("../../docs/", import.meta.url)).filter(
      (file) => file.endsWith(".md") && file !== "README.md",
    );
    expect(listed.toSorted()).toEqual(pages.toSorted());
    expect(read("README.md")).toContain("(docs/README.md)");
  });

  it("the index names every example", () => {
    const files = readdirSync(new URL("../../examples/", import.meta.url)).filter((file) => file.endsWith(".ts"));
    expect(files.length).toBeGreaterThan(5);
    expect(files.filter((file) => !index.includes(`(../examples/${file})`))).toEqual([]);
  });

  it("the glossary explains the words of the inside, and leads to their own glossary", () => {
    const inside = read("docs/glossary.md").split("\n## Inside\n")[1]!;
    const engine = read("sql/README.md").split("\n## Glossary\n")[1]!;
    const words = [...inside.matchAll(/^\| (\w+) \| /gm)].map(([, word]) => word!).slice(1);
    expect(words.length).toBeGreaterThan(10);
    for (const word of words) expect(engine).toMatch(new RegExp(`^\\| ${word} \\| `, "m"));
    expect(read("docs/glossary.md")).toContain("(../sql/README.md#glossary)");
  });
});
