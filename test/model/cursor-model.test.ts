import { afterAll, describe, expect, it } from "vitest";
import { type Op, type Scenario, cursorModel } from "./cursor-model.js";
import { type Exploration, describeExploration, explore } from "./explorer.js";
import type { Rules } from "./track.js";

/** MODEL=full explores every combination of shapes and batches with three producers: minutes instead of seconds. */
const isFull = process.env["MODEL"] === "full";

const write = (jobs: number): Op => ({ write: jobs });
const claim = (batch: number): Op => ({ claim: batch });
const purge: Op = { purge: true };

/** What one producer's transaction may hold: one or two tickets of one or two jobs. */
const shapes: readonly (readonly number[])[] = [[1], [2], [1, 1], [1, 2], [2, 1], [2, 2]];
const producers = ["P", "Q", "R"];
const produce = (...tickets: readonly number[][]): Scenario["processes"] =>
  Object.fromEntries(tickets.map((sizes, i) => [producers[i]!, [sizes.map(write)]]));
const batches = [
  [1, 1],
  [1, 2],
  [1, 3],
  [2, 2],
  [2, 3],
  [3, 3],
] as const;

const explored: string[] = [];
afterAll(() => console.log(explored.join("\n")));

function run(name: string, scenario: Scenario): Exploration {
  const exploration = explore(cursorModel(scenario));
  explored.push(`${name}: ${exploration.violation ? exploration.violation.message : describeExploration(exploration)}`);
  return exploration;
}

function expectSound(name: string, scenario: Scenario): void {
  const exploration = run(name, scenario);
  if (exploration.violation) expect.fail(describeExploration(exploration));
  expect(exploration.ends).toBeGreaterThan(0);
}

describe("the cursor: every committed job is handed out exactly once, none of a transaction that rolled back [invariant 1] [invariant 2] [#167]", () => {
  it("two producers of every shape, two claimers with batches of 1 to 3", () => {
    let states = 0;
    for (const [i, first] of shapes.entries()) {
      for (const second of shapes.slice(i)) {
        for (const [c, d] of batches) {
          const scenario = {
            processes: { ...produce([...first], [...second]), C: [[claim(c)]], D: [[claim(d)]] },
            mayRollBack: producers,
          };
          const exploration = explore(cursorModel(scenario));
          if (exploration.violation) expect.fail(describeExploration(exploration));
          states += exploration.states;
        }
      }
    }
    explored.push(
      `two producers, ${(21 * batches.length).toString()} scenarios: ${states.toLocaleString("en")} states`,
    );
  });

  it("three producers, one of them with two writes, everybody may roll back [#23] [#106]", () => {
    expectSound("three producers", { processes: { ...produce([1], [2], [1, 1]), C: [[claim(1)]], D: [[claim(2)]] } });
  });

  it("three producers, and claimers that come back while late transactions are half taken", () => {
    expectSound("three claims", {
      processes: { ...produce([2], [2], [1]), C: [[claim(1)], [claim(2)]], D: [[claim(1)]] },
      mayRollBack: ["P"],
    });
  });

  it("three producers in a ring whose children hold two transactions each", () => {
    expectSound("narrow ring", {
      processes: { ...produce([1], [2], [1]), C: [[claim(1)]], D: [[claim(3)]] },
      mayRollBack: ["P", "Q"],
      width: 2,
    });
  });

  it("claimers that find the ring's children empty and come back", () => {
    expectSound("empty children", {
      processes: { ...produce([2], [1]), C: [[claim(1)], [claim(3)]], D: [[claim(2)]] },
      mayRollBack: producers,
      width: 2,
    });
  });

  it("a claim that takes fewer jobs than it read", () => {
    expectSound("takes fewer", {
      processes: { ...produce([1], [2, 1]), C: [[claim(2)], [claim(3)]], D: [[claim(2)]] },
      mayRollBack: producers,
      takesFewer: true,
    });
    expectSound("takes fewer, narrow ring", {
      processes: { ...produce([1], [2, 1]), C: [[claim(3)]], D: [[claim(2)]] },
      takesFewer: true,
      width: 2,
    });
  });

  it("a claimer that claims twice in one transaction", () => {
    expectSound("claims twice", {
      processes: { ...produce([2], [1], [1]), C: [[claim(1), claim(2)]], D: [[claim(1)]] },
      mayRollBack: ["P", "C"],
    });
  });

  it("a lane that nobody has found before the first claim", () => {
    expectSound("undiscovered", {
      processes: { ...produce([1], [2], [1]), C: [[claim(1)]], D: [[claim(3)]] },
      mayRollBack: ["C", "P"],
      undiscovered: true,
    });
  });

  it("a claimer whose transaction enqueues after it has claimed", () => {
    expectSound("own jobs after", { processes: { ...produce([1], [2]), C: [[claim(1), write(2)]], D: [[claim(2)]] } });
    expectSound("own jobs after, narrow ring", {
      processes: { ...produce([1], [2]), C: [[claim(1), write(2)]], D: [[claim(2)], [claim(1)]] },
      width: 2,
      mayRollBack: producers,
    });
  });

  it("a claimer whose transaction enqueues before and after it claims [#10]", () => {
    expectSound("own jobs before and after", {
      processes: { ...produce([1], [2]), C: [[write(1), claim(1), write(1)]], D: [[claim(2)]] },
    });
  });

  it("a claimer whose transaction enqueues before and after it claims twice [#10]", () => {
    const processes = { ...produce([1], [2]), C: [[write(2), claim(1), write(1), claim(2)]], D: [[claim(2)]] };
    expectSound("own jobs and two claims", { processes });
    expectSound("own jobs and two claims, narrow ring", { processes, width: 2, mayRollBack: producers });
  });

  it("a purge: what it saw is gone, what was still running arrives", () => {
    expectSound("purge", {
      processes: { ...produce([1], [2]), X: [[purge]], D: [[claim(1)], [claim(2)]] },
      mayRollBack: [...producers, "X"],
    });
    expectSound("purge, narrow ring", { processes: { ...produce([1], [2]), X: [[purge]], D: [[claim(1)]] }, width: 2 });
  });

  it("a purge in a transaction that has enqueued before", () => {
    expectSound("purge own jobs", { processes: { ...produce([1]), X: [[write(1), purge]] } });
  });

  it("a purge in a transaction that enqueues afterwards", () => {
    expectSound("purge, then own jobs", { processes: { ...produce([1]), X: [[purge, write(1)]] } });
  });

  it("three producers that straddle midnight, two claimers: a claim ends at the first job of another day", () => {
    expectSound("midnight", {
      processes: { ...produce([1], [1, 1], [1]), C: [[claim(4)]], D: [[claim(2)]] },
      mayRollBack: [],
      midnight: true,
    });
  });

  it("midnight within a ticket, in a narrow ring, and around a claimer's own jobs", () => {
    expectSound("midnight within a ticket", {
      processes: { ...produce([3], [1, 1]), C: [[claim(5)]], D: [[claim(2)]] },
      mayRollBack: ["P"],
      midnight: true,
    });
    expectSound("midnight, narrow ring", {
      processes: { ...produce([1, 1], [1]), C: [[claim(3)]], D: [[claim(2)]] },
      width: 2,
      midnight: true,
    });
    expectSound("midnight, own jobs", {
      processes: { ...produce([1, 1]), C: [[write(1), claim(3), write(1)]], D: [[claim(2)]] },
      midnight: true,
    });
  });

  it.runIf(isFull)(
    "three producers of every shape, two claimers with batches of 1 to 3 (MODEL=full)",
    { timeout: 3_600_000 },
    () => {
      for (const [i, first] of shapes.entries()) {
        for (const [k, second] of shapes.entries()) {
          for (const [m, third] of shapes.entries()) {
            if (k < i || m < k) continue;
            for (const [c, d] of batches) {
              const processes = { ...produce([...first], [...second], [...third]), C: [[claim(c)]], D: [[claim(d)]] };
              expectSound(JSON.stringify([first, second, third, c, d]), { processes, mayRollBack: producers });
            }
          }
        }
      }
    },
  );
});

describe("the model finds what is put in", () => {
  const two: Scenario = { processes: { ...produce([1], [1]), C: [[claim(1)], [claim(1)]] }, mayRollBack: [] };
  const late: Scenario = {
    processes: { ...produce([2], [2], [1]), C: [[claim(1)], [claim(1)], [claim(1)]] },
    mayRollBack: [],
  };
  const mutants: readonly (readonly [string, keyof Rules, Scenario, RegExp])[] = [
    ["the position of a half-taken late transaction is overwritten by another's", "overwritesPositions", late, /twice/],
    [
      "a late transaction that ended exactly with the batch stays, its position reset",
      "resetsAtBoundary",
      two,
      /twice/,
    ],
    ["running transactions come from a later snapshot than the tickets", "runningFromLaterSnapshot", two, /lost/],
    ["the transaction at the head is not looked for among the running ones", "skipsHeadXid", two, /lost/],
    [
      "the same, after the head was placed at the start of a ring child",
      "skipsHeadXid",
      { processes: { ...produce([1], [1], [1]), C: [[claim(3)], [claim(1)]] }, width: 2, mayRollBack: [] },
      /lost/,
    ],
    [
      "the claimer's own transaction is not remembered",
      "forgetsOwn",
      { processes: { ...produce([1]), C: [[claim(1), write(1)]] } },
      /lost/,
    ],
    [
      "the claimer's own transaction, when late, counts as ended",
      "takesOwnForEnded",
      { processes: { ...produce([1], [1]), C: [[claim(1), claim(1), write(1)]] } },
      /lost/,
    ],
    [
      "whoever runs beyond the snapshot's end is passed unnoticed on the way to one's own jobs",
      "ignoresBeyondXmax",
      { processes: { ...produce([1]), C: [[write(1), claim(1)]] } },
      /lost/,
    ],
    [
      "a purge forgets which of its own jobs it dropped",
      "purgeForgetsOwn",
      { processes: { ...produce([1]), X: [[write(1), purge]] } },
      /lost|purged/,
    ],
    [
      "whether jobs are of one day is asked of the first and the last only",
      "comparesFirstAndLastDay",
      { processes: { ...produce([1, 1], [1]), C: [[claim(3)]] }, mayRollBack: [], midnight: true },
      /lost/,
    ],
    ["ended late transactions are dropped although the batch could not hold them", "dropsUnread", late, /lost/],
  ];
  it.each(mutants)("%s", (name, rule, scenario, message) => {
    expect(explore(cursorModel(scenario)).violation).toBeUndefined();
    const { violation } = run(`mutant: ${name}`, { ...scenario, rules: { [rule]: true } });
    expect(violation?.message).toMatch(message);
    expect(violation?.trace.length).toBeGreaterThan(0);
  });
});
