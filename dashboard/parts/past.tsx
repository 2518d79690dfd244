import type { JSX } from "preact";
import { count } from "../format.js";
import type { Point } from "../wire.js";
import { Chart, type Series } from "./chart.js";

/** What there is by the second. */
export const liveDepth: readonly Series<Point>[] = [
  { title: "ready", colour: "ready", of: (point) => point.ready },
  { title: "blocked", colour: "blocked", of: (point) => point.blocked },
  { title: "running", colour: "running", of: (point) => point.running },
  { title: "delayed", colour: "delayed", of: (point) => point.delayed },
  { title: "suspended", colour: "muted", of: (point) => point.suspended },
];
/** What is stored of a minute or an hour does not tell ready and blocked apart, nor what was not due. */
export const storedDepth: readonly Series<Point>[] = [
  { title: "waiting", colour: "ready", of: (point) => point.waiting },
  { title: "running", colour: "running", of: (point) => point.running },
];
const flow: readonly Series<Point>[] = [
  { title: "in", colour: "ready", of: (point) => point.in },
  { title: "out", colour: "good", of: (point) => point.out },
  { title: "failed", colour: "bad", of: (point) => point.failed },
];
const oldest: readonly Series<Point>[] = [
  { title: "oldest", colour: "delayed", of: (point) => point.oldestReadySeconds },
];
const waits: readonly Series<Point>[] = [
  { title: "p50", colour: "accent", of: (point) => point.p50 },
  { title: "p95", colour: "warn", of: (point) => point.p95 },
];
const runs: readonly Series<Point>[] = [
  { title: "p50", colour: "accent", of: (point) => point.runP50 ?? null },
  { title: "p95", colour: "warn", of: (point) => point.runP95 ?? null },
];

/** A line for what most queues never have would only be in the way. */
const depthOf = (points: readonly Point[]): readonly Series<Point>[] =>
  points.some(({ suspended }) => suspended) ? liveDepth : liveDepth.filter(({ title }) => title !== "suspended");

/** A queue or a type over time. Run times and kinds of failures are known of what is stored. */
export function Past({
  points,
  seconds,
  isStored,
}: {
  points: readonly Point[];
  seconds: number;
  isStored: boolean;
}): JSX.Element {
  return (
    <>
      <div class="grid-3">
        <Chart
          title="Depth"
          points={points}
          series={isStored ? storedDepth : depthOf(points)}
          kind="count"
          seconds={seconds}
        />
        <Chart title="Jobs per second" points={points} series={flow} kind="rate" seconds={seconds} />
        <Chart title="Age of the oldest" points={points} series={oldest} kind="duration" seconds={seconds} />
        {isStored && (
          <>
            <Chart
              title="Wait before the first attempt"
              points={points}
              series={waits}
              kind="duration"
              seconds={seconds}
            />
            <Chart title="Run time" points={points} series={runs} kind="duration" seconds={seconds} />
            <Kinds points={points} />
          </>
        )}
      </div>
    </>
  );
}

/** Failures by kind, all points together. */
function Kinds({ points }: { points: readonly Point[] }): JSX.Element {
  const kinds = new Map<string, number>();
  for (const { kinds: some } of points)
    for (const [kind, jobs] of Object.entries(some ?? {})) kinds.set(kind, (kinds.get(kind) ?? 0) + jobs);
  const sorted = [...kinds].toSorted(([, a], [, b]) => b - a).slice(0, 8);
  return (
    <figure class="chart chart-list">
      <figcaption>
        <span class="chart-title">Failures by kind</span>
      </figcaption>
      {sorted.length === 0 ? (
        <p class="muted">None in this time.</p>
      ) : (
        <dl class="facts">
          {sorted.map(([kind, jobs]) => (
            <div key={kind}>
              <dt class="cut" title={kind}>
                {kind}
              </dt>
              <dd>{count(jobs)}</dd>
            </div>
          ))}
        </dl>
      )}
    </figure>
  );
}
