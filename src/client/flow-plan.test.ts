import { describe, expect, it } from "vitest";
import { InvalidArgumentError } from "../db/errors.js";
import { type NamedFlowJob, flowPlan } from "./flow-plan.js";

const job = (name: string | undefined, after?: readonly string[]): NamedFlowJob => ({
  type: "t",
  ...(name === undefined ? {} : { name }),
  ...(after === undefined ? {} : { after }),
});

describe("the plan of a flow", () => {
  it("puts each job after those it waits for, and tells where each one stood [#208]", () => {
    const { jobs, places } = flowPlan([
      { ...job("last", ["left", "right", "880"]), when: "ended", priority: 1, input: 7 },
      job("left", ["first"]),
      job(undefined, ["first"]),
      job("first"),
      job("right", ["first"]),
    ]);
    expect(places).toEqual([4, 1, 2, 0, 3]);
    expect(jobs.map(({ after }) => after)).toEqual([[], [0], [0], [0], [1, 3, "880"]]);
    expect(jobs[4]).toEqual({ type: "t", input: 7, options: { priority: 1 }, after: [1, 3, "880"], when: "ended" });
    expect(flowPlan([])).toEqual({ jobs: [], places: [] });
  });

  it("refuses circles, names that nobody has or two have, and names like ids [#208]", () => {
    const refusals: readonly (readonly [readonly NamedFlowJob[], string])[] = [
      [[job("a", ["a"])], 'jobs of the flow wait for each other: "a", "a"'],
      [
        [job("x"), job("a", ["x", "b"]), job("b", ["c"]), job("c", ["a"]), job("d", ["a"])],
        'wait for each other: "a", "b", "c", "a"',
      ],
      [[job("a", ["b"])], '"a" waits for "b", which is no job of the flow'],
      [[job(undefined, [""])], 'job 0 of the flow waits for "", which'],
      [[job("a"), job("a")], 'two jobs of the flow are named "a"'],
      [[job("12")], 'cannot be named "12"'],
      [[job("")], "must have 1 to 200 characters"],
      [[null as never], "a job of the flow cannot be null"],
      [[job("a", 7 as never)], "after cannot be 7"],
      [[job("a", [7 as never])], '"a" waits for 7'],
      [7 as never, "jobs cannot be 7"],
    ];
    for (const [jobs, message] of refusals) {
      expect(() => flowPlan(jobs), message).toThrow(InvalidArgumentError);
      expect(() => flowPlan(jobs)).toThrow(message);
    }
  });

  it("takes a chain of 10,000 backwards, and names few of a long circle", () => {
    const chain = Array.from({ length: 10_000 }, (_, i) => job(`n${i}`, i < 9999 ? [`n${i + 1}`] : []));
    expect(flowPlan(chain).places[0]).toBe(9999);
    const round = chain.map((one, i) => (i === 9999 ? job("n9999", ["n0"]) : one));
    expect(() => flowPlan(round)).toThrow('"n0", "n1", "n2", "n3", "n4", 9995 others, "n0"');
  });
});
