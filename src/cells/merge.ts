import type {
  Depth,
  FailureGroup,
  HistoryPoint,
  JobCounts,
  JobState,
  QueueRecord,
  QueueState,
  Reason,
  RunStats,
  StageRecord,
} from "../db/types.js";
import type { Cell } from "./cell.js";
import { isSpread } from "./spread-copy.js";
import { withHandles } from "./ways.js";

/** What one cell answered. */
interface Of<T> {
  readonly cell: Cell;
  readonly answer: T;
}

/** What all of them have found. */
export const flat = <R>(found: readonly Of<readonly R[]>[]): R[] => found.flatMap(({ answer }) => answer);

/** How many all of them have found. */
export const sum = (found: readonly Of<number>[]): number => found.reduce((total, { answer }) => total + answer, 0);

export function mergedCounts(found: readonly Of<JobCounts>[]): JobCounts {
  const counts: Partial<Record<JobState, number>> = {};
  for (const { answer } of found)
    for (const [state, jobs] of Object.entries(answer) as [JobState, number][])
      counts[state] = (counts[state] ?? 0) + jobs;
  return counts as JobCounts;
}

const earliest = (a: Date | null, b: Date | null): Date | null => (a === null || (b !== null && b < a) ? b : a);
const latest = (a: Date | null, b: Date | null): Date | null => (a === null || (b !== null && b > a) ? b : a);
const largest = (a: number | null, b: number | null): number | null => (a === null || (b !== null && b > a) ? b : a);

export function mergedDepth(found: readonly Of<Depth>[]): Depth {
  return found
    .map(({ answer }) => answer)
    .reduce((a, b) => ({
      ready: a.ready + b.ready,
      blocked: a.blocked + b.blocked,
      delayed: a.delayed + b.delayed,
      running: a.running + b.running,
      staged: a.staged + b.staged,
      oldestReadyAt: earliest(a.oldestReadyAt, b.oldestReadyAt),
      oldestAgeSeconds: largest(a.oldestAgeSeconds, b.oldestAgeSeconds),
    }));
}

const jobsIn = ({ waiting, delayed, running }: QueueRecord): number => waiting + delayed + running;

/** In the order in which a state is worth seeing. */
const states: readonly QueueState[] = ["paused", "waiting", "active", "closed", "finished", "moved"];

/** Of two states of a queue in two cells, the one that is worth seeing. */
export const foremost = (a: QueueState, b: QueueState): QueueState => (states.indexOf(a) <= states.indexOf(b) ? a : b);

/**
 * A queue once, with the sums of the cells that have something of it. What was set for it is shown of the cell that has
 * the most of it: a queue that moves is in two, one that every cell has by itself (`default`) in all. One that is
 * spread has finished when it has in each.
 */
export function mergedQueues(found: readonly Of<readonly QueueRecord[]>[]): QueueRecord[] {
  const queues = new Map<string, Of<QueueRecord>[]>();
  for (const { cell, answer } of found)
    for (const queue of answer) queues.set(queue.name, [...(queues.get(queue.name) ?? []), { cell, answer: queue }]);
  return [...queues.values()]
    .map((parts) => {
      const full = parts.filter(({ answer }) => jobsIn(answer) > 0);
      const shown = full.length > 0 ? full : parts;
      const state = parts.map(({ answer }) => answer.state).reduce(foremost);
      const [most] = isSpread(parts[0]!.answer)
        ? parts.filter(({ answer }) => answer.state === state)
        : shown.toSorted((a, b) => jobsIn(b.answer) - jobsIn(a.answer));
      const total = (key: "waiting" | "ready" | "blocked" | "delayed" | "running" | "staged" | "suspended"): number =>
        parts.reduce((sum, { answer }) => sum + answer[key], 0);
      return {
        ...most!.answer,
        waiting: total("waiting"),
        ready: total("ready"),
        blocked: total("blocked"),
        delayed: total("delayed"),
        running: total("running"),
        staged: total("staged"),
        suspended: total("suspended"),
        cell: shown.map(({ cell }) => cell.name).join(", "),
      };
    })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

export function mergedStages(found: readonly Of<readonly StageRecord[]>[]): StageRecord[] {
  const stages = new Map<string, StageRecord>();
  for (const one of found.flatMap(({ cell, answer }) => answer.map((stage) => ({ ...stage, cell: cell.name })))) {
    const key = `${one.queue}/${one.stage}`;
    const known = stages.get(key);
    const since = known && known.since < one.since ? known.since : one.since;
    stages.set(key, known ? { ...one, jobs: known.jobs + one.jobs, since } : one);
  }
  return [...stages.values()];
}

/** What was set alike in several cells, for a queue that all of them have, once. */
export function distinct<T>(records: readonly T[], keyOf: (record: T) => unknown): T[] {
  const known = new Map<string, T>();
  for (const record of records) {
    const key = JSON.stringify(keyOf(record));
    if (!known.has(key)) known.set(key, record);
  }
  return [...known.values()];
}

/** The same reason of several cells once, with all jobs that it holds. */
export function mergedReasons(found: readonly Of<readonly Reason[]>[]): Reason[] {
  const reasons = new Map<string, Reason>();
  for (const reason of found.flatMap(({ answer }) => answer)) {
    const { jobs, isExact, ...facts } = reason;
    const key = JSON.stringify({ ...facts, since: undefined });
    const known = reasons.get(key);
    const isEstimate = isExact === false || known?.isExact === false;
    reasons.set(key, {
      ...(known ?? reason),
      ...(jobs === undefined ? {} : { jobs: jobs + (known?.jobs ?? 0) }),
      ...(isEstimate ? { isExact: false } : {}),
    });
  }
  return [...reasons.values()];
}

export function mergedFailures(found: readonly Of<readonly FailureGroup[]>[]): FailureGroup[] {
  const groups = new Map<string, FailureGroup>();
  for (const { cell, answer } of found)
    for (const plain of answer) {
      const group = withHandles(cell, plain, "lastJobId");
      const known = groups.get(group.fingerprint);
      const newest = known && known.lastAt > group.lastAt ? known : group;
      groups.set(
        group.fingerprint,
        known
          ? {
              ...newest,
              jobs: known.jobs + group.jobs,
              firstAt: known.firstAt < group.firstAt ? known.firstAt : group.firstAt,
              types: [...new Set([...known.types, ...group.types])],
              queues: [...new Set([...known.queues, ...group.queues])],
            }
          : group,
      );
    }
  return [...groups.values()].toSorted((a, b) => b.jobs - a.jobs);
}

export function mergedStats(found: readonly Of<readonly RunStats[]>[]): RunStats[] {
  const stats = new Map<string, RunStats>();
  for (const one of found.flatMap(({ answer }) => answer)) {
    const key = `${one.type}\n${one.windowSeconds}`;
    const known = stats.get(key);
    stats.set(key, known ? summedStats(known, one) : one);
  }
  return [...stats.values()];
}

function summedStats(a: RunStats, b: RunStats): RunStats {
  const last = a.lastFinishedAt !== null && latest(a.lastFinishedAt, b.lastFinishedAt) === a.lastFinishedAt ? a : b;
  const runs = a.runs + b.runs;
  const totalSeconds = a.totalSeconds + b.totalSeconds;
  return {
    ...last,
    runs,
    succeeded: a.succeeded + b.succeeded,
    failed: a.failed + b.failed,
    totalSeconds,
    averageSeconds: runs === 0 ? null : totalSeconds / runs,
  };
}

const added = (a: number | null, b: number | null): number | null =>
  a === null && b === null ? null : (a ?? 0) + (b ?? 0);

/** Points of the same time together: sums, and of times the longest. */
export function mergedHistory(found: readonly Of<readonly HistoryPoint[]>[]): HistoryPoint[] {
  const points = new Map<number, HistoryPoint>();
  for (const b of found.flatMap(({ answer }) => answer)) {
    const a = points.get(b.at.getTime());
    points.set(b.at.getTime(), a ? summedPoints(a, b) : b);
  }
  return [...points.values()].toSorted((a, b) => a.at.getTime() - b.at.getTime());
}

function summedPoints(a: HistoryPoint, b: HistoryPoint): HistoryPoint {
  const kinds: Record<string, number> = { ...a.kinds };
  for (const [kind, jobs] of Object.entries(b.kinds ?? {})) kinds[kind] = (kinds[kind] ?? 0) + jobs;
  return {
    at: a.at,
    stepSeconds: a.stepSeconds,
    enqueued: a.enqueued + b.enqueued,
    finished: a.finished + b.finished,
    runs: a.runs + b.runs,
    failed: a.failed + b.failed,
    waiting: added(a.waiting, b.waiting),
    running: added(a.running, b.running),
    oldestReadySeconds: largest(a.oldestReadySeconds, b.oldestReadySeconds),
    waitP50Seconds: largest(a.waitP50Seconds, b.waitP50Seconds),
    waitP95Seconds: largest(a.waitP95Seconds, b.waitP95Seconds),
    runP50Seconds: largest(a.runP50Seconds, b.runP50Seconds),
    runP95Seconds: largest(a.runP95Seconds, b.runP95Seconds),
    kinds: a.kinds === null && b.kinds === null ? null : kinds,
  };
}
