import type { JSX } from "preact";
import { get, segment } from "../../api.js";
import { plural } from "../../format.js";
import { Empty } from "../../parts/empty.js";
import { Load } from "../../parts/load.js";
import { Panel } from "../../parts/panel.js";
import { useResource } from "../../parts/resource.js";
import { Table } from "../../parts/table.js";
import { Moment } from "../../parts/time.js";
import { to } from "../../router.js";
import type { EventOfQueue, List } from "../../wire.js";

export function Events({ queue }: { queue: string }): JSX.Element {
  const events = useResource(
    `events ${queue}`,
    (signal) => get<List<EventOfQueue>>(`queues/${segment(queue)}/events`, {}, signal),
    10_000,
  );
  return (
    <Panel title="Events" note="newest first" flush>
      <Load of={events}>
        {({ items }) => (
          <Table
            caption={`Events of ${queue}`}
            rows={items.toSorted((a, b) => b.at.localeCompare(a.at))}
            rowKey={({ at, event, type, group }) => `${at} ${event} ${type} ${group}`}
            columns={[
              { head: "When", width: "170px", cell: ({ at }) => <Moment at={at} /> },
              {
                head: "Event",
                width: "130px",
                cell: ({ event, stage, jobs }) =>
                  `${event}${stage ? ` ${stage}` : ""}${jobs === undefined ? "" : ` (${plural(jobs, "job")})`}`,
              },
              {
                head: "Of",
                rank: 2,
                cell: ({ type, group }) => [type, group].filter(Boolean).join(", ") || "the queue",
              },
              { head: "By", rank: 2, cell: ({ by }) => by ?? "millrace" },
              {
                head: "Why",
                cell: ({ because, jobId }) => [
                  because,
                  jobId && (
                    <a key="job" href={to(["jobs", jobId])}>
                      {" "}
                      job {jobId}
                    </a>
                  ),
                ],
              },
            ]}
            empty={
              <Empty title="Nothing has happened to this queue">
                Pauses, closes and releases are noted here, with who and why.
              </Empty>
            }
          />
        )}
      </Load>
    </Panel>
  );
}
