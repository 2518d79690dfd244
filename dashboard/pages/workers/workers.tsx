import type { JSX } from "preact";
import { get } from "../../api.js";
import { count, duration, none, percent, plural } from "../../format.js";
import { Empty } from "../../parts/empty.js";
import { firstWorker } from "../../parts/samples.js";
import { Load } from "../../parts/load.js";
import { PageHead, Panel } from "../../parts/panel.js";
import { useResource } from "../../parts/resource.js";
import { Share } from "../../parts/share.js";
import { Table } from "../../parts/table.js";
import { Ago } from "../../parts/time.js";
import { to } from "../../router.js";
import type { List, RunningJob, Worker } from "../../wire.js";
import { shareOf } from "../jobs/progress.js";

/** Who works on what. A worker that holds no job is not known to the database. */
export function Workers(): JSX.Element {
  const workers = useResource("workers", (signal) => get<List<Worker>>("workers", {}, signal), 3000);
  const running = useResource("running", (signal) => get<List<RunningJob>>("running", { limit: 200 }, signal), 3000);
  return (
    <>
      <PageHead title="Workers">Those that hold jobs now. A worker without jobs is idle, and not listed.</PageHead>
      <Panel title="Workers" note={workers.data && plural(workers.data.items.length, "worker")} flush>
        <Load of={workers} lines={4}>
          {({ items }) => (
            <Table
              caption="Workers"
              rows={items}
              rowKey={({ name }) => name ?? ""}
              sort={["Worker", false]}
              columns={[
                {
                  head: "Worker",
                  by: ({ name }) => name ?? "",
                  cell: ({ name }) => <span class="mono">{name ?? "without a name"}</span>,
                },
                { head: "Holds", end: true, width: "80px", by: ({ held }) => held, cell: ({ held }) => count(held) },
                {
                  head: "Runs",
                  end: true,
                  width: "80px",
                  by: ({ running }) => running,
                  cell: ({ running }) => count(running),
                },
                {
                  head: "Oldest claim",
                  end: true,
                  width: "120px",
                  rank: 2,
                  by: ({ since }) => since,
                  cell: ({ since }) => <Ago at={since} />,
                },
                { head: "Types", rank: 2, cell: ({ types }) => <Some of={types} /> },
                { head: "Queues", rank: 3, cell: ({ queues }) => <Some of={queues} /> },
              ]}
              empty={
                <Empty title="Nobody holds a job" code={firstWorker}>
                  Either nothing waits, or no worker runs that knows the types that wait.
                </Empty>
              }
            />
          )}
        </Load>
      </Panel>
      <Panel title="Running jobs" note="those that began first ahead" flush>
        <Load of={running}>
          {({ items }) => (
            <Table
              caption="Running jobs"
              rows={items}
              rowKey={({ id, attempt }) => `${id} ${attempt}`}
              columns={[
                {
                  head: "Job",
                  cell: ({ id, type }) => (
                    <span class="two-lines">
                      <a href={to(["jobs", id])}>{type}</a>
                      <small class="mono">{id}</small>
                    </span>
                  ),
                },
                {
                  head: "Queue",
                  rank: 2,
                  by: ({ queue }) => queue,
                  cell: ({ queue }) => <a href={to(["queues", queue])}>{queue}</a>,
                },
                {
                  head: "Worker",
                  rank: 3,
                  by: ({ worker }) => worker ?? "",
                  cell: ({ worker }) => <span class="mono">{worker ?? none}</span>,
                },
                {
                  head: "Attempt",
                  end: true,
                  width: "80px",
                  rank: 2,
                  by: ({ attempt }) => attempt,
                  cell: ({ attempt }) => attempt,
                },
                {
                  head: "Runs for",
                  end: true,
                  width: "100px",
                  by: (row) => row.elapsedSeconds,
                  cell: (row) => (row.isStarted ? duration(Math.floor(row.elapsedSeconds)) : "held"),
                },
                {
                  head: "Lease ends",
                  end: true,
                  width: "100px",
                  rank: 2,
                  by: (row) => row.leaseEndsAt,
                  cell: (row) => <Ago at={row.leaseEndsAt} />,
                },
                { head: "Progress", width: "150px", rank: 3, cell: ({ progress }) => <Far progress={progress} /> },
              ]}
              empty={<Empty title="Nothing runs" />}
            />
          )}
        </Load>
      </Panel>
    </>
  );
}

function Far({ progress }: { progress: RunningJob["progress"] }): JSX.Element {
  const share = shareOf(progress);
  return share === null ? (
    <span class="muted">{none}</span>
  ) : (
    <Share of={Math.min(0.999, share)} text={percent(share)} />
  );
}

const most = 4;

function Some({ of }: { of: readonly string[] }): JSX.Element {
  return (
    <span class="tags">
      {of.slice(0, most).map((name) => (
        <span key={name} class="tag">
          {name}
        </span>
      ))}
      {of.length > most && <small>and {of.length - most} more</small>}
    </span>
  );
}
