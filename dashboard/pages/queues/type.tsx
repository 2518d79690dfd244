import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { get, segment } from "../../api.js";
import { count, duration } from "../../format.js";
import { history } from "../../history.js";
import { perform } from "../../parts/act.js";
import { Badge } from "../../parts/badge.js";
import { Button } from "../../parts/button.js";
import { type Span, SpanChoice } from "../../parts/chart.js";
import { PageHead, Panel } from "../../parts/panel.js";
import { Past } from "../../parts/past.js";
import { useResource } from "../../parts/resource.js";
import { Why, useQueueWhy } from "../../parts/why.js";
import { to } from "../../router.js";
import { mayAct } from "../../session.js";
import type { List, TypeOfQueue } from "../../wire.js";
import { pause, resume } from "./acts.js";
import { DefinitionPanel } from "./definition.js";
import { usePauses } from "./pauses.js";
import { reasonsOfType, wordOfType } from "./words.js";

/** A type of a queue: what it has now, why that waits, and what it was before. */
export function TypePage({ queue, type }: { queue: string; type: string }): JSX.Element {
  const [span, setSpan] = useState<Span>("3600");
  const seconds = Number(span);
  const past = useResource(
    `history ${queue} ${type} ${span}`,
    (signal) => history({ queue, type, seconds }, signal),
    30_000,
  );
  const types = useResource(
    `types ${queue}`,
    (signal) => get<List<TypeOfQueue>>(`queues/${segment(queue)}/types`, {}, signal),
    5000,
  );
  // A type is listed while it has jobs.
  const now = types.data && (types.data.items.find((one) => one.type === type) ?? nothing);
  const why = useQueueWhy(queue, { type });
  const isPaused = usePauses(queue).ofType(type) !== undefined;
  return (
    <>
      <PageHead
        above={
          <>
            <a href={to(["queues"])}>Queues</a> / <a href={to(["queues", queue, "types"])}>{queue}</a>
          </>
        }
        title={type}
        beside={now && <Badge state={wordOfType(now, isPaused, reasonsOfType(why, type))} />}
        actions={
          <>
            <a class="button" href={to(["jobs"], { queue, type })}>
              Its jobs
            </a>
            {mayAct.value && (
              <Button
                kind={isPaused ? "main" : "plain"}
                onClick={() => perform((isPaused ? resume : pause)(queue, { type }))}
              >
                {isPaused ? "Resume" : "Pause"}
              </Button>
            )}
          </>
        }
      >
        <Why of={why} />
      </PageHead>
      <dl class="totals">
        {(
          [
            ["Ready", count(now?.ready)],
            ["Blocked", count(now?.blocked)],
            ["Running", count(now?.running)],
            ["Delayed", count(now?.delayed)],
            ["Oldest ready", duration(now?.oldestAgeSeconds)],
          ] as const
        ).map(([title, value]) => (
          <div key={title}>
            <dt>{title}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <DefinitionPanel type={type} />
      <Panel
        title="Over time"
        note="written down each minute, and each hour; a gap where nothing was measured"
        actions={<SpanChoice value={span} onChange={setSpan} isStored />}
      >
        <Past points={past.data ?? []} seconds={seconds} isStored />
      </Panel>
    </>
  );
}

const nothing = { ready: 0, blocked: 0, running: 0, delayed: 0, oldestAgeSeconds: null };
