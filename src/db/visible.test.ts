import { expect, it } from "vitest";
import { visible, visibleLines } from "./visible.js";

it("what moves the cursor, rings, reverses or hides is shown instead of done", () => {
  expect(visible("\u001B[2J\r\u0007\u0000\u007F\u009B1m")).toBe("\\u001b[2J\\r\\u0007\\u0000\\u007f\\u009b1m");
  expect(visible("\u202Egnp.exe\u2066\u200F\u200B\uFEFF\u2028\u{E0041}")).toBe(
    "\\u202egnp.exe\\u2066\\u200f\\u200b\\ufeff\\u2028\\udb40\\udc41",
  );
  expect(visible("a\nb\tc")).toBe("a\\nb\\tc");
  expect(visibleLines("a\nb\tc\r\u001B")).toBe("a\nb\tc\\r\\u001b");
});

it("what people write stays as it is", () => {
  for (const text of ["naïve", "עברית", "日本語", "👩‍💻", "می‌خواهم", "🏳️‍🌈", 'a "b" \\ c'])
    expect(visible(text)).toBe(text);
});

it("JSON stays the same JSON", () => {
  const value = { "a\u009B": "\u007F\u202E\u{E0041}\n\u001B" };
  const text = visibleLines(JSON.stringify(value, null, 2));
  expect(text).not.toMatch(/[\u007F-\u009F\u202E\u{E0041}]/u);
  expect(JSON.parse(text)).toEqual(value);
});
