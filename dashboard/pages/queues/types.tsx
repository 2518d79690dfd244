import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { get, segment } from "../../api.js";
import { count, duration } from "../../format.js";
import { perform } from "../../parts/act.js";
import { Badge } from "../../parts/badge.js";
import { Button } from "../../parts/button.js";
import { Empty } from "../../parts/empty.js";
import { Load } from "../../parts/load.js";
import { Panel } from "../../parts/panel.js";
import { useResource } from "../../parts/resource.js";
import { Table } from "../../parts/table.js";
import { WhyLine, useQueueWhy } from "../../parts/why.js";
import { to } from "../../router.js";
import { sawTypes } from "../../search/seen.js";
import { mayAct } from "../../session.js";
import type { List, TypeOfQueue } from "../../wire.js";
import { pause, resume } from "./acts.js";
import { usePauses } from "./pauses.js";
import { reasonsOfType, wordOfType } from "./words.js";

export function Types({ queue }: { queue: string }): JSX.Element {
  const types = useResource(
    `types ${queue}`,
    (signal) => get<List<TypeOfQueue>>(`queues/${segment(queue)}/types`, {}, signal),
    5000,
  );
  const pauses = usePauses(queue);
  const why = useQueueWhy(queue);
  useEffect(() => sawTypes(types.data?.items.map(({ type }) => type) ?? []), [types.data]);
  return (
    <Panel title="Types" flush>
      <Load of={types}>
        {({ items }) => (
          <Table
            caption={`Types of ${queue}`}
            rows={items}
            rowKey={({ type }) => type}
            sort={["Type", false]}
            columns={[
              {
                head: "Type",
                by: ({ type }) => type,
                cell: ({ type }) => (
                  <span class="two-lines">
                    <a href={to(["queues", queue, "types", type])}>{type}</a>
                    {reasonsOfType(why, type)
                      .slice(0, 1)
                      .map((reason) => (
                        <small key={reason.code} class="why-note">
                          <WhyLine of={reason} />
                        </small>
                      ))}
                  </span>
                ),
              },
              {
                head: "State",
                width: "100px",
                cell: (row) => (
                  <Badge state={wordOfType(row, pauses.ofType(row.type) !== undefined, reasonsOfType(why, row.type))} />
                ),
              },
              {
                head: "Ready",
                end: true,
                width: "90px",
                by: ({ ready }) => ready,
                cell: ({ ready }) => count(ready),
              },
              {
                head: "Blocked",
                end: true,
                width: "90px",
                by: ({ blocked }) => blocked,
                cell: ({ blocked }) => count(blocked),
              },
              {
                head: "Delayed",
                end: true,
                width: "100px",
                rank: 2,
                by: ({ delayed }) => delayed,
                cell: ({ delayed }) => count(delayed),
              },
              {
                head: "Running",
                end: true,
                width: "90px",
                by: ({ running }) => running,
                cell: ({ running }) => count(running),
              },
              {
                head: "Oldest ready",
                end: true,
                width: "100px",
                rank: 2,
                by: (row) => row.oldestAgeSeconds,
                cell: (row) => duration(row.oldestAgeSeconds),
              },
              mayAct.value && {
                head: "Acts",
                end: true,
                width: "100px",
                cell: ({ type }) => (
                  <Button
                    small
                    label={`${pauses.ofType(type) ? "Resume" : "Pause"} ${type}`}
                    onClick={() =>
                      perform((pauses.ofType(type) ? resume : pause)(queue, { type }, pauses.ofType(type)))
                    }
                  >
                    {pauses.ofType(type) ? "Resume" : "Pause"}
                  </Button>
                ),
              },
            ]}
            empty={<Empty title="Nothing waits or runs here">A type is listed while it has jobs.</Empty>}
          />
        )}
      </Load>
    </Panel>
  );
}
