/** A run with steps of every kind, among the jobs of a fixture. */
import type { Child, Job, List, Run, Step } from "../../dashboard/wire.js";

/** Which of the jobs it is, and which are its children. */
export const runAt = 28;
const isChild = (n: number): boolean => n >= 30 && n < 33;

const names = { approved: "approved", step: "pack" };

/** What a job of the fixture knows of runs. */
export function runOf(
  n: number,
  idOf: (n: number) => string,
  suspendedAt: string,
): Pick<Job, "parent" | "waits" | "suspendedAt"> {
  if (n !== runAt) return { parent: isChild(n) ? idOf(runAt) : null, waits: null, suspendedAt: null };
  return {
    parent: idOf(0),
    waits: {
      steps: [names.approved, names.step],
      until: new Date(Date.parse(suspendedAt) + 7 * 86_400_000).toISOString(),
      signals: [names.approved, "rejected"],
      children: [{ step: names.step, left: 2, of: 3 }],
      after: null,
    },
    suspendedAt,
  };
}

/** The children of a job: those of the fixture's run, and one that is not there any more. */
export function childrenOf(jobs: readonly Job[], id: string): List<Child> | undefined {
  if (!jobs.some((job) => job.id === id)) return undefined;
  const found = jobs
    .filter(({ parent }) => parent === id)
    .map(({ id: child, queue, type, state, createdAt, finishedAt }): Child => {
      return { id: child, step: names.step, queue, type, state, createdAt, finishedAt, detached: false };
    });
  const nothing = { queue: null, type: null, state: null, createdAt: null, finishedAt: null };
  const gone: Child = { id: "1", step: "audit", ...nothing, detached: true };
  return { items: id === jobs[runAt]?.id ? [...found, gone] : found };
}

/** Its steps, the newest first, as the dashboard asks for them. `text` stands wherever somebody else chooses it. */
export function stepsOf(
  jobs: readonly Job[],
  id: string,
  query: URLSearchParams,
  text: string | null,
): Run | undefined {
  const job = jobs.find((one) => one.id === id);
  if (!job) return undefined;
  const { state, parent, waits, suspendedAt } = job;
  const all = job === jobs[runAt] ? makeSteps(job, jobs, text) : [];
  const limit = Number(query.get("limit") ?? 100);
  if (query.has("key")) {
    const one = all.find((step) => BigInt(step.id) > BigInt(query.get("cursor")!) && step.key === query.get("key"))!;
    return { state, parent, waits, suspendedAt, items: [{ ...one, value: { whole: "x".repeat(5000) } }] };
  }
  const items = all.toReversed().slice(0, limit);
  return {
    state,
    parent,
    waits,
    suspendedAt,
    items,
    ...(items.length < all.length && { next: items.at(-1)!.id }),
  };
}

function makeSteps(job: Job, jobs: readonly Job[], text: string | null): Step[] {
  const began = Date.parse(job.suspendedAt!) - 3_600_000;
  const children = jobs.filter(({ parent }) => parent === job.id);
  const odd = text ?? "charge";
  const steps: (Partial<Step> & Pick<Step, "key" | "kind">)[] = [
    { key: "reserve", kind: "done", seconds: 0.012, tries: 1, value: { reservation: text ?? "r-17" }, valueBytes: 24 },
    {
      key: odd,
      kind: "try",
      n: "1",
      tries: 1,
      seconds: 1.204,
      until: new Date(began + 12_000).toISOString(),
      error: {
        name: "CardError",
        code: "card_declined",
        message: text ?? "the card was refused",
        stack: "CardError\n    at charge",
      },
    },
    {
      key: odd,
      kind: "try",
      n: "2",
      tries: 2,
      seconds: 0.98,
      until: null,
      error: { message: text ?? "the card was refused" },
    },
    { key: odd, kind: "done", seconds: 0.734, tries: 3, value: { paid: true, id: 7 }, valueBytes: 20 },
    { key: "cool-off", kind: "due", until: new Date(began + 1_800_000).toISOString() },
    { key: "fetch", kind: "done", seconds: 4.1, tries: 1, value: null, valueBytes: 5010 },
    { key: "audit", kind: "started", children: 1, about: "detached" },
    {
      key: "hint",
      kind: "signal",
      n: "9001",
      about: text ?? "hook-17",
      value: { note: text ?? "hurry" },
      valueBytes: 16,
    },
    { key: "hint", kind: "got", n: "9001", about: "hint", value: { note: text ?? "hurry" }, valueBytes: 16 },
    { key: "approved#2", kind: "done", about: "timeout" },
    { key: "label", kind: "done", seconds: 0.2, tries: 1, error: { message: text ?? "no printer" } },
    {
      key: "#rewind",
      kind: "rewind",
      about: "label",
      other: "5010",
      value: { by: "ann", because: text ?? "the printer is back" },
      valueBytes: 40,
    },
    { key: "label#1~1", kind: "done", seconds: 0.3, tries: 1 },
    ...(text === null
      ? []
      : Array.from({ length: 600 }, (_, n) => ({
          key: `loop#${n + 1}`,
          kind: "done" as const,
          seconds: 0.001,
          tries: 1,
          value: n,
          valueBytes: 3,
        }))),
    { key: "pack", kind: "started", children: 3 },
    ...["succeeded", "succeeded", "failed"].map((about, n) => ({
      key: "pack",
      kind: "ended" as const,
      n: String(n + 1),
      about,
      other: children[n]?.id ?? "1",
      ...(about === "failed" ? { error: { message: text ?? "no box" } } : { value: { packed: n }, valueBytes: 12 }),
    })),
  ];
  return steps.map((step, n) => ({
    id: String(5000 + n),
    n: null,
    at: new Date(began + n * 4000).toISOString(),
    until: null,
    seconds: null,
    tries: null,
    about: null,
    other: null,
    children: null,
    value: null,
    valueBytes: null,
    error: null,
    ...step,
  }));
}
