import { afterAll, describe, expect, it } from "vitest";
import { type Exploration, describeExploration, explore } from "./explorer.js";
import { type HoldRules, type HoldScenario, holdModel } from "./hold-model.js";

/** Any of them may lose its connection at any time, also while it waits for a lock. */
const sameJob: HoldScenario = {
  jobs: 1,
  holders: [[1], [1]],
  claimers: 2,
  claims: 2,
  batch: 1,
  returns: 1,
  mayRelease: true,
};
const differentJobs: HoldScenario = { jobs: 2, holders: [[1], [2]], claimers: 2, claims: 1, batch: 2, returns: 1 };
const severalJobs: HoldScenario = {
  ...differentJobs,
  holders: [
    [1, 2],
    [2, 1],
  ],
};
const seizedJob: HoldScenario = { ...sameJob, seizers: 1, claims: 1, mayRelease: false };
const seizedJobs: HoldScenario = { ...differentJobs, seizers: 1, returns: 0 };

const explored: string[] = [];
afterAll(() => console.log(explored.join("\n")));

function run(name: string, scenario: HoldScenario): Exploration {
  const exploration = explore(holdModel(scenario));
  explored.push(`${name}: ${exploration.violation?.message ?? describeExploration(exploration)}`);
  return exploration;
}

function expectSound(name: string, scenario: HoldScenario): void {
  const exploration = run(name, scenario);
  if (exploration.violation) expect.fail(describeExploration(exploration));
  expect(exploration.ends).toBeGreaterThan(0);
}

describe("holding jobs: none is cancelled and claimed, claimed twice, or lost, and nobody waits for ever [invariant 1] [invariant 3] [#29] [#101] [#142]", () => {
  it("two holders of one job, two claimers that come back and may release it", () => {
    expectSound("two holders of one job", sameJob);
  });

  it("two holders of different jobs, two claimers that take both", () => {
    expectSound("two holders of different jobs", differentJobs);
  });

  it("two holders of different jobs, two claimers that take one and go round the other", () => {
    expectSound("two holders of different jobs, one job per claim", { ...differentJobs, batch: 1 });
  });

  it("two holders of different jobs, two claimers that come back", () => {
    expectSound("two holders of different jobs, two claims each", { ...differentJobs, claims: 2, returns: 0 });
  });

  it("two holders of several jobs, given in different orders", () => {
    expectSound("two holders of several jobs", severalJobs);
  });

  it("two holders of one job and one who seizes its lane", () => {
    expectSound("two holders of one job, one seizer", seizedJob);
  });

  it("two holders of different jobs and one who seizes their lane", () => {
    expectSound("two holders of different jobs, one seizer", seizedJobs);
  });

  it("one holder and two who seize the lane", () => {
    expectSound("one holder, two seizers", { ...seizedJobs, holders: [[1]], seizers: 2 });
  });
});

describe("what only saves work: the protocol is as safe without it [invariant 1] [#29] [#142]", () => {
  const scenarios: readonly (readonly [string, HoldScenario])[] = [
    ["two holders of one job", sameJob],
    ["two holders of different jobs", differentJobs],
    ["a seizer", seizedJob],
  ];
  it.each(scenarios)(
    "jobs put aside come back although somebody holds them, and the next claim puts them aside again: %s",
    (name, scenario) => {
      expectSound(`held jobs come back, ${name}`, { ...scenario, rules: { returnsHeld: true } });
    },
  );
});

describe("the model finds what is put in", () => {
  const cancelledAndTaken = /told that job \d is cancelled, but it is (claimed|completed)/;
  const mutants: readonly (readonly [string, keyof HoldRules, HoldScenario, RegExp])[] = [
    [
      "a holder does not wait for claims that may have missed its mark",
      "skipsBarrier",
      differentJobs,
      cancelledAndTaken,
    ],
    ["the same, with two holders of one job", "skipsBarrier", sameJob, cancelledAndTaken],
    ["a holder looks before it has its mark", "looksBeforeMark", { ...sameJob, holders: [[1]] }, cancelledAndTaken],
    [
      "a holder looks before it has its mark, and so does another",
      "looksBeforeMark",
      { ...sameJob, claims: 0 },
      /two callers were told/,
    ],
    [
      "a claim that did not get the flag does not look at marks",
      "ignoresMarks",
      { ...sameJob, holders: [[1]] },
      cancelledAndTaken,
    ],
    ["a claim does not try the flag", "ignoresFlag", { ...sameJob, holders: [[1]] }, cancelledAndTaken],
    [
      "a claim looks for void tickets before it looks at marks",
      "looksForVoidsBeforeMarks",
      { ...sameJob, holders: [[1]] },
      cancelledAndTaken,
    ],
    ["a claim takes void tickets", "claimsVoids", { ...sameJob, holders: [[1]] }, cancelledAndTaken],
    [
      "a claim drops held jobs instead of putting them aside",
      "dropsHeld",
      { ...sameJob, holders: [[1]] },
      /job 1 is lost/,
    ],
    ["two return the same job at once", "returnsUnlocked", { ...sameJob, holders: [[1]] }, /job 1 is there twice/],
    ["claims do not follow each other", "claimsUnlocked", { ...sameJob, holders: [] }, /job 1 is in two live claims/],
    [
      "a seizer takes the lane without its flag",
      "seizesWithoutFlag",
      { ...seizedJob, claims: 0 },
      /two callers were told/,
    ],
    ["a seizer takes the lane before its flag", "seizesLaneFirst", seizedJob, /wait for each other/],
    ["holders mark their jobs in the order they were given", "marksInAnyOrder", severalJobs, /wait for each other/],
  ];
  it.each(mutants)("%s", (name, rule, scenario, message) => {
    const { violation } = run(`mutant: ${name}`, { ...scenario, rules: { [rule]: true } });
    expect(violation?.message).toMatch(message);
    expect(violation?.trace.length).toBeGreaterThan(0);
  });
});
