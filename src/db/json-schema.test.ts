import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { parseExact } from "./exact-json.js";
import { schemaIssues } from "./json-schema.js";

const order = {
  type: "object",
  required: ["to", "lines"],
  additionalProperties: false,
  properties: {
    to: { type: "string", minLength: 1, maxLength: 3, pattern: "^[a-z]+$" },
    lines: { type: "array", minItems: 1, maxItems: 2, items: { $ref: "#/$defs/line" } },
    kind: { enum: ["a", { b: [1] }] },
    one: { const: 1 },
    or: { anyOf: [{ type: "string" }, { type: "object", required: ["x"], properties: { x: { type: "null" } } }] },
  },
  $defs: { line: { type: "object", properties: { n: { type: "integer", minimum: 1, exclusiveMaximum: 10 } } } },
};
const good = { to: "ann", lines: [{ n: 1 }] };

describe("a JSON Schema", () => {
  it.each<[string, object, string]>([
    ["a missing member", { lines: [{}] }, "to is missing"],
    ["an unknown member", { ...good, cc: "bob" }, "cc is not known"],
    ["another type", { ...good, to: 5 }, "to is not of type string"],
    ["a text that is too long", { ...good, to: "anna" }, "to has more than 3 characters"],
    ["one that does not match", { ...good, to: "A" }, "to does not match ^[a-z]+$"],
    ["too few items", { ...good, lines: [] }, "lines has fewer than 1 items"],
    ["too many items", { ...good, lines: [{}, {}, {}] }, "lines has more than 2 items"],
    ["a fraction, through a reference", { ...good, lines: [{ n: 1.5 }] }, "lines.0.n is not of type integer"],
    ["a number that is too small", { ...good, lines: [{}, { n: 0 }] }, "lines.1.n is less than 1"],
    ["a number at an open end", { ...good, lines: [{ n: 10 }] }, "lines.0.n is not below 10"],
    ["none of some values", { ...good, kind: { b: [2] } }, "kind is none of the values that are allowed"],
    ["another constant", { ...good, one: "1" }, "one is not the one value that is allowed"],
    ["none of the choices", { ...good, or: 5 }, "or fits none of the choices"],
    ["one that is nearly a choice", { ...good, or: { x: 5 } }, "or.x is not of type null"],
  ])("refuses %s, by its path", (_, value, told) => {
    expect(schemaIssues(order, value).map(({ path, message }) => `${path} ${message}`)).toEqual([told]);
  });

  it("accepts what fits, in every form", () => {
    expect(schemaIssues(order, { ...good, kind: { b: [1] }, one: 1, or: { x: null } })).toEqual([]);
    expect(schemaIssues({ type: "integer", minimum: 5 }, parseExact("9007199254740993"))).toEqual([]);
    expect(schemaIssues({ type: ["string", "null"] }, undefined)).toEqual([]);
    expect(schemaIssues({ items: [{ type: "string" }], additionalItems: { type: "number" } }, ["a", 1])).toEqual([]);
    expect(schemaIssues({ properties: { constructor: { type: "string" } }, required: ["toString"] }, {})).toHaveLength(
      1,
    );
    const tree = { type: "object", properties: { next: { $ref: "#" }, n: { type: "number" } } };
    expect(schemaIssues(tree, { next: { next: { n: "x" } } })).toEqual([
      { path: "next.next.n", message: "is not of type number" },
    ]);
  });

  it("passes over what it does not know, or cannot afford to ask", () => {
    const patient = "a".repeat(150);
    for (const schema of [
      null,
      5,
      { type: "decimal" },
      { format: "email", not: {}, if: {}, else: false },
      { $ref: "https://example.com/other.json" },
      { $ref: "#/$defs/nobody", type: "number" },
      { $ref: "#" },
      { allOf: [{ $ref: "#" }] },
      { pattern: "^(a+)+$b" }, // would take for ever
      { pattern: "(?<!" },
      { oneOf: [{ format: "date" }, { format: "time" }] },
      { patternProperties: { "^x": {} }, additionalProperties: false },
    ])
      expect(schemaIssues(schema, patient), JSON.stringify(schema)).toEqual([]);
    const wide = { anyOf: Array.from({ length: 50 }, () => ({ items: { $ref: "#" } })) };
    const deep = JSON.parse(`${"[".repeat(400)}${"]".repeat(400)}`) as unknown;
    expect(schemaIssues(wide, deep)).toEqual([]);
  });

  it("never refuses what the library that made it accepts", () => {
    const schemas = [
      z.object({ id: z.uuid().optional(), n: z.int().min(-5).max(5), tags: z.array(z.string().max(3)).optional() }),
      z.strictObject({ a: z.union([z.string(), z.number().gt(0), z.null()]), b: z.record(z.string(), z.boolean()) }),
      z.discriminatedUnion("k", [z.object({ k: z.literal("x"), v: z.string() }), z.object({ k: z.literal("y") })]),
      z.tuple([z.string(), z.number()]).rest(z.boolean()),
      z.string().regex(/^[a-z]{2,5}-\d+$/),
    ].map((schema) => [schema, z.toJSONSchema(schema, { io: "input" })] as const);
    const word = fc.constantFrom("a", "b", "k", "v", "n", "id", "x", "y", "tags", "ab-7");
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        { maxDepth: 4 },
        word,
        fc.integer({ min: -9, max: 9 }),
        fc.double({ noNaN: true }),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie("any"), { maxLength: 3 }),
        fc.dictionary(word, tie("any"), { maxKeys: 4 }),
        fc.record({ k: fc.constantFrom("x", "y"), v: word }),
        fc.record({ n: fc.integer({ min: -6, max: 6 }), tags: fc.array(word, { maxLength: 2 }) }),
        fc.record({ a: tie("any"), b: fc.dictionary(word, fc.boolean()) }),
      ),
    })).any;
    fc.assert(
      fc.property(value, fc.nat(schemas.length - 1), (one, n) => {
        const [schema, asJson] = schemas[n]!;
        if (schema.safeParse(one).success) expect(schemaIssues(asJson, one)).toEqual([]);
      }),
      { numRuns: 3000 },
    );
  });
});
