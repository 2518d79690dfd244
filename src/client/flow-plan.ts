import { checkList, checkName, checkObject, shown } from "../db/check-options.js";
import { InvalidArgumentError } from "../db/errors.js";
import type { EnqueueOptions, FlowWhen, JobId, NewFlowJob } from "../db/types.js";

/** A job of a flow as people write it down: it names those it waits for, in whatever order they stand. */
export type NamedFlowJob = Omit<EnqueueOptions, "payload"> & {
  /** What others of the flow know it by. */
  readonly name?: string;
  readonly type: string;
  readonly input?: unknown;
  /** What it waits for: names of jobs of the flow, or ids of jobs that are there. */
  readonly after?: readonly string[];
  readonly when?: FlowWhen;
};

/** The jobs of a flow in an order in which each comes after those it waits for, and where each one stood. */
export interface FlowPlan {
  readonly jobs: readonly NewFlowJob[];
  /** Of each job as it was given, its place in `jobs`. */
  readonly places: readonly number[];
}

/** Put jobs that name each other in order. Refuses names that are used twice or that nobody has, and circles. */
export function flowPlan(given: readonly NamedFlowJob[]): FlowPlan {
  checkList(given, "jobs");
  const byName = namesOf(given);
  const waits = given.map(({ after = [] }, i) => targetsOf(after, i, given, byName));
  const order = ordered(waits);
  if (order.length < given.length) throw circle(given, waits, new Set(order));
  const places: number[] = [];
  for (const [place, i] of order.entries()) places[i] = place;
  const jobs = order.map((i): NewFlowJob => {
    const { name: _name, after: _after, type, input, when, ...options } = given[i]!;
    const after = waits[i]!.map((target) => (typeof target === "number" ? places[target]! : target));
    return { type, input: input ?? null, options, after, ...(when === undefined ? {} : { when }) };
  });
  return { jobs, places };
}

const isId = (text: string): boolean => /^\d+$/.test(text);

function namesOf(given: readonly NamedFlowJob[]): ReadonlyMap<string, number> {
  const byName = new Map<string, number>();
  for (const [i, job] of given.entries()) {
    checkObject(job, "a job of the flow");
    const { name } = job;
    if (name === undefined) continue;
    checkName(name, "the name of a job of the flow", "nameLength");
    if (isId(name))
      throw new InvalidArgumentError(`a job of the flow cannot be named ${shown(name)}`, "a number is the id of a job");
    if (byName.has(name))
      throw new InvalidArgumentError(`two jobs of the flow are named ${shown(name)}`, "give each a name of its own");
    byName.set(name, i);
  }
  return byName;
}

/** What one job waits for: indexes of jobs of the flow, and ids. */
function targetsOf(
  after: readonly string[],
  i: number,
  given: readonly NamedFlowJob[],
  byName: ReadonlyMap<string, number>,
): readonly (number | JobId)[] {
  checkList(after, "after");
  return after.map((one) => {
    const found = byName.get(one);
    if (found !== undefined) return found;
    if (typeof one === "string" && isId(one)) return one;
    throw new InvalidArgumentError(
      `${labelOf(given, i)} waits for ${shown(one)}, which is no job of the flow`,
      "give the name of a job of the flow, or the id of a job that is there",
    );
  });
}

/** The jobs that can begin, then those that only waited for them, and so on; those in a circle are left out. */
function ordered(waits: readonly (readonly (number | JobId)[])[]): readonly number[] {
  const left = waits.map((targets) => targets.filter((target) => typeof target === "number").length);
  const waiters = new Map<number, number[]>();
  for (const [i, targets] of waits.entries())
    for (const target of targets)
      if (typeof target === "number") {
        const list = waiters.get(target);
        if (list) list.push(i);
        else waiters.set(target, [i]);
      }
  const order = [...left.keys()].filter((i) => left[i] === 0);
  for (const i of order) for (const waiter of waiters.get(i) ?? []) if (--left[waiter]! === 0) order.push(waiter);
  return order;
}

/** From any job that was left out, what it waits for among them leads round a circle. */
function circle(
  given: readonly NamedFlowJob[],
  waits: readonly (readonly (number | JobId)[])[],
  fine: ReadonlySet<number>,
): InvalidArgumentError {
  const way: number[] = [];
  const seen = new Set<number>();
  let i = given.findIndex((_, one) => !fine.has(one));
  while (!seen.has(i)) {
    seen.add(i);
    way.push(i);
    i = waits[i]!.find((target) => typeof target === "number" && !fine.has(target)) as number;
  }
  const round = [...way.slice(way.indexOf(i)), i].map((one) => labelOf(given, one));
  const told = round.length > 6 ? [...round.slice(0, 5), `${round.length - 6} others`, round[0]!] : round;
  return new InvalidArgumentError(`jobs of the flow wait for each other: ${told.join(", ")}`, "take one edge away");
}

function labelOf(given: readonly NamedFlowJob[], i: number): string {
  const { name } = given[i]!;
  return name === undefined ? `job ${i} of the flow` : shown(name);
}
