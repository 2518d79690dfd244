import { expect, it } from "vitest";
import { columnsOf, gapOf } from "../../dashboard/parts/chart-data.js";

const at = (...seconds: number[]) => seconds.map((second) => ({ at: second * 1000, value: second }));

it("a chart does not join what was measured before and after a gap", () => {
  const line = [({ value }: { value: number }) => value];
  expect(columnsOf(at(1, 2, 3, 103, 104), line)).toEqual([
    [1, 2, 3, 53, 103, 104],
    [1, 2, 3, null, 103, 104],
  ]);
  expect(columnsOf(at(1, 2, 3, 13, 14), line)[1], "a quiet time is no gap").toEqual([1, 2, 3, 13, 14]);
  expect(columnsOf(at(60, 120, 180, 360), line)[1], "nor is one minute that is missing").toEqual([60, 120, 180, 360]);
  expect(columnsOf([], line)).toEqual([[], []]);
});

it("a gap is four times what is usual between points, or between those of such a time", () => {
  expect(gapOf(at(1, 2, 3))).toBe(15_000);
  expect(gapOf(at(60, 120, 180))).toBe(240_000);
  expect(gapOf(at(60), 60_000), "one point alone").toBe(240_000);
});
