import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { get } from "../../api.js";
import { CellFilter, chosenCell } from "../../cells.js";
import { count } from "../../format.js";
import { Empty } from "../../parts/empty.js";
import { firstJob } from "../../parts/samples.js";
import { Load } from "../../parts/load.js";
import { PageHead, Panel } from "../../parts/panel.js";
import { useResource } from "../../parts/resource.js";
import { all } from "../../parts/pages-of.js";
import type { Queue } from "../../wire.js";
import { limitsOf } from "./limits-of.js";
import { QueueTable } from "./queue-table.js";
import { useUnserved, wordOf } from "./words.js";

export function Queues(): JSX.Element {
  const [wanted, setWanted] = useState("");
  const cell = chosenCell.value;
  const unserved = useUnserved();
  const queues = useResource(
    `queues ${cell}`,
    (signal) => all<Queue>((cursor) => get("queues", { limit: 1000, cursor, cell }, signal)),
    15_000,
  );
  return (
    <>
      <PageHead title="Queues">
        <CellFilter />
      </PageHead>
      <Panel
        title="All queues"
        note={queues.data && count(queues.data.length)}
        actions={
          <div class="filters">
            <input
              type="search"
              aria-label="Filter queues by name or state"
              placeholder="Name or state"
              value={wanted}
              onInput={(event) => setWanted(event.currentTarget.value)}
            />
          </div>
        }
        flush
      >
        <Load of={queues} lines={10}>
          {(found) => (
            <QueueTable
              rows={found
                .filter(
                  (queue) => queue.name.includes(wanted) || [queue.state, wordOf(queue, unserved)].includes(wanted),
                )
                .map((queue) => ({
                  name: queue.name,
                  state: queue.state,
                  ready: queue.ready,
                  blocked: queue.blocked,
                  because: queue.pausedBecause ?? queue.closedBecause,
                  limits: limitsOf(queue.options),
                  ...(queue.cell !== undefined && { cell: queue.cell }),
                }))}
              empty={
                wanted ? (
                  <Empty title={`No queue is named like “${wanted}”`} />
                ) : (
                  <Empty title="No queue yet" code={firstJob}>
                    A queue is made with its first job, or with <code>mill.queues.put</code>.
                  </Empty>
                )
              }
            />
          )}
        </Load>
      </Panel>
    </>
  );
}
