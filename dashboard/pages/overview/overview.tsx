import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { get } from "../../api.js";
import { count, duration, rate } from "../../format.js";
import { history } from "../../history.js";
import { overview, queueSamples, recent } from "../../live.js";
import { Chart, type Series, type Span, SpanChoice } from "../../parts/chart.js";
import { Empty } from "../../parts/empty.js";
import { firstJob } from "../../parts/samples.js";
import { PageHead, Panel } from "../../parts/panel.js";
import { liveDepth, storedDepth } from "../../parts/past.js";
import { useResource } from "../../parts/resource.js";
import { to } from "../../router.js";
import type { Job, List, Overview, Point } from "../../wire.js";
import { QueueTable } from "../queues/queue-table.js";
import { Attention } from "./attention.js";

const flow: readonly Series<Point>[] = [
  { title: "in", colour: "ready", of: (point) => point.in },
  { title: "out", colour: "good", of: (point) => point.out },
  { title: "failed", colour: "bad", of: (point) => point.failed },
];
const latency: readonly Series<Point>[] = [
  { title: "p50", colour: "accent", of: (point) => point.p50 },
  { title: "p95", colour: "warn", of: (point) => point.p95 },
];
const runs: readonly Series<Point>[] = [
  { title: "p50", colour: "accent", of: (point) => point.runP50 ?? null },
  { title: "p95", colour: "warn", of: (point) => point.runP95 ?? null },
];
const depth = liveDepth.slice(0, 3);
const oldest: readonly Series<Point>[] = [
  { title: "oldest", colour: "delayed", of: (point) => point.oldestReadySeconds },
];

const busiest = 8;

export function OverviewPage(): JSX.Element {
  const [span, setSpan] = useState<Span>("600");
  const seconds = Number(span);
  const past = useResource(
    `history ${span}`,
    (signal) => history({ seconds }, signal),
    span === "600" ? undefined : 60_000,
  );
  const points = span === "600" ? recent.value : (past.data ?? []);
  const samples = [...queueSamples.value.values()];
  const isNew = useIsNew();
  return (
    <>
      <PageHead title="Overview" actions={<SpanChoice value={span} onChange={setSpan} />} />
      <Totals of={overview.value} />
      {isNew ? (
        <Panel title="The first job">
          <Empty title="No job yet" code={firstJob}>
            This makes one; a worker can come later.
          </Empty>
        </Panel>
      ) : (
        <>
          <div class="grid-2 charts">
            <div class="panel panel-body">
              <Chart title="Jobs per second" points={points} series={flow} kind="rate" seconds={seconds} />
            </div>
            <div class="panel panel-body">
              <Chart
                title="Wait before the first attempt"
                points={points}
                series={latency}
                kind="duration"
                seconds={seconds}
              />
            </div>
            {span !== "600" && (
              <div class="panel panel-body">
                <Chart title="Run time" points={points} series={runs} kind="duration" seconds={seconds} />
              </div>
            )}
            <div class="panel panel-body">
              <Chart
                title="Jobs"
                points={points}
                series={span === "600" ? depth : storedDepth}
                kind="count"
                seconds={seconds}
              />
            </div>
            <div class="panel panel-body">
              <Chart
                title="Age of the oldest ready job"
                points={points}
                series={oldest}
                kind="duration"
                seconds={seconds}
              />
            </div>
          </div>
          <Attention />
          <Panel
            title="Busiest queues"
            note={samples.length > busiest ? `${busiest} of ${count(samples.length)}` : undefined}
            actions={<a href={to(["queues"])}>All queues</a>}
            flush
          >
            <QueueTable
              short
              rows={samples
                .toSorted(
                  (a, b) =>
                    (b.in ?? 0) + (b.out ?? 0) - (a.in ?? 0) - (a.out ?? 0) ||
                    b.ready + b.blocked + b.running - a.ready - a.blocked - a.running ||
                    a.queue.localeCompare(b.queue),
                )
                .slice(0, busiest)
                .toSorted((a, b) => a.queue.localeCompare(b.queue))
                .map(({ queue, state }) => ({ name: queue, state }))}
              empty={<Empty title="Waiting for the first sample" />}
            />
          </Panel>
        </>
      )}
    </>
  );
}

/** Nothing waits or runs, and no job was ever enqueued, or all are long forgotten. */
function useIsNew(): boolean {
  const isIdle =
    overview.value !== null &&
    overview.value.ready +
      overview.value.blocked +
      overview.value.delayed +
      overview.value.suspended +
      overview.value.running ===
      0;
  const hasJobs = useResource(
    `has jobs ${isIdle}`,
    async (signal) => !isIdle || (await get<List<Job>>("jobs", { limit: 1, brief: true }, signal)).items.length > 0,
    5000,
  );
  return hasJobs.data === false;
}

function Totals({ of }: { of: Overview | null }): JSX.Element {
  const facts: readonly (readonly [string, string, string?])[] = [
    ["Ready", count(of?.ready)],
    ["Blocked", count(of?.blocked)],
    ["Running", count(of?.running)],
    ["Delayed", count(of?.delayed)],
    ...(of?.suspended ? ([["Suspended", count(of.suspended)]] as const) : []),
    ["Oldest ready", duration(of?.oldestReadySeconds)],
    ["In", rate(of?.rates.enqueuedPerSecond), "/s"],
    ["Out", rate(of?.rates.finishedPerSecond), "/s"],
    ["Failed, last hour", `${count(of?.failedLastHour)}${of?.failedLastHourIsExact === false ? "+" : ""}`],
    ["Workers", count(of?.workers)],
    ["Holding jobs", count(of?.holders)],
  ];
  return (
    <dl class="totals">
      {facts.map(([name, value, unit]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            {value}
            {unit && <small> {unit}</small>}
          </dd>
        </div>
      ))}
    </dl>
  );
}
