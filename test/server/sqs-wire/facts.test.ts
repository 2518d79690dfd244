import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { hasIllegalCharacters } from "../../../src/server/sqs/wire/characters.js";
import { md5OfAttributes, md5OfBody } from "../../../src/server/sqs/wire/md5.js";
import { queueOfPath, queueOfUrl } from "../../../src/server/sqs/wire/queue-url.js";

const text = (StringValue: string) => ({ DataType: "String", StringValue });

describe("hashes, as AWS gave them", () => {
  it("of bodies", () => {
    expect(md5OfBody('{"message_index":1}')).toBe("4504dd781f625d681c31cda87e260702");
    expect(md5OfBody('{"message_index":10}')).toBe("b97810466bfafd8a6087635e092392fb");
    expect(md5OfBody('{"message_index')).toBe("4775179c76b547146c16db868a6848a7");
    expect(md5OfBody("\uFFFD\uFFFD\uFFFD\uFFFD")).toBe("4906fc8bbfeecb5625100a7b6edf9f7a");
  });

  it("of attributes, in whatever order they come", () => {
    expect(md5OfAttributes({ "test-key": text("test-value") })).toBe("befa18540a897f7d022bf07057754a03");
    expect(md5OfAttributes({ "test-key-alt": text("test-value-alt"), "test-key": text("test-value") })).toBe(
      "2256c3b617e2b4b3ae4f2d455dcf54d0",
    );
    expect(
      md5OfAttributes({
        AWSTraceHeader: text("Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"),
      }),
    ).toBe("5ae4d5d7636402d80f4eb6d213245a88");
    expect(md5OfAttributes({})).toBeUndefined();
    expect(md5OfAttributes(undefined)).toBeUndefined();
  });

  it("of bytes, of types with a label, and of names sorted as bytes", () => {
    // By hand: length and name, length and type, a marker, length and value.
    const hand = (...hex: string[]) =>
      createHash("md5")
        .update(Buffer.from(hex.join(""), "hex"))
        .digest("hex");
    const binary = ["00000001", "62", "00000006", "42696e617279", "02", "00000003", "00ff80"];
    const number = ["00000001", "6e", "0000000a", "4e756d6265722e696e74", "01", "00000002", "2d37"];
    expect(md5OfAttributes({ b: { DataType: "Binary", BinaryValue: Buffer.from([0, 255, 128]) } })).toBe(
      hand(...binary),
    );
    expect(
      md5OfAttributes({
        n: { DataType: "Number.int", StringValue: "-7" },
        b: { DataType: "Binary", BinaryValue: Buffer.from([0, 255, 128]) },
      }),
    ).toBe(hand(...binary, ...number));
    // U+FFFD comes before U+1F600 in bytes, and after it in UTF-16.
    const entry = (name: string) => [
      "0000000" + name.length / 2,
      name,
      "00000006",
      "537472696e67",
      "01",
      "00000001",
      "78",
    ];
    expect(md5OfAttributes({ "\u{1F600}": text("x"), "\uFFFD": text("x") })).toBe(
      hand(...entry("efbfbd"), ...entry("f09f9880")),
    );
  });
});

it("characters: those XML has, and no others", () => {
  for (const legal of ["", "\t\n\r ~\u007F\u0085\uD7FF\uE000\uFFFD", "\u{10000}\u{10FFFF}😀"])
    expect(hasIllegalCharacters(legal)).toBe(false);
  for (const illegal of ["\u0000", "\b", "\u000B", "\u001F", "\uD800", "a\uDC00b", "\uDE00\uD83D", "\uFFFE", "\uFFFF"])
    expect(hasIllegalCharacters(illegal)).toBe(true);
});

describe("queue addresses", () => {
  it.each([
    ["https://sqs.eu-west-1.amazonaws.com/123456789012/name.fifo", "123456789012", "name.fifo"],
    ["https://127.0.0.1:52478/360888705397/name", "360888705397", "name"],
    ["http://host/prefix/123456789012/name/", "123456789012", "name"],
    ["http://host/123456789012/name?Action=x#y/z", "123456789012", "name"],
    ["/123456789012/name", "123456789012", "name"],
    ["name", undefined, "name"],
  ])("%s", (url, account, name) =>
    expect(queueOfUrl(url)).toEqual(account === undefined ? { name } : { account, name }),
  );

  it.each(["", "/", "http://whatever-incorrect-queue-address", "http://host/", "http://host?a/b", "//"])(
    "%s is none",
    (url) => expect(queueOfUrl(url)).toBeUndefined(),
  );

  it("of paths", () => {
    expect(queueOfPath("/1/q")).toEqual({ account: "1", name: "q" });
    expect(queueOfPath("/1/q/")).toEqual({ account: "1", name: "q" });
    for (const path of ["/", "/1", "/1/", "/a/b/c", ""]) expect(queueOfPath(path)).toBeUndefined();
  });
});
