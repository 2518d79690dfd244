import { expect, it } from "vitest";
import { bytes, duration, oneLine } from "./format.js";
import { displayUrl, redact } from "./redact.js";
import { textTable } from "./text-table.js";

it("durations and sizes are short", () => {
  expect([3, 4200, 65_000, 7_800_000, 90_000_000].map(duration)).toEqual([
    "3 ms",
    "4.2 s",
    "1 min 5 s",
    "2 h 10 min",
    "1 d 1 h",
  ]);
  expect([0, 512, 2048, 350 * 1024, 5 * 1024 ** 3].map(bytes)).toEqual([
    "0 B",
    "512 B",
    "2.0 KiB",
    "350 KiB",
    "5.0 GiB",
  ]);
});

it("a table lines up, shows control characters and ends where the terminal does", () => {
  const rows = [
    ["a", "10", "all\u001B[31m well"],
    ["bcd", "5", "x".repeat(30)],
  ];
  expect(textTable([{ title: "NAME" }, { title: "N", align: "right" }, { title: "REMARK" }], rows, 20)).toEqual([
    "NAME   N  REMARK",
    "a     10  all\\u001b…",
    "bcd    5  xxxxxxxxx…",
  ]);
  expect(oneLine("a\nb")).toBe("a b");
});

it("passwords in URLs are not shown", () => {
  expect(redact("at postgres://ann:s3:c@ret@host:5432/app, twice amqp://a:b@c")).toBe(
    "at postgres://ann:***@host:5432/app, twice amqp://a:***@c",
  );
  expect(redact("postgres://host/app?user=a&password=s3cret&sslmode=require")).toBe(
    "postgres://host/app?user=a&password=***&sslmode=require",
  );
  expect(redact("see https://example.com/a:b and mail ann@example.com")).toBe(
    "see https://example.com/a:b and mail ann@example.com",
  );
  expect(displayUrl("postgres://ann:s3cret@host:5432/app?password=x")).toBe("postgres://ann@host:5432/app");
  expect(displayUrl("nonsense")).toBe("the given database");
});
