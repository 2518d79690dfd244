import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { checkImports, readImports } from "../../scripts/check-imports.mjs";

describe("imports", () => {
  it("point one way, between folders and between files", () => {
    const imports = readImports(fileURLToPath(new URL("../../src", import.meta.url)));
    expect(imports.get("db/engine.ts")).toContain("db/verbs/cells.ts");
    expect(checkImports(imports)).toEqual([]);
  });

  it.each([
    {
      what: "a folder that may not be imported",
      imports: { "low/a.ts": ["high/b.ts"], "high/b.ts": ["low/c.ts"] },
      below: { low: [], high: ["low"] },
      finding: "src/low/a.ts imports high: low may import nothing",
    },
    {
      what: "a folder nobody has named",
      imports: { "new/a.ts": ["low/c.ts"] },
      below: { low: [] },
      finding: "src/new/a.ts imports low: new may import nothing",
    },
    {
      what: "a table with a circle",
      imports: { "low/a.ts": ["high/b.ts"], "high/b.ts": ["mid/c.ts"], "mid/c.ts": ["low/d.ts"] },
      below: { low: ["high"], high: ["mid"], mid: ["low"] },
      finding: "folders in a circle: low → high → mid → low",
    },
    {
      what: "files in a circle, within one folder",
      imports: { "low/a.ts": ["low/b.ts"], "low/b.ts": ["low/c.ts"], "low/c.ts": ["low/b.ts"] },
      below: { low: [] },
      finding: "files in a circle: low/b.ts → low/c.ts → low/b.ts",
    },
    {
      what: "a permission nobody uses",
      imports: { "high/b.ts": [] },
      below: { low: [], high: ["low"] },
      finding: "high may import low, but does not: take it out of the table",
    },
  ])("fail their check for $what", ({ imports, below, finding }) => {
    expect(checkImports(new Map(Object.entries(imports)), below)).toEqual([finding]);
  });
});
