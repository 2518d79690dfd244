import { describe, expect, it } from "vitest";
import type { Engine } from "../db/engine.js";
import { DatabaseUnavailableError, QueueFullError } from "../db/errors.js";
import type { Enqueued, NewJob } from "../db/types.js";
import { Joined } from "./joined.js";

const made = (input: unknown): Enqueued => ({ id: `id of ${String(input)}`, duplicate: false });

/** An engine whose single enqueues wait until they are let go, and which notes what it was asked for. */
function fakeEngine({ refusal, isHung = false }: { refusal?: Error; isHung?: boolean } = {}) {
  const calls: string[] = [];
  const letGo: (() => void)[] = [];
  const engine = {
    enqueue: async ({ input }: NewJob, _call: unknown, wake?: string) => {
      calls.push(`one ${String(input)}${wake ? ` wakes ${wake}` : ""}`);
      if (calls.length <= 2) await new Promise<void>((resolve) => letGo.push(resolve));
      if (input === "bad") throw new Error("its own error");
      return made(input);
    },
    enqueueEncoded: async (inputs: readonly string[], options: string, wake?: string) => {
      calls.push(`many ${inputs.join()} ${options}${wake ? ` wakes ${wake}` : ""}`);
      if (refusal) throw refusal;
      return inputs.map((input) => made(JSON.parse(input)));
    },
  };
  const joined = new Joined(engine as unknown as Engine);
  const go = (): void => {
    if (!isHung) for (const resolve of letGo) resolve();
  };
  return { calls, joined, go };
}

const enqueue = (
  joined: Joined,
  inputs: readonly unknown[],
  wake?: string,
): Promise<PromiseSettledResult<Enqueued>[]> =>
  Promise.allSettled(inputs.map((input) => joined.enqueue({ type: "t", input }, wake)));

describe("single enqueues", () => {
  it("go at once, and together when others are on their way; each gets its own answer", async () => {
    const { calls, joined, go } = fakeEngine();
    const answers = enqueue(joined, [1, 2, 3, 4, 5], "q");
    await Promise.resolve();
    expect(calls).toEqual(["one 1 wakes q", "one 2 wakes q"]);
    go();
    expect((await answers).map((answer) => answer.status === "fulfilled" && answer.value)).toEqual(
      [1, 2, 3, 4, 5].map(made),
    );
    expect(calls.slice(2)).toEqual(['many 3,4,5 {"type":"t"} wakes q']);
  });

  it("do not share a statement with jobs of other options, nor where it would mean something else", async () => {
    const { calls, joined, go } = fakeEngine();
    const answers = [
      ...[1, 2, 3, 4].map((input) => joined.enqueue({ type: "t", input })),
      ...[5, 6].map((input) => joined.enqueue({ type: "t", input, priority: 3 })),
      joined.enqueue({ type: "t", input: 7, tenant: "acme" }),
      joined.enqueue({ type: "t", input: 8, fingerprint: "f" }),
    ];
    await Promise.resolve();
    expect(calls).toEqual(["one 1", "one 2", "one 5", "one 6", "one 7", "one 8"]);
    go();
    await Promise.all(answers);
    expect(calls.slice(6)).toEqual(['many 3,4 {"type":"t"}']);
  });

  it("are tried one by one when together they are refused, so that one does not fail the others", async () => {
    const { joined, go } = fakeEngine({ refusal: new QueueFullError("full") });
    const answers = enqueue(joined, [1, 2, 3, "bad", 5]);
    go();
    expect((await answers).map(({ status }) => status)).toEqual([
      "fulfilled",
      "fulfilled",
      "fulfilled",
      "rejected",
      "fulfilled",
    ]);
  });

  it("are not tried again when there was no answer: they may have been stored", async () => {
    const gone = new DatabaseUnavailableError("gone");
    const { calls, joined, go } = fakeEngine({ refusal: gone });
    const answers = enqueue(joined, [1, 2, 3, 4]);
    go();
    expect((await answers).slice(2)).toEqual([3, 4].map(() => ({ status: "rejected", reason: gone })));
    expect(calls).toHaveLength(3);
  });

  it("with an input that is no JSON fail alone", async () => {
    const { joined, go } = fakeEngine();
    const answers = enqueue(joined, [1, 2, 3, 4n, 5]);
    go();
    expect((await answers).map(({ status }) => status === "fulfilled")).toEqual([true, true, true, false, true]);
  });

  it("do not wait for a connection that does not answer", async () => {
    const { calls, joined } = fakeEngine({ isHung: true });
    const answers = [1, 2, 3, 4].map((input) => joined.enqueue({ type: "t", input }));
    expect(await Promise.all(answers.slice(2))).toEqual([3, 4].map(made));
    expect(calls).toHaveLength(3);
  });
});
