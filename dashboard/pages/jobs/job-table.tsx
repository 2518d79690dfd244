import type { ComponentChildren, JSX } from "preact";
import { useEffect } from "preact/hooks";
import { errorText } from "../../../src/db/error-text.js";
import { count, none } from "../../format.js";
import { Badge } from "../../parts/badge.js";
import { Table } from "../../parts/table.js";
import { Ago } from "../../parts/time.js";
import { to } from "../../router.js";
import { sawTypes } from "../../search/seen.js";
import type { Job } from "../../wire.js";

export function JobTable({ jobs, empty }: { jobs: readonly Job[]; empty: ComponentChildren }): JSX.Element {
  useEffect(() => sawTypes(jobs.map(({ type }) => type)), [jobs]);
  return (
    <Table
      caption="Jobs"
      rows={jobs}
      rowKey={({ id }) => id}
      columns={[
        {
          head: "Job",
          width: "190px",
          cell: ({ id }) => (
            <a class="mono" href={to(["jobs", id])}>
              {id}
            </a>
          ),
        },
        { head: "State", width: "100px", cell: ({ state, reason }) => <Badge state={state} title={reason} /> },
        { head: "Type", cell: ({ type }) => <span class="name">{type}</span> },
        { head: "Queue", rank: 2, cell: ({ queue }) => <a href={to(["queues", queue])}>{queue}</a> },
        { head: "Group", rank: 3, cell: ({ group, tenant }) => group ?? tenant ?? <span class="muted">{none}</span> },
        {
          head: "Attempts",
          end: true,
          width: "80px",
          rank: 2,
          cell: ({ attempts, maxAttempts }) =>
            `${count(attempts)}/${maxAttempts === "unlimited" ? "∞" : count(maxAttempts)}`,
        },
        { head: "Enqueued", end: true, width: "100px", cell: ({ createdAt }) => <Ago at={createdAt} /> },
        {
          head: "Last error",
          rank: 3,
          cell: ({ lastError }) => <span class="cut error-cell">{errorText(lastError)}</span>,
        },
      ]}
      empty={empty}
    />
  );
}
