import type { JSX } from "preact";
import { get, segment } from "../../api.js";
import { count, duration, percent } from "../../format.js";
import { overview, queueSamples } from "../../live.js";
import { Empty } from "../../parts/empty.js";
import { Load } from "../../parts/load.js";
import { PageHead, Panel } from "../../parts/panel.js";
import { useResource } from "../../parts/resource.js";
import { Share } from "../../parts/share.js";
import { Table } from "../../parts/table.js";
import { to } from "../../router.js";
import type { Group, List } from "../../wire.js";

/** Of so many queues groups are asked for: each is a question of its own. */
const mostQueues = 8;
const mostGroups = 200;

interface Tenant {
  readonly name: string;
  readonly waiting: number;
  readonly delayed: number;
  readonly running: number;
  readonly oldestAgeSeconds: number | null;
  readonly isEstimated: boolean;
  readonly queues: readonly string[];
}

/** Who has how much, over the queues that have the most. */
export function Tenants(): JSX.Element {
  const queues = [...queueSamples.value.values()]
    .filter(({ ready, delayed, running }) => ready + delayed + running > 0)
    .toSorted((a, b) => b.ready + b.running - a.ready - a.running)
    .slice(0, mostQueues)
    .map(({ queue }) => queue)
    .toSorted();
  // As soon as the first sample is there, and again when other queues have become the busiest.
  const tenants = useResource(`tenants ${queues.join("\n")}`, (signal) => ask(queues, signal), 10_000);
  return (
    <>
      <PageHead title="Tenants">
        Groups of jobs take turns. Here is what each group has in the{" "}
        {queues.length === mostQueues ? `${mostQueues} busiest queues` : "queues that have jobs"}; a queue's own page
        has all of its groups, and what can be done with them.
      </PageHead>
      <Panel
        title="By group"
        note={tenants.data?.some(({ isEstimated }) => isEstimated) ? "~ estimated from a sample" : undefined}
        flush
      >
        <Load of={overview.value === null ? { ...tenants, data: undefined } : tenants}>
          {(rows) => {
            const all = Math.max(
              1,
              rows.reduce((sum, { waiting }) => sum + waiting, 0),
            );
            return (
              <Table
                caption="Tenants"
                rows={rows}
                rowKey={({ name }) => name}
                sort={["Waiting", true]}
                columns={[
                  {
                    head: "Tenant",
                    by: ({ name }) => name,
                    cell: ({ name }) => <a href={to(["jobs"], { group: name })}>{name}</a>,
                  },
                  {
                    head: "Share of what waits",
                    width: "200px",
                    rank: 2,
                    cell: ({ waiting }) => <Share of={waiting / all} text={percent(waiting / all)} />,
                  },
                  {
                    head: "Waiting",
                    end: true,
                    width: "110px",
                    by: ({ waiting }) => waiting,
                    cell: ({ waiting, isEstimated }) => `${isEstimated ? "~" : ""}${count(waiting)}`,
                  },
                  {
                    head: "Delayed",
                    end: true,
                    width: "100px",
                    rank: 3,
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

async function ask(queues: readonly string[], signal: AbortSignal): Promise<readonly Tenant[]> {
  const answers = await Promise.all(
    queues.map((queue) => get<List<Group>>(`queues/${segment(queue)}/groups`, { limit: mostGroups }, signal)),
  );
  const tenants = new Map<string, Tenant>();
  answers.forEach(({ items }, at) => {
    for (const { group, waiting, delayed, running, oldestAgeSeconds, estimated } of items) {
      if (group === null) continue;
      const known = tenants.get(group);
      tenants.set(group, {
        name: group,
        waiting: waiting + (known?.waiting ?? 0),
        delayed: delayed + (known?.delayed ?? 0),
        running: running + (known?.running ?? 0),
        oldestAgeSeconds: Math.max(oldestAgeSeconds ?? -1, known?.oldestAgeSeconds ?? -1),
        isEstimated: estimated || (known?.isEstimated ?? false),
        queues: [...(known?.queues ?? []), queues[at]!],
      });
    }
  });
  return [...tenants.values()].map((tenant) => ({
    ...tenant,
    oldestAgeSeconds: tenant.oldestAgeSeconds === -1 ? null : tenant.oldestAgeSeconds,
  }));
}
