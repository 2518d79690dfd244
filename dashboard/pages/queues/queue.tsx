import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { get, segment } from "../../api.js";
import { count, duration, none, rate } from "../../format.js";
import { history } from "../../history.js";
import { queueSamples } from "../../live.js";
import { perform } from "../../parts/act.js";
import { Badge } from "../../parts/badge.js";
import { Button } from "../../parts/button.js";
import { type Span, SpanChoice } from "../../parts/chart.js";
import { JsonTree } from "../../parts/json-tree.js";
import { Load } from "../../parts/load.js";
import { Facts, PageHead, Panel } from "../../parts/panel.js";
import { Past } from "../../parts/past.js";
import { useResource } from "../../parts/resource.js";
import { Tabs } from "../../parts/tabs.js";
import { Ago } from "../../parts/time.js";
import { Why, useQueueWhy } from "../../parts/why.js";
import { to } from "../../router.js";
import { mayAct } from "../../session.js";
import type { List, Queue, TypeOfQueue } from "../../wire.js";
import * as acts from "./acts.js";
import { Events } from "./events.js";
import { Groups } from "./groups.js";
import { limitsOf } from "./limits-of.js";
import { PausedParts } from "./paused-parts.js";
import { Peek } from "./peek.js";
import { Stages } from "./stages.js";
import { Types } from "./types.js";
import { useUnserved, wordOf } from "./words.js";

const tabs = ["overview", "types", "groups", "stages", "peek", "events", "options"] as const;
const titles = {
  overview: "Overview",
  types: "Types",
  groups: "Groups",
  stages: "Stages",
  peek: "Next jobs",
  events: "Events",
  options: "Options",
} as const;

export function QueuePage({ name, tab }: { name: string; tab: string }): JSX.Element {
  const queue = useResource(`queue ${name}`, (signal) => get<Queue>(`queues/${segment(name)}`, {}, signal), 10_000);
  const why = useQueueWhy(name);
  const unserved = useUnserved();
  return (
    <>
      <PageHead
        above={<a href={to(["queues"])}>Queues</a>}
        title={name}
        beside={queue.data && <Badge state={wordOf(queue.data, unserved)} />}
        actions={mayAct.value && queue.data && <QueueActs queue={queue.data} />}
      >
        {queue.data && <Closed queue={queue.data} />}
        <Why of={why} />
      </PageHead>
      <Tabs
        label={`Parts of ${name}`}
        current={tab}
        tabs={tabs.map((one) => ({
          name: one,
          title: titles[one],
          href: to(one === "overview" ? ["queues", name] : ["queues", name, one]),
        }))}
      />
      {tab === "types" ? (
        <>
          <PausedParts queue={name} />
          <Types queue={name} />
        </>
      ) : tab === "groups" ? (
        <>
          <PausedParts queue={name} />
          <Groups queue={name} />
        </>
      ) : tab === "stages" ? (
        <Stages queue={name} />
      ) : tab === "peek" ? (
        <Peek queue={name} />
      ) : tab === "events" ? (
        <Events queue={name} />
      ) : (
        <Load of={queue} lines={8}>
          {(found) =>
            tab === "options" ? (
              <Panel title="Options" note="as they were set; everything else has its default">
                <JsonTree value={found.options} />
              </Panel>
            ) : (
              <AtAGlance queue={found} />
            )
          }
        </Load>
      )}
    </>
  );
}

/** Who closed it, and what holds it although nothing waits there. */
function Closed({ queue }: { queue: Queue }): JSX.Element | null {
  const notes = [
    queue.pausedAt && queue.waiting === 0 && (
      <p key="paused" class="note">
        Paused <Ago at={queue.pausedAt} /> {queue.pausedBy && <By name={queue.pausedBy} />}
        {queue.pausedBecause && (
          <>
            : <bdi>{queue.pausedBecause}</bdi>
          </>
        )}
      </p>
    ),
    queue.closedAt && (
      <p key="closed" class="note">
        Closed <Ago at={queue.closedAt} /> {queue.closedBy && <By name={queue.closedBy} />}
        {queue.closedBecause && (
          <>
            : <bdi>{queue.closedBecause}</bdi>
          </>
        )}
      </p>
    ),
    queue.waitsFor.length > 0 && queue.waiting === 0 && (
      <p key="waits" class="note">
        Waits until{" "}
        {queue.waitsFor.map((other, index) => [
          index > 0 && ", ",
          <a key={other} href={to(["queues", other])}>
            {other}
          </a>,
        ])}{" "}
        {queue.waitsFor.length === 1 ? "has" : "have"} finished
      </p>
    ),
  ];
  return <>{notes}</>;
}

const By = ({ name }: { name: string }): JSX.Element => (
  <>
    by <bdi>{name}</bdi>
  </>
);

/** Of a queue that jobs have paused by failing, one of them. */
const wasPaused = ({ pausedBy, pausedBecause, pauses }: Queue) => ({
  pausedBy,
  pausedBecause,
  jobId: pauses.find(({ jobId }) => jobId !== null)?.jobId ?? null,
});

function QueueActs({ queue }: { queue: Queue }): JSX.Element {
  const { name, state } = queue;
  const finished = state === "finished";
  const types =
    useResource(`types ${name}`, (signal) =>
      get<List<TypeOfQueue>>(`queues/${segment(name)}/types`, {}, signal),
    ).data?.items.map(({ type }) => type) ?? [];
  const others = [...queueSamples.value.keys()].slice(0, 100);
  return (
    <>
      {queue.pausedAt ? (
        <Button kind="main" onClick={() => perform(acts.resume(name, {}, wasPaused(queue)))}>
          Resume
        </Button>
      ) : (
        <Button disabled={finished} onClick={() => perform(acts.pause(name))}>
          Pause
        </Button>
      )}
      {queue.closedAt ? (
        <Button disabled={finished} onClick={() => perform(acts.open(name, queue))}>
          Open
        </Button>
      ) : (
        <Button onClick={() => perform(acts.close(name))}>Close</Button>
      )}
      <Button disabled={finished} onClick={() => perform(acts.setAside(name, types))}>
        Set aside
      </Button>
      <Button disabled={finished} onClick={() => perform(acts.redrive(name, others))}>
        Redrive
      </Button>
      <Button kind="danger" disabled={finished} onClick={() => perform(acts.shed(name, types))}>
        Shed
      </Button>
      <Button kind="danger" disabled={finished} onClick={() => perform(acts.purge(name))}>
        Purge
      </Button>
    </>
  );
}

function AtAGlance({ queue }: { queue: Queue }): JSX.Element {
  const [span, setSpan] = useState<Span>("600");
  const past = useResource(
    `history ${queue.name} ${span}`,
    (signal) => history({ queue: queue.name, seconds: Number(span) }, signal),
    span === "600" ? 2000 : 60_000,
  );
  const points = past.data ?? [];
  const now = queueSamples.value.get(queue.name);
  const seconds = Number(span);
  return (
    <>
      <dl class="totals">
        {(
          [
            ["Ready", count(now?.ready ?? queue.ready)],
            ["Blocked", count(now?.blocked ?? queue.blocked)],
            ["Running", count(now?.running ?? queue.running)],
            ["Delayed", count(now?.delayed ?? queue.delayed - queue.suspended)],
            ...((now ?? queue).suspended > 0 ? ([["Suspended", count((now ?? queue).suspended)]] as const) : []),
            ["Staged", count(queue.staged)],
            ["Oldest ready", duration(now?.oldestReadySeconds)],
            ["In", `${rate(now?.in)} /s`],
            ["Out", `${rate(now?.out)} /s`],
            ["Failed", `${rate(now?.failed)} /s`],
          ] as const
        ).map(([title, value]) => (
          <div key={title}>
            <dt>{title}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <PausedParts queue={queue.name} />
      <Panel title="Over time" actions={<SpanChoice value={span} onChange={setSpan} />}>
        <Past points={points} seconds={seconds} isStored={span !== "600"} />
      </Panel>
      <Panel
        title="Facts"
        actions={
          <>
            <a class="button button-small" href={to(["jobs"], { queue: queue.name })}>
              Its jobs
            </a>
            {mayAct.value && (
              <Button small onClick={() => perform(acts.setLimits(queue))}>
                Set limits
              </Button>
            )}
          </>
        }
      >
        <Facts
          of={[
            ["Limits", limitsOf(queue.options) || none],
            ["Made", <Ago key="made" at={queue.createdAt} />],
            ["Finished", queue.finishedAt && <Ago at={queue.finishedAt} />],
          ]}
        />
      </Panel>
    </>
  );
}
