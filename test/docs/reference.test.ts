import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { checkReference, readReference } from "../../scripts/generate-reference.mjs";
import * as millrace from "../../src/index.js";
import * as testing from "../../src/testing/index.js";

const index = fileURLToPath(new URL("../../src/index.ts", import.meta.url));

/** The sources, except that the package exports more. */
const withMore = (code: string) => ({
  readFile: (path: string) => (path === index ? `${readFileSync(index, "utf8")}\n${code}\n` : undefined),
});

describe("the reference", () => {
  it("is what the sources say, and says something about every public symbol [#112]", () => {
    expect(checkReference()).toEqual([]);
    const { text } = readReference();
    for (const name of [...Object.keys(millrace), ...Object.keys(testing)]) expect(text).toContain(`\n### ${name} (`);
    expect(text).toContain("handle<Parsed, Out>(definition: ");
    expect(text).toContain("- `concurrency`: How many handlers may run at once. May be changed while the worker runs.");
  });

  it.each([
    ["an exported constant", "export const bare = 1;", "bare"],
    ["an exported interface", "export interface Bare { readonly a: number }", "Bare"],
    ["a method of an exported class", "/** Said. */ export class Half { bare(): void {} }", "Half.bare"],
    [
      "a property made by a constructor",
      "/** Said. */ export class Half { constructor(readonly bare: number) {} }",
      "Half.bare",
    ],
    ["a static property", "/** Said. */ export class Half { static bare = 1; }", "Half.bare"],
  ])("fails its check for %s without a doc comment [#112]", (_, code, name) => {
    expect(checkReference(withMore(code))).toEqual([
      `${name} has no doc comment`,
      expect.stringContaining("docs/reference.md is stale"),
    ]);
  });

  it("asks nothing of what users cannot touch [#112]", () => {
    const { undocumented } = readReference(
      withMore(
        "/** Said. */ export class Half { #a = 1; private b = 2; protected c = 3; constructor() { void [this.#a, this.b]; } }",
      ),
    );
    expect(undocumented).toEqual([]);
  });

  it("goes stale when a doc comment changes [#112]", () => {
    expect(checkReference(withMore("/** Said. */ export const said = 1;"))).toEqual([
      expect.stringContaining("docs/reference.md is stale"),
    ]);
  });
});
