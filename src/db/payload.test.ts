import { describe, expect, it } from "vitest";
import { InvalidArgumentError } from "./errors.js";
import { payloadWhole } from "./payload.js";

describe("a payload of one piece", () => {
  const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);

  it.each([
    ["one chunk", [bytes(1, 2, 3)]],
    ["many chunks", [bytes(1), bytes(2), bytes(3)]],
    ["chunks that are empty", [bytes(), bytes(1, 2), bytes(), bytes(3), bytes()]],
  ])("is put together of %s", async (_, chunks) => {
    expect([...(await payloadWhole(chunks, 3))]).toEqual([1, 2, 3]);
  });

  it("may be empty", async () => {
    expect(await payloadWhole([], 0)).toHaveLength(0);
    expect(await payloadWhole([bytes()], 0)).toHaveLength(0);
  });

  it("does not keep a chunk that its source may use again", async () => {
    const reused = bytes(1);
    const source = function* () {
      yield reused;
      reused[0] = 2;
      yield reused;
    };
    expect([...(await payloadWhole(source(), 2))]).toEqual([1, 2]);
  });

  it.each([
    ["ends too early", [bytes(1, 2)]],
    ["has a chunk that is too long", [bytes(1, 2, 3, 4)]],
    ["goes on too long", [bytes(1, 2, 3), bytes(4)]],
  ])("is refused when it %s", async (_, chunks) => {
    await expect(payloadWhole(chunks, 3)).rejects.toThrow(InvalidArgumentError);
  });
});
