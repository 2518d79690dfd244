import { PassThrough } from "node:stream";
import { afterEach, describe, expect, it, vi } from "vitest";
import { type Exchange, BodyTooLargeError, BodyTooSlowError, readBody } from "./exchange.js";
import { patienceMs, slowestBytesPerSecond } from "./limits.js";
import { NoRoomError, Shares } from "./shares.js";

const shares = () => new Shares("memory", 3_000_000);

/** A request whose body comes as it is written. */
function request(headers: Record<string, string> = {}): { readonly body: PassThrough; readonly exchange: Exchange } {
  const body = new PassThrough();
  return { body, exchange: { request: Object.assign(body, { headers }) } as unknown as Exchange };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

afterEach(() => void vi.useRealTimers());

describe("readBody", () => {
  it("gives the bytes as they were sent, in whatever pieces", async () => {
    for (const pieces of [[""], ["a"], ["ab", "c", "defg", "h"], Array.from({ length: 1000 }, (_, i) => String(i))]) {
      const { body, exchange } = request();
      const read = readBody(exchange, 10_000, shares().hold("a"));
      for (const piece of pieces) body.write(piece);
      body.end();
      expect(String(await read)).toBe(pieces.join(""));
    }
  });

  it("holds what has arrived, and never much more", async () => {
    const memory = shares();
    const holding = memory.hold("a");
    const { body, exchange } = request({ "content-length": "1000000" });
    const read = readBody(exchange, 1_000_000, holding);
    await turn();
    expect(memory.heldBy("a")).toBe(0);
    for (let sent = 1000; sent < 1_000_000; sent += 1000) {
      body.write("x".repeat(1000));
      await turn();
      expect(memory.heldBy("a")).toBeGreaterThanOrEqual(sent);
      expect(memory.heldBy("a")).toBeLessThanOrEqual(Math.min(2 * sent, 1_000_000));
    }
    body.end("x".repeat(1000));
    expect(await read).toHaveLength(1_000_000);
    holding.end();
    expect(memory.heldBy("a")).toBe(0);
  });

  it("refuses what is longer than allowed, or than there is room for", async () => {
    await expect(readBody(request({ "content-length": "11" }).exchange, 10, shares().hold("a"))).rejects.toThrow(
      BodyTooLargeError,
    );
    for (const [limit, refusal] of [
      [10, BodyTooLargeError],
      [10_000_000, NoRoomError],
    ] as const) {
      const { body, exchange } = request();
      const read = expect(readBody(exchange, limit, shares().hold("a"))).rejects.toThrow(refusal);
      for (let i = 0; i < 40; i += 1) body.write("x".repeat(100_000));
      await read;
    }
  });

  it("refuses what comes too slowly, however it goes on, and waits for what does not", async () => {
    vi.useFakeTimers();
    const [slow, steady] = [request(), request()];
    const refused = expect(readBody(slow.exchange, 1_000_000, shares().hold("a"))).rejects.toThrow(BodyTooSlowError);
    const read = readBody(steady.exchange, 1_000_000, shares().hold("a"));
    for (let ms = 0; ms < 4 * patienceMs; ms += 1000) {
      if (ms < patienceMs) slow.body.write("x");
      steady.body.write("x".repeat(slowestBytesPerSecond + 1));
      await vi.advanceTimersByTimeAsync(1000);
    }
    await refused;
    steady.body.end();
    expect((await read).length).toBeGreaterThan(4 * (patienceMs / 1000) * slowestBytesPerSecond);
  });

  it("of a client that has gone is over", async () => {
    const { body, exchange } = request();
    const read = expect(readBody(exchange, 10, shares().hold("a"))).rejects.toThrow("gone");
    body.destroy();
    await read;
  });
});
