import { describe, expect, it } from "vitest";
import { isStorableJson } from "./json-text.js";

const nested = (levels: number, text = "") => `${`[${text}`.repeat(levels)}1${"]".repeat(levels)}`;

describe("JSON that PostgreSQL keeps and reads again", () => {
  it.each([
    "{}",
    "[]",
    '{ "a" : 1 }',
    String.raw`["\ud83d\ude00"]`,
    String.raw`["\\\ud83d\ude00"]`,
    nested(100),
    nested(100, '"[{\\"[",'),
  ])("%s", (text) => {
    expect(isStorableJson(text)).toBe(true);
  });

  it.each([
    "",
    "1",
    '"a"',
    " {}",
    "{}\n",
    "{]",
    "{a}",
    String.raw`["\u0000"]`,
    String.raw`["\ud800"]`,
    String.raw`["\uDC00"]`,
    String.raw`["\ude00\ud83d"]`,
    String.raw`["\\ud83d\ude00"]`, // an escaped backslash, some letters, and half a pair
    String.raw`["\ud83d\\\ude00"]`,
    nested(101),
    nested(101, '"]",'),
    nested(101, String.raw`"\\","]\"]",`),
  ])("is not %s [#19]", (text) => {
    expect(isStorableJson(text)).toBe(false);
  });
});
