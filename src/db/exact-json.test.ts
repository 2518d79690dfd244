import { expect, it } from "vitest";
import { ExactInteger, exactText, parseExact } from "./exact-json.js";

it("passes integers on as they were written, wherever they stand", () => {
  for (const text of [
    "9007199254740993",
    "-9007199254740993",
    '{"id":9007199254740993,"list":[18446744073709551615,1,-12345678901234567890],"in":{"id":9007199254740992}}',
    '["9007199254740993",": 9007199254740993,","\\"9007199254740993\\\\",9007199254740993]',
    '{"9007199254740993":0.1,"e":1e+21,"x":"\\u0000"}',
  ])
    expect(exactText(parseExact(text))).toBe(text);
  expect(exactText(parseExact("[ 123456789012345678 ]"), undefined, 2)).toBe("[\n  123456789012345678\n]");
});

it("reads everything else as JSON.parse does", () => {
  const text = '{"a":9007199254740991,"b":[1.5e300,-0,1234567890123456.5],"c":"x, 12345678901234567890 ","d":null}';
  expect(parseExact(text)).toEqual(JSON.parse(text));
  expect(parseExact('{"n": 12345678901234567890 }')).toEqual({ n: new ExactInteger("12345678901234567890") });
  for (const wrong of [
    "012345678901234567890",
    "{12345678901234567890:1}",
    "--12345678901234567890",
    "[1234567890123456789",
  ])
    expect(() => parseExact(wrong)).toThrow(SyntaxError);
});

it("leaves strings alone that look like its marks", () => {
  const text = exactText(new ExactInteger("1").toJSON().replace(/^millrace \w+/, "millrace abc"));
  expect(text).toBe('"millrace abc 1"');
});

it("counts and compares as a number, and shows itself as it is", () => {
  const exact = new ExactInteger("9007199254740993");
  expect([Number(exact), String(exact)]).toEqual([9007199254740992, "9007199254740993"]);
});
