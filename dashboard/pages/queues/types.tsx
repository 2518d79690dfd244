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
import type { List, Reason, TypeOfQueue } from "../../wire.js";
import { pause, resume } from "./acts.js";
import { usePauses } from "./pauses.js";

/** What holds a type back, as a whole. */
const reasonOf = (why: readonly Reason[], type: string): Reason | undefined =>
  why.find((reason) => ("type" in reason && reason.type === type && !("group" in reason)) || isOf(reason, type)) ??
  why.find((reason) => reason.code === "paused" && !("type" in reason) && !("group" in reason)) ??
  why.find(({ code }) => code === "queueWaits");
const isOf = (reason: Reason, type: string): boolean =>
  (reason.code === "limit" || reason.code === "rate") && reason.of === "type" && reason.name === type;

/** It is active only where something can run: not when it is held, nor when nobody is there to run it. */
function stateBy(reason: Reason | undefined): string {
  if (reason?.code === "noWorker") return "no worker";
  return reason && ["paused", "breakerOpen", "queueWaits"].includes(reason.code) ? "blocked" : "active";
}

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
            sort={["Waiting", true]}
            columns={[
              {
                head: "Type",
                by: ({ type }) => type,
                cell: ({ type }) => (
                  <span class="two-lines">
                    <a href={to(["queues", queue, "types", type])}>{type}</a>
                    {reasonOf(why, type) && (
                      <small class="why-note">
                        <WhyLine of={reasonOf(why, type)!} />
                      </small>
                    )}
                  </span>
                ),
              },
              {
                head: "State",
                width: "100px",
                cell: ({ type }) => <Badge state={pauses.ofType(type) ? "paused" : stateBy(reasonOf(why, type))} />,
              },
              {
                head: "Waiting",
                end: true,
                width: "100px",
                by: ({ waiting }) => waiting,
                cell: ({ waiting }) => count(waiting),
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
                head: "Oldest",
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
