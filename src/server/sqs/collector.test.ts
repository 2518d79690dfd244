import { describe, expect, it } from "vitest";
import { DatabaseUnavailableError } from "../../db/errors.js";
import { Collector } from "./collector.js";

const options = { mostItems: 3, mostSize: 100 };
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe("a collector", () => {
  it("does together what comes together, and what comes meanwhile next", async () => {
    const runs: number[][] = [];
    let goOn = () => {};
    const collector = new Collector<number, number>(async (values) => {
      runs.push([...values]);
      await new Promise<void>((resolve) => (goOn = resolve));
      return values.map((value) => value * 2);
    }, options);
    const all = [1, 2].map((value) => collector.add(value));
    await settled();
    all.push(...[3, 4, 5, 6].map((value) => collector.add(value)));
    for (let i = 0; i < 3; i += 1) {
      goOn();
      await settled();
    }
    expect(await Promise.all(all)).toEqual([2, 4, 6, 8, 10, 12]);
    expect(runs).toEqual([[1, 2], [3, 4, 5], [6]]);
  });

  it("keeps to a size, but lets one alone be larger", async () => {
    const runs: number[] = [];
    const collector = new Collector<number, number>(async (values) => (runs.push(values.length), [...values]), options);
    await Promise.all([collector.add(1, 500), collector.add(2, 60), collector.add(3, 60), collector.add(4, 10)]);
    expect(runs).toEqual([1, 1, 2]);
  });

  it("lets the one at fault fail alone, and in order; all when the database is away", async () => {
    const done: number[] = [];
    const collector = new Collector<number, number>(async (values) => {
      if (values.includes(2)) throw new Error("two");
      done.push(...values);
      return [...values];
    }, options);
    const results = await Promise.allSettled([1, 2, 3].map((value) => collector.add(value)));
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(done).toEqual([1, 3]);
    let calls = 0;
    const away = new Collector<number, number>(async () => {
      calls += 1;
      throw new DatabaseUnavailableError("away");
    }, options);
    expect((await Promise.allSettled([away.add(1), away.add(2)])).map(({ status }) => status)).toEqual([
      "rejected",
      "rejected",
    ]);
    expect(calls).toBe(1);
  });
});
