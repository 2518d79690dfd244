import type { JSX } from "preact";
import { get } from "../../api.js";
import { count, duration, percent } from "../../format.js";
import { Empty } from "../../parts/empty.js";
import { Load } from "../../parts/load.js";
import { PageHead, Panel } from "../../parts/panel.js";
import { useResource } from "../../parts/resource.js";
import { Share } from "../../parts/share.js";
import { Table } from "../../parts/table.js";
import { to } from "../../router.js";
import type { GroupOverAll, List } from "../../wire.js";

const maxGroups = 200;
const about = (jobs: number, estimated: boolean): string => `${estimated && jobs > 0 ? "~" : ""}${count(jobs)}`;

/** Who has how much, over all queues. */
export function GroupsPage(): JSX.Element {
  const groups = useResource(
    "groups of all queues",
    async (signal) => (await get<List<GroupOverAll>>("groups", { limit: maxGroups }, signal)).items,
    10_000,
  );
  return (
    <>
      <PageHead title="Groups">
        Groups, such as customers, take turns. Here is what each has in all queues together; a queue's own page has all
        of its groups, and what can be done with them.
      </PageHead>
      <Panel
        title="All groups"
        note={groups.data?.some(({ estimated }) => estimated) ? "~ estimated from a sample" : undefined}
        flush
      >
        <Load of={groups}>
          {(rows) => {
            const all = Math.max(
              1,
              rows.reduce((sum, { waiting }) => sum + waiting, 0),
            );
            return (
              <Table
                caption="Groups"
                rows={rows}
                rowKey={({ group }) => group}
                sort={["Share of what waits", true]}
                columns={[
                  {
                    head: "Group",
                    by: ({ group }) => group,
                    cell: ({ group }) => <a href={to(["jobs"], { group })}>{group}</a>,
                  },
                  {
                    head: "Share of what waits",
                    width: "200px",
                    rank: 2,
                    by: ({ waiting }) => waiting,
                    cell: ({ waiting }) => <Share of={waiting / all} text={percent(waiting / all)} />,
                  },
                  {
                    head: "Ready",
                    end: true,
                    width: "100px",
                    by: ({ ready }) => ready,
                    cell: ({ ready, estimated }) => about(ready, estimated),
                  },
                  {
                    head: "Blocked",
                    end: true,
                    width: "100px",
                    by: ({ blocked }) => blocked,
                    cell: ({ blocked, estimated }) => about(blocked, estimated),
                  },
                  {
                    head: "Delayed",
                    end: true,
                    width: "100px",
                    rank: 3,
                    by: ({ delayed }) => delayed,
                    cell: ({ delayed, estimated }) => about(delayed, estimated),
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
                    width: "110px",
                    rank: 2,
                    by: (row) => row.oldestAgeSeconds,
                    cell: (row) => duration(row.oldestAgeSeconds),
                  },
                  {
                    head: "Queues",
                    rank: 2,
                    cell: ({ queues }) => (
                      <span class="tags">
                        {queues.map((queue) => (
                          <a key={queue} class="tag" href={to(["queues", queue, "groups"])}>
                            {queue}
                          </a>
                        ))}
                      </span>
                    ),
                  },
                ]}
                empty={
                  <Empty
                    title="No job has a group"
                    code={`await mill.enqueue("send-mail", { to: "ann@example.com" }, { group: "acme" });`}
                  >
                    With a group, one tenant's million jobs do not delay another's first.
                  </Empty>
                }
              />
            );
          }}
        </Load>
      </Panel>
    </>
  );
}
