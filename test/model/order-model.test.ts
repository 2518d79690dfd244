import { afterAll, describe, expect, it } from "vitest";
import { type Exploration, describeExploration, explore } from "./explorer.js";
import { type OrderRules, type OrderScenario, orderModel } from "./order-model.js";

/** Two jobs wait, a third is committed at some time; two times one of them comes back. */
const group: OrderScenario = { jobs: 2, later: 1, comebacks: 2 };
const purged: OrderScenario = { ...group, comebacks: 1, purges: 1 };
const shed: OrderScenario = { jobs: 2, comebacks: 1, sheds: [2] };

const explored: string[] = [];
afterAll(() => console.log(explored.join("\n")));

function run(name: string, scenario: OrderScenario): Exploration {
  const exploration = explore(orderModel(scenario));
  explored.push(`${name}: ${exploration.violation?.message ?? describeExploration(exploration)}`);
  return exploration;
}

function expectSound(name: string, scenario: OrderScenario): void {
  const exploration = run(name, scenario);
  if (exploration.violation) expect.fail(describeExploration(exploration));
  expect(exploration.ends).toBeGreaterThan(0);
}

describe("an ordered group goes in order, one at a time; each job succeeds or is cancelled, none is stuck [invariant 1] [invariant 3] [#158] [#162]", () => {
  it("jobs that are retried and released, and one that comes later", () => {
    expectSound("nothing dropped", group);
  });

  it("a purge: what it saw waiting is cancelled, what ran goes on and may come back, what committed afterwards is handed out", () => {
    expectSound("purge", { ...group, purges: 1 });
  });

  it("two purges", () => {
    expectSound("two purges", { jobs: 1, later: 1, comebacks: 1, purges: 2 });
  });

  it.each([2, 3, 4])("a shedding of jobs below %i: those that follow go on [#108]", (below) => {
    expectSound(`shedding below ${below}`, { ...group, sheds: [below] });
  });

  it("two sheddings, and a shedding with a purge [#108]", () => {
    expectSound("two sheddings", { ...group, comebacks: 1, sheds: [2, 3] });
    expectSound("shedding and purge", { ...group, comebacks: 1, sheds: [2], purges: 1 });
  });
});

describe("the model finds what is put in", () => {
  const stuck = /is stuck/;
  const toldTooEarly = /was told as cancelled, and then handed out/;
  const outOfOrder = /starts before/;
  const mutants: readonly (readonly [string, keyof OrderRules, OrderScenario, RegExp])[] = [
    ["a dropped job holds up its group while it is in the agenda", "droppedHoldsUp", purged, stuck],
    ["a shedding does not put the group in line again whose job it dropped", "shedsSilently", shed, stuck],
    ["the end of a claim does not put the group in line again", "endsSilently", group, stuck],
    ["a promotion does not put the group in line again", "promotesSilently", group, stuck],
    ["a claim looks who runs before it reads the line", "looksBeforeLine", group, stuck],
    ["a report notes the time before it has the lane's entry", "notesTimeBeforeEntry", purged, toldTooEarly],
    ["a report does not take the lane's entry", "reportsWithoutEntry", purged, toldTooEarly],
    ["a promotion does not take the lane's entry", "promotesWithoutEntry", purged, toldTooEarly],
    ["a purge takes its snapshot before it has the lane's entry", "dropsBeforeEntry", purged, toldTooEarly],
    ["a claim looks at the agenda before it looks who runs", "looksAtAgendaFirst", group, outOfOrder],
    ["a job that is claimable again gets behind the others", "comesBackLast", group, outOfOrder],
  ];
  it.each(mutants)("%s", (name, rule, scenario, message) => {
    expect(explore(orderModel(scenario)).violation).toBeUndefined();
    const { violation } = run(`mutant: ${name}`, { ...scenario, rules: { [rule]: true } });
    expect(violation?.message).toMatch(message);
    expect(violation?.trace.length).toBeGreaterThan(0);
  });
});
