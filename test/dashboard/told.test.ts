import { expect, it, vi } from "vitest";
import { shareOf } from "../../dashboard/pages/jobs/progress.js";
import { ruleText } from "../../dashboard/pages/schedules/rule.js";
import { age, distinct } from "../../dashboard/format.js";
import { errorParts, isTold, logLines } from "../../dashboard/pages/jobs/told.js";

it.each([
  ["a text", "just text", { kind: "", message: "just text", stack: null }],
  ["a number", 42, { kind: "", message: "42", stack: null }],
  ["false", false, { kind: "", message: "false", stack: null }],
  ["a list", [1, { a: 2 }], { kind: "", message: '[1,{"a":2}]', stack: null }],
  ["an object without a message", { code: "E1" }, { kind: "E1", message: '{"code":"E1"}', stack: null }],
  [
    "an object of odd fields",
    { message: 5, name: {}, code: 7, stack: [1] },
    { kind: "7", message: '{"message":5,"name":{},"code":7,"stack":[1]}', stack: null },
  ],
  ["an error", { name: "Error", message: "m", stack: "at x" }, { kind: "", message: "m", stack: "at x" }],
  ["nothing", null, { kind: "", message: "", stack: null }],
])("an error that is %s can be shown", (_, error, parts) => {
  expect(errorParts(error)).toEqual(parts);
});

it("a log that is no list of texts can be shown", () => {
  expect(logLines(["a", 1, { b: 2 }])).toEqual(["a", "1", '{"b":2}']);
  expect(logLines("a")).toEqual(["a"]);
  expect(logLines({ a: 1 })).toEqual(['{"a":1}']);
  expect([null, undefined].map(logLines)).toEqual([[], []]);
});

it("what is false, 0 or empty was told; what is missing was not", () => {
  expect([false, 0, ""].map(isTold)).toEqual([true, true, true]);
  expect([null, undefined].map(isTold)).toEqual([false, false]);
});

it("progress is a bar only when it is a part of a whole", () => {
  expect([0.4, 40, { done: 1, total: 4 }, { percent: 40 }].map(shareOf)).toEqual([0.4, 0.4, 0.25, 0.4]);
  expect([-5, 250, true, "half", null, [1], { done: 5, total: 2 }, { percent: "x" }].map(shareOf)).toEqual(
    Array.from({ length: 8 }, () => null),
  );
});

it("rules in milliseconds are told in units that people use", () => {
  expect(ruleText({ every: 20_000 })).toBe("every 20 s");
  expect(ruleText({ after: 90_000 })).toBe("1 m 30 s after each run");
  expect(ruleText({ every: "15m" })).toBe("every 15m");
});

it("ticks of an axis that would read the same are told once", () => {
  expect(distinct([0, 30, 60, 90, 120].map(age))).toEqual(["0 s", "30 s", "1 m", "", "2 m"]);
});

it("what an act of the audit was done to leads to where it is shown", async () => {
  vi.stubGlobal("location", { hash: "" });
  vi.stubGlobal("addEventListener", () => {});
  try {
    const { chosenJobs, objectAddress } = await import("../../dashboard/pages/audit/words.js");
    const addresses: Readonly<Record<string, string | undefined>> = {
      "alert rule old-mail": "#/alerts",
      "web hook ops": "#/alerts",
      "worker mailer of process h:1:x": "#/workers",
      "process h:1:x": "#/workers",
      workers: "#/workers",
      'breakers {"queue":"mail"}': "#/limits",
      'failures {"fingerprint":"00ff","queue":"mail"}': "#/jobs?state=failed&failure=00ff&queue=mail",
      'failures {"fingerpr…': "#/failures",
      "job a:123": "#/jobs/a%3A123",
      "queue mail, type send": "#/queues/mail",
      "calendar holidays": undefined,
    };
    for (const [object, address] of Object.entries(addresses)) expect(objectAddress(object), object).toBe(address);
    expect(chosenJobs("3 jobs: 12, a:34, 5…")).toEqual({
      head: "3 jobs: ",
      jobs: [
        ["12", "#/jobs/12"],
        ["a:34", "#/jobs/a%3A34"],
      ],
    });
    expect(chosenJobs("queue 3 jobs: 1")).toBeUndefined();
  } finally {
    vi.unstubAllGlobals();
  }
});
