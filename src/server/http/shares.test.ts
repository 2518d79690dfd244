import { afterEach, describe, expect, it, vi } from "vitest";
import { NoRoomError, Shares } from "./shares.js";

const takeAll = (shares: Shares, who: string): number => {
  while (shares.take(who));
  return shares.heldBy(who);
};

/** Work that ends when told. */
function busy(
  shares: Shares,
  who: string,
): { readonly done: Promise<void>; readonly end: () => void; isRunning: boolean } {
  const { promise, resolve } = deferred();
  const work = { isRunning: false, end: resolve, done: Promise.resolve() };
  work.done = shares.use(who, () => {
    work.isRunning = true;
    return promise;
  });
  return work;
}

function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((done) => (resolve = done));
  return { promise, resolve };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

afterEach(() => void vi.useRealTimers());

describe("Shares", () => {
  it("leave something for whoever comes next, however many there are", () => {
    const shares = new Shares("places", 200);
    expect(takeAll(shares, "a")).toBe(133);
    expect(takeAll(shares, "b")).toBe(44);
    for (const who of ["c", "d", "e", "f"]) expect(takeAll(shares, who), who).toBeGreaterThan(0);
  });

  it("become even as they are given back", () => {
    const shares = new Shares("places", 100);
    takeAll(shares, "a");
    for (let i = 0; i < 1000; i += 1) {
      const who = i % 2 === 0 ? "a" : "b";
      takeAll(shares, who === "a" ? "b" : "a");
      if (shares.heldBy(who) > 0) shares.give(who);
    }
    expect(Math.abs(shares.heldBy("a") - shares.heldBy("b"))).toBeLessThan(5);
  });

  it("give the last one to somebody who has none, even when there is but one", () => {
    const one = new Shares("places", 1);
    expect([one.take("a"), one.take("b")]).toEqual([true, false]);
    const two = new Shares("places", 2);
    expect([two.take("a"), two.take("a"), two.take("b"), two.take("c")]).toEqual([true, false, true, false]);
  });

  it("of many small pieces are the same as of one", () => {
    const shares = new Shares("bytes", 900);
    const holding = shares.hold("a");
    holding.grow(300);
    holding.grow(300);
    expect(() => holding.grow(1)).toThrow(NoRoomError);
    expect(shares.take("b", 100)).toBe(true);
    holding.end();
    holding.end();
    expect(shares.heldBy("a")).toBe(0);
    expect(shares.take("a", 500)).toBe(true);
  });

  it("who waits, waits in a line of their own, in the order of coming", async () => {
    const shares = new Shares("places", 3);
    const [first, second, third, fourth] = [busy(shares, "a"), busy(shares, "a"), busy(shares, "a"), busy(shares, "a")];
    const other = busy(shares, "b");
    await settled();
    expect([first, second, third, fourth, other].map(({ isRunning }) => isRunning)).toEqual([
      true,
      true,
      false,
      false,
      true,
    ]);
    other.end();
    second.end();
    await settled();
    expect([third, fourth].map(({ isRunning }) => isRunning)).toEqual([true, false]);
    for (const work of [first, third, fourth]) work.end();
    await Promise.all([first, second, third, fourth, other].map(({ done }) => done));
    expect([shares.heldBy("a"), shares.heldBy("b")]).toEqual([0, 0]);
  });

  it("of two lines, the one whose owner holds less goes first", async () => {
    const shares = new Shares("places", 3);
    const [a, more] = [busy(shares, "a"), busy(shares, "a")];
    const c = busy(shares, "c");
    const [waits, came] = [busy(shares, "a"), busy(shares, "b")];
    await settled();
    more.end();
    await settled();
    expect([waits.isRunning, came.isRunning]).toEqual([false, true]);
    for (const work of [a, c, waits, came]) work.end();
    await Promise.all([waits.done, came.done]);
  });

  it("what fails gives its place back", async () => {
    const shares = new Shares("places", 1);
    await expect(shares.use("a", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect(shares.take("b")).toBe(true);
  });

  it("a line has an end, and waiting too", async () => {
    vi.useFakeTimers();
    const shares = new Shares("places", 1, { maxWaiting: 1, waitMs: 1000 });
    await shares.wait("a");
    const waiting = expect(shares.wait("a")).rejects.toMatchObject({ name: "NoRoomError", who: "a", what: "places" });
    await expect(shares.wait("a")).rejects.toThrow(NoRoomError);
    await vi.advanceTimersByTimeAsync(1000);
    await waiting;
    shares.give("a");
    await shares.wait("a");
  });
});
