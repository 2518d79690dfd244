import type { JSX } from "preact";
import { get } from "../../api.js";
import { CellFilter, cellColumn, chosenCell } from "../../cells.js";
import { bytes, count, duration, none, percent, plural } from "../../format.js";
import { perform } from "../../parts/act.js";
import { Badge } from "../../parts/badge.js";
import { Button } from "../../parts/button.js";
import { Empty } from "../../parts/empty.js";
import { firstWorker } from "../../parts/samples.js";
import { Load } from "../../parts/load.js";
import { PageHead, Panel } from "../../parts/panel.js";
import { useResource } from "../../parts/resource.js";
import { Share } from "../../parts/share.js";
import { Table } from "../../parts/table.js";
import { Ago } from "../../parts/time.js";
import { to } from "../../router.js";
import { mayAct } from "../../session.js";
import type { List, Process, RunningJob, Worker } from "../../wire.js";
import { shareOf } from "../jobs/progress.js";
import * as acts from "./acts.js";

type ProcessRow = Omit<Process, "workers"> & { readonly worker: Process["workers"][number] };

/** Processes and their workers, idle ones too; and who else holds jobs. */
export function Workers(): JSX.Element {
  const cell = chosenCell.value;
  const processes = useResource(
    `processes ${cell}`,
    (signal) => get<List<Process>>("processes", { cell }, signal),
    3000,
  );
  const holders = useResource(`workers ${cell}`, (signal) => get<List<Worker>>("workers", { cell }, signal), 3000);
  const running = useResource(
    `running ${cell}`,
    (signal) => get<List<RunningJob>>("running", { limit: 200, cell }, signal),
    3000,
  );
  const rows = (processes.data?.items ?? []).flatMap(({ workers, ...process }) =>
    workers.map((worker) => ({ ...process, worker })),
  );
  const known = new Set(rows.map(({ worker }) => worker.name));
  const others = (holders.data?.items ?? []).filter(({ name }) => !known.has(name ?? ""));
  return (
    <>
      <PageHead title="Workers">
        Processes that run workers, by their heartbeat. Those that were not seen for a day are forgotten.
        <CellFilter />
      </PageHead>
      <Panel
        title="Workers"
        note={
          processes.data &&
          `${plural(rows.length, "worker")} in ${plural(processes.data.items.length, "process", "processes")}`
        }
        flush
      >
        <Load of={processes} lines={4}>
          {() => (
            <Table
              caption="Workers"
              rows={rows}
              rowKey={({ id, worker, cell: at }) => `${id} ${worker.name} ${worker.queues.join()} ${at}`}
              sort={["Worker", false]}
              columns={[
                {
                  head: "Worker",
                  by: ({ worker }) => worker.name,
                  cell: ({ worker, host, pid, release }) => (
                    <span class="two-lines">
                      <span class="name mono" title={worker.name}>
                        {worker.name}
                      </span>
                      <small>
                        {[worker.name !== `${host}:${pid}` && `${host}:${pid}`, release].filter(Boolean).join(" · ")}
                      </small>
                    </span>
                  ),
                },
                cellColumn<(typeof rows)[number]>(({ cell: at }) => at),
                {
                  head: "State",
                  width: "160px",
                  by: (row) => row.worker.held ?? stateOf(row),
                  cell: (row) => <State row={row} />,
                },
                {
                  head: "Runs",
                  end: true,
                  width: "60px",
                  rank: 2,
                  by: ({ worker }) => worker.running,
                  cell: ({ worker }) => count(worker.running),
                },
                {
                  head: "At once",
                  end: true,
                  width: "80px",
                  rank: 2,
                  by: ({ worker }) => worker.concurrency,
                  cell: ({ worker }) => count(worker.concurrency),
                },
                {
                  head: "Seen",
                  end: true,
                  width: "100px",
                  rank: 2,
                  by: ({ seenAt }) => seenAt,
                  cell: ({ seenAt }) => <Ago at={seenAt} />,
                },
                {
                  head: "Memory",
                  end: true,
                  width: "90px",
                  rank: 3,
                  by: ({ memoryBytes }) => memoryBytes,
                  cell: ({ memoryBytes }) => bytes(memoryBytes),
                },
                {
                  head: "Takes",
                  rank: 3,
                  cell: ({ worker }) => (
                    <span class="two-lines">
                      <Some of={worker.types ?? ["any type"]} />
                      <small>of {listed(worker.queues)}</small>
                    </span>
                  ),
                },
                mayAct.value && { head: "Acts", end: true, width: "190px", cell: (row) => <Acts row={row} /> },
              ]}
              empty={
                <Empty title="No worker is known" code={firstWorker}>
                  Workers of the library tell of themselves. Those who claim by SQL, HTTP or SQS are listed below while
                  they hold jobs.
                </Empty>
              }
            />
          )}
        </Load>
      </Panel>
      {others.length > 0 && (
        <Panel title="Others that hold jobs" note="by the names of their claims" flush>
          <Table
            caption="Others that hold jobs"
            rows={others}
            rowKey={({ name }) => name ?? ""}
            sort={["Name", false]}
            columns={[
              {
                head: "Name",
                by: ({ name }) => name ?? "",
                cell: ({ name }) => <span class="mono">{name ?? "without a name"}</span>,
              },
              { head: "Holds", end: true, width: "80px", by: ({ held }) => held, cell: ({ held }) => count(held) },
              {
                head: "Runs",
                end: true,
                width: "80px",
                by: ({ running: n }) => n,
                cell: ({ running: n }) => count(n),
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
            empty={<Empty title="Nobody" />}
          />
        </Panel>
      )}
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

/** A process lives or does not; each of its workers has something to do or has not. */
function stateOf({ state, worker: { running } }: ProcessRow): ProcessRow["state"] {
  if (running === undefined || (state !== "idle" && state !== "busy")) return state;
  return running > 0 ? "busy" : "idle";
}

/** How the worker does, what it does of what it was ordered, and who ordered it. */
function State({ row }: { row: ProcessRow }): JSX.Element {
  const { worker, orders } = row;
  const own = orders.filter((order) => order.worker === null || order.worker === worker.name);
  const holds = own.find(({ hold }) => hold !== null);
  const sets = own.find((order) => order.concurrency !== null);
  const order = holds ?? sets;
  const what = holds ? (worker.held ?? `asked to ${holds.hold}`) : `${sets?.concurrency} at once`;
  return (
    <span class="two-lines">
      <span class="tags">
        <Badge state={stateOf(row)} />
        {worker.held && <Badge state={worker.held} />}
      </span>
      {order && (
        <small class="cut" title={order.because ?? undefined}>
          {what}
          {order.by && ` by ${order.by}`}
          {order.because && `: ${order.because}`}
        </small>
      )}
    </span>
  );
}

function Acts({ row }: { row: ProcessRow }): JSX.Element {
  const { name } = row.worker;
  const hold = row.orders.find(
    (order) => order.hold !== null && (order.worker === null || order.worker === name),
  )?.hold;
  return (
    <span class="actions">
      {hold && (
        <Button small label={`Resume ${name}`} onClick={() => perform(acts.resume(row))}>
          Resume
        </Button>
      )}
      {hold !== "pause" && (
        <Button small label={`Pause ${name}`} onClick={() => perform(acts.pause(row))}>
          Pause
        </Button>
      )}
      {hold !== "drain" && (
        <Button small label={`Drain ${name}`} onClick={() => perform(acts.drain(row))}>
          Drain
        </Button>
      )}
      <Button small label={`Concurrency of ${name}`} onClick={() => perform(acts.concurrency(row))}>
        ±
      </Button>
    </span>
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

const listed = (names: readonly string[]): string =>
  `${names.slice(0, most).join(", ")}${names.length > most ? ` and ${names.length - most} more` : ""}`;

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
