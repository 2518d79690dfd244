import type { JSX } from "preact";
import { get, segment } from "../../api.js";
import { count, duration, percent } from "../../format.js";
import { perform } from "../../parts/act.js";
import { Badge } from "../../parts/badge.js";
import { Button } from "../../parts/button.js";
import { Empty } from "../../parts/empty.js";
import { Load } from "../../parts/load.js";
import { Panel } from "../../parts/panel.js";
import { useResource } from "../../parts/resource.js";
import { Share } from "../../parts/share.js";
import { Table } from "../../parts/table.js";
import { WhyLine, useQueueWhy } from "../../parts/why.js";
import { to } from "../../router.js";
import { mayAct } from "../../session.js";
import type { Group, List, Reason } from "../../wire.js";
import { pause, resume, groupPut } from "./acts.js";
import { usePauses } from "./pauses.js";

const most = 500;

/** What holds one group back. */
const reasonOf = (why: readonly Reason[], group: string): Reason | undefined =>
  why.find((reason) => "group" in reason && reason.group === group && !(reason.code === "paused" && reason.type));

/** Who has how much in a queue. Of a deep one the server reads a sample and says so. */
export function Groups({ queue }: { queue: string }): JSX.Element {
  const groups = useResource(
    `groups ${queue}`,
    (signal) => get<List<Group>>(`queues/${segment(queue)}/groups`, { limit: most }, signal),
    5000,
  );
  const pauses = usePauses(queue);
  const why = useQueueWhy(queue);
  const about = ({ estimated }: Group, value: number) => `${estimated && value > 0 ? "~" : ""}${count(value)}`;
  const estimated = groups.data?.items.some((group) => group.estimated);
  return (
    <Panel
      title="Groups"
      note={estimated ? "~ estimated from a sample" : "tenants, or whatever jobs take turns by"}
      flush
    >
      <Load of={groups}>
        {({ items }) => (
          <Table
            caption={`Groups of ${queue}`}
            rows={items}
            rowKey={({ group }) => group ?? ""}
            sort={["Share of what waits", true]}
            columns={[
              {
                head: "Group",
                by: ({ group }) => group ?? "",
                cell: ({ group }) =>
                  group === null ? (
                    <span class="muted">without a group</span>
                  ) : (
                    <span class="two-lines">
                      <span class="row-acts">
                        <a class="name" href={to(["jobs"], { queue, group })}>
                          <bdi>{group}</bdi>
                        </a>
                        {pauses.ofGroup(group) && <Badge state="paused" />}
                      </span>
                      {!pauses.ofGroup(group) && pauses.ofGroupInTypes(group).length > 0 && (
                        <small class="why-note">
                          paused for{" "}
                          {pauses.ofGroupInTypes(group).map(({ type }, index) => [
                            index > 0 && ", ",
                            <bdi key={type} class="why-name">
                              {type}
                            </bdi>,
                          ])}
                        </small>
                      )}
                      {reasonOf(why, group) && (
                        <small class="why-note">
                          <WhyLine of={reasonOf(why, group)!} />
                        </small>
                      )}
                    </span>
                  ),
              },
              {
                head: "Share of what waits",
                width: "190px",
                rank: 2,
                by: ({ share }) => share,
                cell: ({ share }) => <Share of={share} text={percent(share)} />,
              },
              {
                head: "Ready",
                end: true,
                width: "100px",
                by: ({ ready }) => ready,
                cell: (row) => about(row, row.ready),
              },
              {
                head: "Blocked",
                end: true,
                width: "100px",
                by: ({ blocked }) => blocked,
                cell: (row) => about(row, row.blocked),
              },
              {
                head: "Delayed",
                end: true,
                width: "90px",
                rank: 3,
                by: ({ delayed }) => delayed,
                cell: (row) => about(row, row.delayed),
              },
              {
                head: "Running",
                end: true,
                width: "90px",
                by: ({ running }) => running,
                cell: ({ running }) => count(running),
              },
              {
                head: "Waits for",
                end: true,
                width: "100px",
                rank: 2,
                by: (row) => row.oldestAgeSeconds,
                cell: (row) => duration(row.oldestAgeSeconds),
              },
              mayAct.value && {
                head: "Acts",
                end: true,
                width: "130px",
                cell: ({ group, settings }) =>
                  group !== null && (
                    <span class="actions">
                      <Button
                        small
                        label={`${pauses.ofGroup(group) ? "Resume" : "Pause"} ${group}`}
                        onClick={() =>
                          perform((pauses.ofGroup(group) ? resume : pause)(queue, { group }, pauses.ofGroup(group)))
                        }
                      >
                        {pauses.ofGroup(group) ? "Resume" : "Pause"}
                      </Button>
                      <Button
                        small
                        label={`Set weight and limits of ${group}`}
                        onClick={() => perform(groupPut(queue, group, settings))}
                      >
                        Set
                      </Button>
                    </span>
                  ),
              },
            ]}
            empty={
              <Empty
                title="Nothing waits or runs here"
                code={`await mill.enqueue("send-mail", { to }, { queue: ${JSON.stringify(queue)}, group: "acme" });`}
              >
                Jobs with a group take turns with those of other groups.
              </Empty>
            }
          />
        )}
      </Load>
    </Panel>
  );
}
