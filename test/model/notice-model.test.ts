import { afterAll, describe, expect, it } from "vitest";
import { type Exploration, describeExploration, explore } from "./explorer.js";
import { type NoticeRules, type NoticeScenario, noticeModel } from "./notice-model.js";

/** All transactions but those that repeat may also roll back, and any may be killed at each of its statements. */
const signal: NoticeScenario = {
  jobs: { R: { place: "running", handler: ["signal"] } },
  tells: [{ job: "R" }],
  cancels: ["R"],
  losses: 1,
  deliverers: 2,
};
const signalOrTime: NoticeScenario = {
  ...signal,
  jobs: { R: { place: "running", handler: ["signal or time", "signal"] } },
  cancels: [],
};
const timeout: NoticeScenario = {
  jobs: { R: { place: "running", handler: ["signal or time"] } },
  tells: [{ job: "R" }],
  deliverers: 1,
};
const twoSignals: NoticeScenario = {
  jobs: { R: { place: "running", handler: ["signal", "signal"] } },
  tells: [
    { job: "R", id: "x" },
    { job: "R", id: "x" },
  ],
  deliverers: 1,
};
const twoChildren: NoticeScenario = {
  jobs: {
    P: { place: "running", handler: ["children"] },
    A: { place: "running", parent: "P", ends: ["succeeded", "failed"] },
    B: { place: "running", parent: "P" },
  },
  deliverers: 2,
};
const cancelledParent: NoticeScenario = {
  jobs: { P: { place: "running", handler: ["children"] }, A: { place: "ready", parent: "P" } },
  cancels: ["P", "A"],
  deliverers: 1,
};
const purgedChild: NoticeScenario = {
  jobs: {
    P: { place: "running", handler: ["children"] },
    A: { place: "ready", parent: "P" },
    B: { place: "ready" },
  },
  purges: ["A", "B"],
  deliverers: 1,
};
const twoParents: NoticeScenario = {
  jobs: {
    A: { place: "running", ends: ["succeeded", "failed"] },
    B: { place: "running" },
    W: { place: "suspended", after: { jobs: ["A", "B"], when: "succeeded" } },
  },
  deliverers: 2,
};
const reportsDeliver: NoticeScenario = { ...twoParents, deliverers: 1, reportsDeliver: true };
const heldWaiter: NoticeScenario = { ...twoParents, cancels: ["W"] };
const edgeToExisting: NoticeScenario = {
  jobs: {
    X: { place: "ready", ends: ["succeeded", "failed"] },
    Y: { place: "running" },
    W: { place: "suspended", after: { jobs: ["X", "Y"], when: "ended", isCheck: true } },
  },
  deliverers: 2,
};
const edgeToCancelled: NoticeScenario = {
  jobs: {
    X: { place: "ready" },
    W: { place: "suspended", after: { jobs: ["X"], when: "failed", isCheck: true } },
  },
  cancels: ["X", "W"],
  deliverers: 1,
};
const edgeToPurged: NoticeScenario = { ...edgeToCancelled, cancels: [], purges: ["X"] };
/** The end of X is told because it has a parent, and once more when the edge is looked at. */
const edgeToChild: NoticeScenario = {
  jobs: {
    P: { place: "over" },
    X: { place: "running", parent: "P" },
    Y: { place: "running" },
    W: { place: "suspended", after: { jobs: ["X", "Y"], when: "ended", isCheck: true } },
  },
  deliverers: 1,
};
const flow: NoticeScenario = {
  jobs: {
    F: { place: "suspended", isFlow: true },
    A: { place: "running", parent: "F" },
    B: { place: "absent", parent: "F" },
  },
  adds: [{ flow: "F", job: "B" }],
  deliverers: 2,
};

const cancelledFlow: NoticeScenario = {
  jobs: { F: { place: "suspended", isFlow: true }, B: { place: "absent", parent: "F" } },
  adds: [{ flow: "F", job: "B" }],
  cancels: ["F"],
  deliverers: 1,
};

const explored: string[] = [];
afterAll(() => console.log(explored.join("\n")));

function run(name: string, scenario: NoticeScenario): Exploration {
  const exploration = explore(noticeModel(scenario));
  explored.push(`${name}: ${exploration.violation?.message ?? describeExploration(exploration)}`);
  return exploration;
}

function expectSound(name: string, scenario: NoticeScenario): void {
  const exploration = run(name, scenario);
  if (exploration.violation) expect.fail(describeExploration(exploration));
  expect(exploration.ends).toBeGreaterThan(0);
}

const sound: readonly (readonly [string, NoticeScenario])[] = [
  ["a signal, a wait that begins, a cancel, a lost lease [#196]", signal],
  ["a signal against a timeout, and a second wait [#199]", signalOrTime],
  ["the same signal twice, at once, and two waits [#198]", twoSignals],
  ["two last children that end at once, while their parent suspends [#206]", twoChildren],
  ["a parent and its child that are cancelled [#207]", cancelledParent],
  ["a child that is purged, while its parent suspends and others are purged [#205]", purgedChild],
  ["two last parents that end at once [#209]", twoParents],
  [
    "the same for who waits if one fails",
    {
      ...twoParents,
      jobs: { ...twoParents.jobs, W: { place: "suspended", after: { jobs: ["A", "B"], when: "failed" } } },
    },
  ],
  ["two last parents that deliver what they tell, beside another deliverer [#209]", reportsDeliver],
  ["a signal, and a run that delivers as it suspends [#196]", { ...signal, cancels: [], reportsDeliver: true }],
  ["two last parents, while somebody decides on who waits for them [#210]", heldWaiter],
  ["edges to jobs that were there before, and are claimed and end [#218]", edgeToExisting],
  ["an edge to a job whose end is told to others too [#209]", edgeToChild],
  ["an edge to a job that is cancelled, as the one who waits [#218]", edgeToCancelled],
  ["an edge to a job that is purged [#210]", edgeToPurged],
  ["a flow that is added to while its last job ends [#219]", flow],
  ["a flow that is cancelled while it is added to [#207]", cancelledFlow],
];

describe("waits, notices and edges: nothing waits for ever, is told twice, or goes on too early or twice", () => {
  it.each(sound)("%s", expectSound);
});

describe("the model finds what is put in", () => {
  const mutants: readonly (readonly [string, keyof NoticeRules, NoticeScenario, RegExp])[] = [
    [
      "notices of a transaction that was open when the cursor passed it are never read",
      "forgetsLate",
      signal,
      /R waits for ever/,
    ],
    ["the same, with the ends of two parents", "forgetsLate", twoParents, /W waits for ever/],
    ["a run that suspends does not look once more", "suspendsSilently", signal, /for a signal that is there/],
    ["the same, with children that have ended", "suspendsSilently", twoChildren, /P waits for ever/],
    ["a run that has lost its lease suspends its job", "suspendsUnfenced", signal, /has lost it/],
    ["a job is let go on without a lock on its row", "resumesUnlocked", timeout, /one is gone/],
    ["who is in somebody's hands is not looked at again", "skipsForGood", heldWaiter, /W waits for ever/],
    ["who is looked at again is not counted again", "forgetsEdges", heldWaiter, /W waits for ever/],
    ["an end that was told twice counts twice", "countsTwice", edgeToChild, /before all have ended/],
    ["those who end count down what waits for them", "reportersCount", twoParents, /W waits for ever/],
    ["a job that was there before is looked at, and not held", "checksUnheld", edgeToExisting, /W waits for ever/],
    ["a claim that has such a job is not told", "checksOnlyAmendment", edgeToExisting, /W waits for ever/],
    ["after a purge nobody looks at such jobs", "forgetsOthers", edgeToPurged, /W waits for ever/],
    ["who begins to wait does not look for purged children", "forgetsPurged", purgedChild, /P waits for ever/],
    ["a purge that was open at the last look counts as seen", "seesOpenPurges", purgedChild, /P waits for ever/],
    ["a flow ends while somebody adds to it", "endsFlowUnlocked", flow, /has ended before its jobs/],
    [
      "a flow is cancelled without what somebody adds to it",
      "cancelsFlowUnlocked",
      cancelledFlow,
      /its children go on/,
    ],
    ["the cursor has moved when a deliverer dies", "movesCursorFirst", signal, /R waits for ever/],
    ["of two signals with one id both count", "getsSameId", twoSignals, /got a signal twice/],
  ];
  it.each(mutants)("%s", (name, rule, scenario, message) => {
    const { violation } = run(`mutant: ${name}`, { ...scenario, rules: { [rule]: true } });
    expect(violation?.message).toMatch(message);
    expect(violation?.trace.length).toBeGreaterThan(0);
  });
});
