import { describe, expect, it, vi } from "vitest";
import { Combine } from "./combine.js";

/** One turn of the event loop, and so many that what has come begins. */
const turn = () => new Promise((resolve) => setImmediate(resolve));
const settled = async () => {
  for (let turns = 0; turns < 8; turns += 1) await turn();
};
const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);
const statuses = async (all: readonly Promise<unknown>[]) =>
  (await Promise.allSettled(all)).map(({ status }) => status);

/** Doubles numbers, each time when it is told to. */
function setUp(options: ConstructorParameters<typeof Combine>[1]) {
  const runs: { readonly values: readonly number[]; readonly goOn: () => void }[] = [];
  const combine = new Combine<number, number>(async (values) => {
    await new Promise<void>((goOn) => runs.push({ values, goOn }));
    return values.map((value) => value * 2);
  }, options);
  return { combine, runs, started: () => runs.map(({ values }) => values) };
}

describe("calls that are combined", () => {
  it("go together when they come in one turn, and those that come meanwhile go next", async () => {
    const { combine, runs, started } = setUp({ maxCalls: 3 });
    const all = [1, 2].map((value) => combine.add(value));
    await settled();
    all.push(...[3, 4, 5, 6].map((value) => combine.add(value)));
    for (let i = 0; i < 3; i += 1) {
      await settled();
      runs[i]!.goOn();
      await settled();
    }
    expect(await Promise.all(all)).toEqual([2, 4, 6, 8, 10, 12]);
    expect(started()).toEqual([[1, 2], [3, 4, 5], [6]]);
  });

  it("are gathered as long as each turn brings another, but not for ever", async () => {
    const { combine, runs, started } = setUp({ maxCalls: 1000, maxGatherMs: 10_000 });
    for (let value = 1; value <= 5; value += 1) {
      void combine.add(value);
      await turn();
      expect(runs).toEqual([]);
    }
    await settled();
    expect(started()).toEqual([numbers(1, 5)]);
    const hasty = setUp({ maxCalls: 1000, maxGatherMs: 5 });
    const began = performance.now();
    for (let value = 1; hasty.runs.length === 0; value += 1) {
      void hasty.combine.add(value);
      await turn();
    }
    expect(performance.now() - began).toBeLessThan(1000);
    expect(hasty.started()[0]!.length).toBeGreaterThan(1);
  });

  it("keep to a size, but one alone may be larger", async () => {
    const runs: number[] = [];
    const combine = new Combine<number, number>(async (values) => (runs.push(values.length), values), {
      maxCalls: 3,
      maxSize: 100,
    });
    await Promise.all([combine.add(1, 500), combine.add(2, 60), combine.add(3, 60), combine.add(4, 10)]);
    expect(runs).toEqual([1, 1, 2]);
  });

  it("have as many under way as they may, and no more", async () => {
    const { combine, runs, started } = setUp({ maxCalls: 2, maxRuns: 2 });
    const all = numbers(1, 7).map((value) => combine.add(value));
    for (let i = 0; i < 3; i += 1) await settled();
    expect(started()).toEqual([
      [1, 2],
      [3, 4],
    ]);
    runs[1]!.goOn();
    for (let i = 0; i < 3; i += 1) await settled();
    expect(started()).toHaveLength(3);
    for (let i = 0; i < 4; i += 1) {
      runs[i]?.goOn();
      await settled();
      await settled();
    }
    expect(await Promise.all(all)).toEqual([2, 4, 6, 8, 10, 12, 14]);
  });

  it("fail alone when they are at fault; the others are done in their order, with few runs", async () => {
    for (const count of [1, 2, 3, 5, 40, 500]) {
      const poison = Math.ceil(count / 2);
      const done: number[] = [];
      let runs = 0;
      const combine = new Combine<number, number>(
        async (values) => {
          runs += 1;
          if (values.includes(poison)) throw new Error("poison");
          done.push(...values);
          return values;
        },
        { maxCalls: 500 },
      );
      const all = numbers(1, count).map((value) => combine.add(value));
      expect(await statuses(all)).toEqual(
        numbers(1, count).map((value) => (value === poison ? "rejected" : "fulfilled")),
      );
      expect(done).toEqual(numbers(1, count).filter((value) => value !== poison));
      expect(runs).toBeLessThanOrEqual(1 + 2 * Math.ceil(Math.sqrt(count)) + 6);
    }
  });

  it("all fail at once when the error is nobody's fault, and the next are tried again", async () => {
    let calls = 0;
    const combine = new Combine<number, number>(
      async (values) => {
        calls += 1;
        if (calls === 1) throw new Error("away");
        return values;
      },
      { maxCalls: 500, isForAll: (error) => (error as Error).message === "away" },
    );
    expect(await statuses(numbers(1, 3).map((value) => combine.add(value)))).toEqual(
      numbers(1, 3).map(() => "rejected"),
    );
    expect(calls).toBe(1);
    expect(await combine.add(4)).toBe(4);
  });

  it("a run that throws instead of rejecting hinders nobody", async () => {
    const combine = new Combine<number, number>(
      (values) => {
        if (values.includes(1)) throw new Error("at once");
        return Promise.resolve(values);
      },
      { maxCalls: 10 },
    );
    const [first, second] = [combine.add(1), combine.add(2)];
    await expect(first).rejects.toThrow("at once");
    expect(await second).toBe(2);
  });

  it("are idle when all have been answered, those that came meanwhile too", async () => {
    const { combine, runs } = setUp({ maxCalls: 1 });
    await combine.idle();
    const all = [combine.add(1), combine.add(2)];
    let isIdle = false;
    const idle = combine.idle().then(() => (isIdle = true));
    await settled();
    runs[0]!.goOn();
    await settled();
    await settled();
    expect(isIdle).toBe(false);
    runs[1]!.goOn();
    await idle;
    expect(await Promise.all(all)).toEqual([2, 4]);
  });

  it("go at once where nothing is gathered, as many side by side as may be", async () => {
    const { combine, runs, started } = setUp({ maxCalls: 10, maxGatherMs: 0, maxRuns: 2 });
    const all = [1, 2, 3, 4].map((value) => combine.add(value));
    expect(started()).toEqual([[1], [2]]);
    runs[1]!.goOn();
    await settled();
    expect(started()).toEqual([[1], [2], [3, 4]]);
    for (const { goOn } of runs) goOn();
    expect(await Promise.all(all)).toEqual([2, 4, 6, 8]);
  });

  it("go beside a run that does not end, and tell when all have ended", async () => {
    let idle = 0;
    const { combine, runs } = setUp({ maxCalls: 10, maxGatherMs: 0, maxWaitMs: 5, onIdle: () => (idle += 1) });
    const stuck = combine.add(1);
    const second = combine.add(2);
    await vi.waitFor(() => expect(runs).toHaveLength(2));
    runs[1]!.goOn();
    expect(await second).toBe(4);
    expect(idle).toBe(0);
    runs[0]!.goOn();
    expect(await stuck).toBe(2);
    await settled();
    expect(idle).toBe(1);
  });
});
