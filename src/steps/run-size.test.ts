import { describe, expect, it } from "vitest";
import { RunLimitError } from "../db/errors.js";
import { bounds } from "../db/limits.js";
import type { StepRecord } from "../db/types.js";
import { RunSize } from "./run-size.js";

const record = (kind: StepRecord["kind"]): StepRecord => ({ key: "a", kind, at: new Date() });
const many = (count: number, kind: StepRecord["kind"]): StepRecord[] =>
  Array.from({ length: count }, () => record(kind));

describe("the size of a run", () => {
  it("is full with as many steps as it may write; signals and ends of children are none", () => {
    const size = new RunSize({ records: [...many(bounds.runSteps - 1, "done"), ...many(10, "ended")], bytes: 0 });
    size.check();
    size.add([{ key: "b", kind: "done" }]);
    expect(() => size.check()).toThrow(RunLimitError);
    new RunSize({ records: many(bounds.runSteps + 1, "signal"), bytes: 0 }).check();
  });

  it("is full with as many bytes, whoever wrote them, and counts bytes and not characters", () => {
    const size = new RunSize({ records: [], bytes: bounds.runBytes - 1000 });
    size.checkValue("x".repeat(1000));
    expect(() => size.checkValue("ä".repeat(501))).toThrow(RunLimitError);
    size.add([{ key: "b", kind: "done", json: "ä".repeat(400) }]);
    size.check();
    expect(() => size.checkValue("x".repeat(100))).toThrow(RunLimitError);
    size.addChildren("c", 10);
    expect(() => size.check()).toThrow(RunLimitError);
  });
});
