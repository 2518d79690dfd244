/** Flows of a fixture: small, of many kinds, of many alike, and tangled; with jobs in every state. */
import type { FlowGraph, FlowJob, Job, JobState } from "../../dashboard/wire.js";

const flowNames = ["checkout", "nightly-import", "render-500", "tangled"] as const;
type FlowName = (typeof flowNames)[number];

/** The id of the job that stands for a flow. */
export const flowIdOf = (name: FlowName): string => String(8_000_000_000n + BigInt(flowNames.indexOf(name)));

const memberId = (name: FlowName, n: number): string => String(BigInt(flowIdOf(name)) * 10_000n + BigInt(n));

/** The jobs that stand for the flows; `like` has what is the same for all jobs. */
export const flowJobs = (like: Job): Job[] =>
  flowNames.map((name) => ({
    ...like,
    id: flowIdOf(name),
    type: "millrace.flow",
    state: "suspended",
    attempts: 1,
    worker: null,
    leaseEndsAt: null,
    input: { name },
    result: null,
    parent: null,
    waits: {
      steps: ["job"],
      until: null,
      signals: [],
      children: [{ step: "job", left: 3, of: 5 }],
      after: null,
    },
    suspendedAt: like.createdAt,
  }));

/** A flow as the API tells it. `odd` stands for the type of one of its jobs. */
export function flowOf(id: string, odd: string | null): FlowGraph | undefined {
  const name = flowNames.find((one) => flowIdOf(one) === id);
  if (name === undefined) return undefined;
  const jobs = makers[name](odd ?? "send-receipt").map(([type, state, after], n): FlowJob => ({
    id: memberId(name, n),
    type,
    queue: type === "report" ? "reports" : "default",
    state,
    after: after.map((other) => memberId(name, other)),
    when: type === "report" ? "ended" : "succeeded",
  }));
  return {
    id,
    name,
    state: "suspended",
    createdAt: new Date(Date.now() - 3_600_000).toISOString(),
    finishedAt: null,
    total: jobs.length,
    jobs,
    others: [],
  };
}

type Line = readonly [type: string, state: JobState, after: readonly number[]];

const range = (from: number, length: number): number[] => Array.from({ length }, (_, n) => from + n);

/** A state that depends on the number alone. */
const stateOf = (n: number): JobState =>
  n % 97 === 5
    ? "failed"
    : n % 89 === 7
      ? "expired"
      : n % 61 === 11
        ? "cancelled"
        : n % 23 === 3
          ? "running"
          : n % 17 === 4
            ? "ready"
            : "succeeded";

const makers: Readonly<Record<FlowName, (odd: string) => Line[]>> = {
  checkout: (odd) => [
    ["reserve-stock", "succeeded", []],
    ["charge-card", "failed", []],
    ["pack", "cancelled", [0, 1]],
    [odd, "suspended", [1]],
    ["tell-the-customer", "suspended", [2, 3]],
  ],
  "nightly-import": () => {
    const sources = ["orders", "customers", "products", "returns", "stock", "prices", "suppliers", "campaigns"];
    const lines: Line[] = [["open-window", "succeeded", []]];
    for (const [n, source] of sources.entries()) {
      const at = lines.length;
      lines.push(
        [`fetch-${source}`, n === 3 ? "failed" : "succeeded", [0]],
        [`check-${source}`, n === 3 ? "cancelled" : n > 5 ? "running" : "succeeded", [at]],
        [`clean-${source}`, n === 3 ? "cancelled" : n > 4 ? "suspended" : "succeeded", [at + 1]],
        [`load-${source}`, n === 3 ? "cancelled" : n > 3 ? "suspended" : "succeeded", [at + 2]],
        [`count-${source}`, n === 3 ? "cancelled" : n > 2 ? "suspended" : "ready", [at + 3, at]],
      );
    }
    const loads = sources.map((_, n) => 4 + n * 5);
    const at = lines.length;
    lines.push(
      ["join-orders", "suspended", loads.slice(0, 3)],
      ["join-stock", "suspended", loads.slice(3, 6)],
      ["index", "suspended", [at, at + 1, loads[6]!]],
      ["report", "suspended", [at + 2]],
      ["mail", "delayed", [at + 3]],
      ["archive", "blocked", [at + 2, 0]],
      ["note-failures", "succeeded", [1 + 3 * 5]],
      ["close-window", "suspended", [at + 4, at + 5, at + 6]],
      ["clean-up", "suspended", [at + 7]],
    );
    return lines;
  },
  "render-500": () => [
    ["plan", "succeeded", []],
    ...range(1, 160).map((n): Line => ["extract", stateOf(n), [0]]),
    ...range(161, 160).map((n): Line => ["render", n > 240 ? "suspended" : stateOf(n), [n - 160]]),
    ...range(321, 160).map((n): Line => ["upload", n > 380 ? "suspended" : stateOf(n), [n - 160]]),
    ...range(481, 16).map((n): Line => ["bundle", "suspended", range(321 + (n - 481) * 10, 10)]),
    ["stitch", "suspended", range(481, 16)],
    ["report", "suspended", [497]],
    ["mail", "suspended", [498]],
  ],
  tangled: () =>
    range(0, 500).map((n): Line => {
      const kinds = ["fetch", "parse", "join", "score", "store"];
      const after = [1, 2, 3].map((k) => n - 1 - ((n * k * 7919) % 60)).filter((other) => other >= 0 && n > 12);
      return [kinds[(n * 31) % 5]!, stateOf(n), [...new Set(after)]];
    }),
};
