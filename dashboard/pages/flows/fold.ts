/** What of a flow is drawn as one: jobs that are alike fold into one node, so that five hundred can be looked at. */
import type { FlowGraph, FlowJob } from "../../wire.js";

/** A job that is drawn: one of the flow, or one outside of it that others wait for. */
export type DrawnJob = FlowJob & { readonly isOutside?: boolean };

/** What is drawn of a flow: its jobs, and those outside that are still known. */
export const drawnOf = ({ jobs, others }: FlowGraph): readonly DrawnJob[] => [
  ...jobs,
  ...others.flatMap(({ id, type, queue, state }): DrawnJob[] =>
    type === null || queue === null || state === null
      ? []
      : [{ id, type, queue, state, after: [], when: "succeeded", isOutside: true }],
  ),
];

/** A node of the graph: one job, or several that stand at the same place. */
export interface FlowNode {
  readonly key: string;
  readonly type: string;
  readonly queue: string;
  /** Of jobs outside of the flow. */
  readonly isOutside: boolean;
  readonly jobs: readonly FlowJob[];
  /** How many nodes stand before it, on the longest way. */
  readonly layer: number;
  /** The nodes that it waits for. */
  readonly after: readonly string[];
}

/**
 * `jobs`: each by itself. `alike`: those of one type and queue that wait for alike jobs, and that alike jobs wait for.
 * `types`: those of one type and queue that stand equally deep.
 */
export type Folding = "jobs" | "alike" | "types";

/** So many nodes are read at a glance. */
const readable = 40;
/** Beyond this many lines nobody sees anything, and a browser has no joy either. */
const maxLines = 4000;

export interface Folded {
  readonly folding: Folding;
  readonly nodes: readonly FlowNode[];
}

/** The ways to look at a flow that differ much from each other, the finest first. */
export function foldings(jobs: readonly DrawnJob[]): readonly Folded[] {
  const deep = depths(jobs);
  const found: Folded[] = [];
  for (const folding of ["jobs", "alike", "types"] as const) {
    const nodes = join(jobs, deep, colours(jobs, deep, folding));
    const isCoarser = nodes.length < (found.at(-1)?.nodes.length ?? Infinity) * 0.8;
    if (isCoarser && (folding === "types" || lines(nodes) <= maxLines)) found.push({ folding, nodes });
  }
  return found;
}

/** The finest that is readable; where none is, the one with the fewest nodes. */
export const usualFolding = (found: readonly Folded[]): Folding =>
  (found.find(({ nodes }) => nodes.length <= readable) ?? found.at(-1)!).folding;

const lines = (nodes: readonly FlowNode[]): number => nodes.reduce((sum, { after }) => sum + after.length, 0);

/** How deep each job stands: one more than the deepest that it waits for. */
function depths(jobs: readonly FlowJob[]): ReadonlyMap<string, number> {
  const byId = new Map(jobs.map((job) => [job.id, job]));
  const deep = new Map<string, number>();
  const depthOf = (id: string): number => {
    const known = deep.get(id);
    if (known !== undefined) return known;
    deep.set(id, 0); // the engine lets no circle in; one would end here
    const before = byId.get(id)!.after.filter((other) => byId.has(other));
    const depth = Math.max(0, ...before.map((other) => depthOf(other) + 1));
    deep.set(id, depth);
    return depth;
  };
  for (const { id } of jobs) depthOf(id);
  return deep;
}

/** A colour for each job, such that those of one colour are drawn as one. */
function colours(
  jobs: readonly DrawnJob[],
  deep: ReadonlyMap<string, number>,
  folding: Folding,
): ReadonlyMap<string, number> {
  const colour = number(jobs, ({ id, type, queue, when, isOutside = false }) =>
    folding === "jobs" ? id : JSON.stringify([deep.get(id), type, queue, when, isOutside]),
  );
  if (folding !== "alike") return colour;
  const before = new Map(jobs.map(({ id, after }) => [id, after.filter((other) => deep.has(other))]));
  const behind = new Map<string, string[]>(jobs.map(({ id }) => [id, []]));
  for (const [id, others] of before) for (const other of others) behind.get(other)!.push(id);
  // What is before or behind jobs of one colour has to be of the same colours; colours part until that holds.
  for (let known = colour; ;) {
    const around = (ids: readonly string[]) => [...new Set(ids.map((id) => known.get(id)!))].toSorted((a, b) => a - b);
    const next = number(jobs, ({ id }) =>
      JSON.stringify([known.get(id), around(before.get(id)!), around(behind.get(id)!)]),
    );
    if (new Set(next.values()).size === new Set(known.values()).size) return known;
    known = next;
  }
}

/** Numbers for what the jobs say, the same for the same. */
function number(jobs: readonly DrawnJob[], say: (job: DrawnJob) => string): Map<string, number> {
  const numbers = new Map<string, number>();
  return new Map(
    jobs.map((job) => {
      const said = say(job);
      if (!numbers.has(said)) numbers.set(said, numbers.size);
      return [job.id, numbers.get(said)!];
    }),
  );
}

/** One node for each colour, named by its first job, so that it stays the same while the flow grows. */
function join(
  jobs: readonly DrawnJob[],
  deep: ReadonlyMap<string, number>,
  colour: ReadonlyMap<string, number>,
): FlowNode[] {
  const members = new Map<number, DrawnJob[]>();
  for (const job of jobs) {
    const known = members.get(colour.get(job.id)!);
    if (known) known.push(job);
    else members.set(colour.get(job.id)!, [job]);
  }
  const keyOf = (id: string): string | undefined => members.get(colour.get(id) ?? -1)?.[0]!.id;
  return [...members.values()].map((all) => {
    const { id, type, queue, isOutside = false } = all[0]!;
    const after = new Set(all.flatMap((job) => job.after.flatMap((other) => keyOf(other) ?? [])));
    return { key: id, type, queue, isOutside, jobs: all, layer: deep.get(id)!, after: [...after] };
  });
}
