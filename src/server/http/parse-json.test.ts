import { describe, expect, it } from "vitest";
import { TooDeepError, parseJson } from "./parse-json.js";

const parse = (text: string, levels?: number): unknown => parseJson(Buffer.from(text), levels);
const nested = (levels: number): string => `${"[".repeat(levels)}${"]".repeat(levels)}`;

describe("parseJson", () => {
  it("reads what JSON.parse reads", () => {
    for (const value of [null, 1, "a", "\\", '"', '\\"[', ["]", "{"], { a: { "}": ["\u0000é😀"] } }])
      expect(parse(JSON.stringify(value))).toEqual(value);
  });

  it("refuses what is deeper than told, and counts no brackets within texts", () => {
    expect(parse(nested(5), 5)).toEqual([[[[[]]]]]);
    expect(() => parse(nested(6), 5)).toThrow(TooDeepError);
    expect(() => parse(`{"a":${nested(5)}}`, 5)).toThrow(TooDeepError);
    expect(parse(JSON.stringify([[], [], `${nested(9)}"[[[[[[`, "\\"]), 2)).toHaveLength(4);
  });

  it("refuses what is no JSON, or no UTF-8", () => {
    for (const text of ["", "[", '"', '"\\', "]]]]", "[}"]) expect(() => parse(text), text).toThrow(SyntaxError);
    expect(() => parseJson(Buffer.from([0x22, 0xff, 0x22]))).toThrow(TypeError);
  });
});
