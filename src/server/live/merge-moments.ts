import { foremost } from "../../cells/merge.js";
import type { LiveQueue, Overview } from "./moment.js";
import type { Sampled, Waits } from "./sampler.js";

/** What a cell looked like. */
export interface SampledCell extends Sampled {
  readonly cell: string;
}

/** Several cells as one: sums, and of times the longest. A worker may serve several cells, and counts once. */
export function mergedMoments(cells: readonly SampledCell[]): Sampled {
  const queues = new Map<string, LiveQueue>();
  const waits = new Map<string, Waits>();
  for (const { cell, moment, waits: own } of cells) {
    for (const queue of moment.queues) {
      const known = queues.get(queue.queue);
      queues.set(queue.queue, known ? bothQueues(known, { ...queue, cell }) : { ...queue, cell });
    }
    for (const [queue, one] of own) waits.set(queue, longerWaits(waits.get(queue), one));
  }
  const all = [...queues.values()].toSorted((a, b) => (a.queue < b.queue ? -1 : 1));
  const overview = cells.map(({ moment }) => moment.overview).reduce(bothOverviews);
  return { moment: { overview: { ...overview, queues: all.length }, queues: all }, waits };
}

const longest = (a: number | null, b: number | null): number | null => (a === null || (b !== null && b > a) ? b : a);
const added = (a: number | null, b: number | null): number | null =>
  a === null && b === null ? null : (a ?? 0) + (b ?? 0);

function longerWaits(a: Waits | undefined, b: Waits): Waits {
  return a ? { p50: longest(a.p50, b.p50), p95: longest(a.p95, b.p95) } : b;
}

const isEmpty = ({ ready, blocked, delayed, suspended, running }: LiveQueue): boolean =>
  ready + blocked + delayed + suspended + running === 0;

/** A queue that moves is in two cells, one that each has by itself (`default`) in all: where something of it is. */
function bothQueues(a: LiveQueue, b: LiveQueue): LiveQueue {
  return {
    queue: a.queue,
    state: foremost(a.state, b.state),
    ready: a.ready + b.ready,
    blocked: a.blocked + b.blocked,
    delayed: a.delayed + b.delayed,
    suspended: a.suspended + b.suspended,
    running: a.running + b.running,
    oldestReadySeconds: longest(a.oldestReadySeconds, b.oldestReadySeconds),
    in: added(a.in, b.in),
    out: added(a.out, b.out),
    failed: added(a.failed, b.failed),
    cell: isEmpty(a) === isEmpty(b) ? `${a.cell}, ${b.cell}` : isEmpty(a) ? b.cell! : a.cell!,
  };
}

function bothOverviews(a: Overview, b: Overview): Overview {
  return {
    at: a.at > b.at ? a.at : b.at,
    queues: a.queues + b.queues,
    ready: a.ready + b.ready,
    blocked: a.blocked + b.blocked,
    delayed: a.delayed + b.delayed,
    suspended: a.suspended + b.suspended,
    running: a.running + b.running,
    failedLastHour: a.failedLastHour + b.failedLastHour,
    failedLastHourIsExact: a.failedLastHourIsExact && b.failedLastHourIsExact,
    oldestReadySeconds: longest(a.oldestReadySeconds, b.oldestReadySeconds),
    rates: {
      enqueuedPerSecond: added(a.rates.enqueuedPerSecond, b.rates.enqueuedPerSecond),
      finishedPerSecond: added(a.rates.finishedPerSecond, b.rates.finishedPerSecond),
      failedPerSecond: added(a.rates.failedPerSecond, b.rates.failedPerSecond),
    },
    latency: longerWaits(a.latency, b.latency),
    workers: Math.max(a.workers, b.workers),
    holders: Math.max(a.holders, b.holders),
    warnings: 0,
    alerts: a.alerts + b.alerts,
  };
}
