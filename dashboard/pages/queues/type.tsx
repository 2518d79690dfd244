import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { history } from "../../history.js";
import { type Span, SpanChoice } from "../../parts/chart.js";
import { PageHead, Panel } from "../../parts/panel.js";
import { Past } from "../../parts/past.js";
import { useResource } from "../../parts/resource.js";
import { to } from "../../router.js";

/** A type of a queue over time. */
export function TypePage({ queue, type }: { queue: string; type: string }): JSX.Element {
  const [span, setSpan] = useState<Span>("3600");
  const seconds = Number(span);
  const past = useResource(
    `history ${queue} ${type} ${span}`,
    (signal) => history({ queue, type, seconds }, signal),
    30_000,
  );
  return (
    <>
      <PageHead
        above={
          <>
            <a href={to(["queues"])}>Queues</a> / <a href={to(["queues", queue, "types"])}>{queue}</a>
          </>
        }
        title={type}
        actions={
          <a class="button" href={to(["jobs"], { queue, type })}>
            Its jobs
          </a>
        }
      >
        What was written down each minute, and each hour. Where nothing was measured there is a gap.
      </PageHead>
      <Panel title="Over time" actions={<SpanChoice value={span} onChange={setSpan} isStored />}>
        <Past points={past.data ?? []} seconds={seconds} isStored />
      </Panel>
    </>
  );
}
