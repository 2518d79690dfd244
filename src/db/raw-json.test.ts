import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RawJson } from "./raw-json.js";

/** The texts of a list's items. */
function itemsOf(text: string): string[] {
  const json = new RawJson(text);
  const items: string[] = [];
  json.items(() => items.push(json.raw()));
  return items;
}

describe("a JSON text that is taken as it is", () => {
  it("keeps spaces, numbers, escapes and the order of members", () => {
    const items = [
      '{"b" : 1.0, "a":1e2,"b":[ ]}',
      "12345678901234567890.10",
      String.raw`"a \" b \\"`,
      String.raw`"\\\""`,
      String.raw`"\ud800 ]}"`,
      "[ 1 ,\n[] ]",
      "true",
      "null",
      '""',
      "{}",
    ];
    expect(itemsOf(`[${items.join(" ,\n ")}]`)).toEqual(items);
    expect(itemsOf(` [ ${items.join(",")} ] `)).toEqual(items);
    expect(itemsOf("[]")).toEqual([]);
    expect(itemsOf("[ ]")).toEqual([]);
  });

  it("gives every value back as it was written, whatever it is", () => {
    const space = fc.constantFrom(0, 1, "\t");
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), space, (values, spaces) => {
        const texts = itemsOf(JSON.stringify(values, null, spaces));
        expect(texts.map((text) => JSON.parse(text))).toEqual(JSON.parse(JSON.stringify(values)));
      }),
    );
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), space, (value, spaces) => {
        const json = new RawJson(JSON.stringify({ first: value, second: 1 }, null, spaces));
        const read: [string, unknown][] = [];
        json.members((name) => {
          if (name === "first") json.members((inner) => read.push([inner, json.value()]));
          else expect([name, json.value()]).toEqual(["second", 1]);
        });
        expect(read).toEqual(Object.entries(JSON.parse(JSON.stringify(value)) as object));
      }),
    );
  });

  it("a text that ends too early is an error, not a loop", () => {
    for (const text of ["[1", '["a', "[[1]", '[{"a":1}', "["]) expect(() => itemsOf(text)).toThrow(SyntaxError);
  });
});
