import type { FlowJob, JobState } from "../../wire.js";

/** What needs somebody comes first. */
const inOrder: readonly JobState[] = [
  "failed",
  "expired",
  "cancelled",
  "blocked",
  "running",
  "ready",
  "delayed",
  "suspended",
  "succeeded",
];

/** How many jobs are in each state, those that need somebody first. */
export function statesOf(jobs: readonly FlowJob[]): readonly (readonly [state: JobState, count: number])[] {
  const counts = new Map<JobState, number>();
  for (const { state } of jobs) counts.set(state, (counts.get(state) ?? 0) + 1);
  return inOrder.flatMap((state) => (counts.has(state) ? [[state, counts.get(state)!] as const] : []));
}

/** How what a job waits for has to end, where it is not the usual. */
export const whenOf = ({ when }: FlowJob): string | null =>
  when === "succeeded" ? null : when === "failed" ? "if one fails" : "however they end";

export const hasEnded = ({ state }: FlowJob): boolean =>
  state === "succeeded" || state === "failed" || state === "expired" || state === "cancelled";
