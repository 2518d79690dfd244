import { describe, expect, it, vi } from "vitest";
import type { SqsEngine, SqsMessageRecord } from "../../db/sqs-engine.js";
import { Reception } from "./reception.js";

const message = (id: string): SqsMessageRecord => ({
  id,
  token: "t",
  body: id,
  attempt: 1,
  receivedAt: 0,
  firstReceivedAt: 0,
  group: null,
  fingerprint: null,
  headers: null,
  source: null,
});

/** A queue whose claims are answered by hand. */
function setUp() {
  const claims: {
    readonly limit: number;
    readonly seconds: number;
    readonly answer: (ids: string[], more?: boolean) => void;
    readonly fail: (error: Error) => void;
  }[] = [];
  const givenBack: string[] = [];
  const engine = {
    receive: (_queue: string, limit: number, seconds: number) =>
      new Promise((resolve, reject) =>
        claims.push({
          limit,
          seconds,
          answer: (ids, more = false) => resolve({ messages: ids.map(message), more }),
          fail: reject,
        }),
      ),
  } as unknown as SqsEngine;
  const reception = new Reception(
    engine,
    "q",
    false,
    async (messages) => void givenBack.push(...messages.map(({ id }) => id)),
  );
  const receive = (most: number, waitSeconds = 0, visibilitySeconds = 30) => {
    const gone = new AbortController();
    const got = reception
      .receive({ most, waitSeconds, visibilitySeconds, signal: gone.signal })
      .then((messages) => messages.map(({ id }) => id));
    return { got, gone };
  };
  return { claims, givenBack, reception, receive };
}

/** Until those who came have been gathered. */
const settled = async (): Promise<void> => {
  for (let turns = 0; turns < 8; turns += 1) await new Promise((resolve) => setImmediate(resolve));
};

describe("receivers of one queue", () => {
  it("share a claim; who comes while it is on its way is part of the next", async () => {
    const { claims, receive } = setUp();
    const first = [receive(2), receive(3)];
    await settled();
    expect(claims.map(({ limit }) => limit)).toEqual([5]);
    const later = [receive(1), receive(10)];
    await settled();
    expect(claims).toHaveLength(1);
    claims[0]!.answer(["a", "b", "c"]);
    expect(await Promise.all(first.map(({ got }) => got))).toEqual([["a", "b"], ["c"]]);
    await settled();
    expect(claims[1]!.limit).toBe(11);
    claims[1]!.answer([]);
    expect(await Promise.all(later.map(({ got }) => got))).toEqual([[], []]);
  });

  it("with other visibility timeouts have a claim of their own", async () => {
    const { claims, receive } = setUp();
    const all = [receive(1, 0, 30), receive(1, 0, 0), receive(1, 0, 30)];
    await settled();
    expect(claims.map(({ limit, seconds }) => [limit, seconds])).toEqual([[2, 30]]);
    claims[0]!.answer(["a", "b"]);
    await settled();
    expect(claims[1]).toMatchObject({ limit: 1, seconds: 0.001 });
    claims[1]!.answer(["c"]);
    expect(await Promise.all(all.map(({ got }) => got))).toEqual([["a"], ["c"], ["b"]]);
  });

  it("who hang up while a claim is on its way leave its messages to others", async () => {
    const { claims, receive, givenBack } = setUp();
    const [gone, patient] = [receive(2, 20), receive(1, 20)];
    await settled();
    gone.gone.abort();
    expect(await gone.got).toEqual([]);
    const newcomer = receive(1, 20);
    claims[0]!.answer(["a", "b", "c"]);
    expect(await patient.got).toEqual(["a"]);
    expect(await newcomer.got).toEqual(["b"]);
    expect(givenBack).toEqual(["c"]);
  });

  it("whose time ends while a claim is on its way still get what it brings", async () => {
    const { claims, receive, givenBack } = setUp();
    const { got } = receive(1, 0.01);
    await settled();
    await new Promise((resolve) => setTimeout(resolve, 30));
    claims[0]!.answer(["late"]);
    expect(await got).toEqual(["late"]);
    expect(givenBack).toEqual([]);
  });

  it("wait until they are woken up, or all are sent away", async () => {
    const { claims, receive, reception } = setUp();
    const { got } = receive(1, 20);
    await settled();
    claims[0]!.answer([]);
    await settled();
    expect(claims).toHaveLength(1);
    reception.wake();
    await settled();
    expect(claims).toHaveLength(2);
    reception.wake(); // while that one is on its way: another look follows
    claims[1]!.answer([]);
    await settled();
    expect(claims).toHaveLength(3);
    claims[2]!.answer(["a"]);
    expect(await got).toEqual(["a"]);
    const left = receive(1, 20);
    await settled();
    claims[3]!.answer([]);
    await settled();
    reception.stop();
    expect(await left.got).toEqual([]);
    const short = receive(1, 20); // nobody waits any more
    await settled();
    claims[4]!.answer([]);
    expect(await short.got).toEqual([]);
  });

  it("look again at once when lanes were busy, and hear of errors", async () => {
    const { claims, receive } = setUp();
    const { got } = receive(1);
    await settled();
    claims[0]!.answer([], true);
    await vi.waitFor(() => expect(claims).toHaveLength(2));
    claims[1]!.answer(["a"]);
    expect(await got).toEqual(["a"]);
    const failing = receive(1);
    const refused = expect(failing.got).rejects.toThrow("down");
    await settled();
    claims[2]!.fail(new Error("down"));
    await refused;
  });
});
