import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../../", import.meta.url));
const read = (file: string): string => readFileSync(`${root}${file}`, "utf8");
const listed = [...read("docs/statements.md").matchAll(/^(\d+)\. \([MSC]\) \[([a-z0-9-]+)\] \S/gm)];

/** The numbers in `[#1]` or `[#1 #2]`. */
const numbersIn = (text: string): number[] =>
  [...text.matchAll(/\[(#\d+(?: #\d+)*)\]/g)].flatMap(([, list]) => list!.split(" ").map((n) => Number(n.slice(1))));

describe("the statements that titles of tests refer to", () => {
  const numbers = new Set(listed.map(([, number]) => Number(number)));

  it("are numbered without a gap, each with a name of its own", () => {
    expect([...numbers]).toEqual(Array.from({ length: listed.length }, (_, index) => index + 1));
    expect(listed.length).toBeGreaterThanOrEqual(241);
    expect(new Set(listed.map(([, , name]) => name)).size).toBe(listed.length);
    expect(read("docs/statements.md").match(/^\d+\. /gm)).toHaveLength(listed.length);
  });

  const tests = ["test", "src", "chaos"].flatMap((folder) =>
    readdirSync(root + folder, { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts") && !file.includes("node_modules"))
      .map((file) => `${folder}/${file}`),
  );
  const named = tests.flatMap((file) => numbersIn(read(file)).map((number) => ({ file, number })));

  it("exist", () => {
    expect(named.length).toBeGreaterThan(500);
    expect(named.filter(({ number }) => !numbers.has(number))).toEqual([]);
  });

  it("are all there are", () => {
    const shown = new Set(named.map(({ number }) => number));
    expect([...numbers].filter((number) => !shown.has(number))).toEqual([]);
  });

  it("are found wherever they stand in a title", () => {
    expect(numbersIn("x [#1] [#22 #33], not [4], #5 or (#6)")).toEqual([1, 22, 33]);
  });
});
