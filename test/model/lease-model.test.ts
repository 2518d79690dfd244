import { afterAll, describe, expect, it } from "vitest";
import { describeExploration, explore } from "./explorer.js";
import { type LeaseRules, type LeaseScenario, leaseModel } from "./lease-model.js";

/**
 * Two workers with two claims each, a reaper and a canceller, one job with two attempts; any of them may lose its
 * connection.
 */
const scenario: LeaseScenario = {
  workers: 2,
  claims: 2,
  extends: 1,
  reaps: 2,
  cancels: 1,
  maxAttempts: 2,
  mayRollBack: true,
};
const withoutCancel: LeaseScenario = { ...scenario, cancels: 0 };

const explored: string[] = [];
afterAll(() => console.log(explored.join("\n")));

function expectSound(name: string, given: LeaseScenario): void {
  const exploration = explore(leaseModel(given));
  explored.push(`${name}: ${exploration.violation?.message ?? describeExploration(exploration)}`);
  if (exploration.violation) expect.fail(describeExploration(exploration));
  expect(exploration.ends).toBeGreaterThan(0);
}

describe("lease and fence: one final outcome, nothing by a stale token, never unfinished for ever [invariant 3] [invariant 7] [#54] [#96] [#136]", () => {
  it("two workers and a reaper", () => {
    expectSound("two workers, one reaper", withoutCancel);
  });

  it("two workers, a reaper and a canceller that holds the job first [#29] [#101] [#142]", () => {
    expectSound("two workers, one reaper, one canceller", scenario);
  });
});

describe("the model finds what is put in", () => {
  const mutants: readonly (readonly [string, LeaseRules, RegExp])[] = [
    [
      "a report is accepted although its claim is gone",
      { acceptsStaleReports: true },
      /recorded twice|two callers|two final/,
    ],
    ["a lost attempt is retried past the limit", { ignoresCap: true }, /never finished/],
    ["the reaper gives a job back but leaves its claim", { reaperKeepsClaim: true }, /two live claims|recorded twice/],
  ];
  it.each(mutants)("%s", (name, rules, message) => {
    const { violation } = explore(leaseModel({ ...withoutCancel, rules }));
    explored.push(`mutant: ${name}: ${violation?.message}`);
    expect(violation?.message).toMatch(message);
    expect(violation?.trace.length).toBeGreaterThan(0);
  });

  it("a cancel that does not hold its job: it may have been told too early", () => {
    const { violation } = explore(leaseModel({ ...scenario, rules: { cancelHoldsNothing: true } }));
    explored.push(`mutant: a cancel that does not hold its job: ${violation?.message}`);
    expect(violation?.message).toMatch(
      /^two callers were told that they decided the outcome: (succeeded and cancelled|cancelled and succeeded)$/,
    );
  });
});
