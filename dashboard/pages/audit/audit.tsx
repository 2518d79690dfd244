import type { JSX } from "preact";
import { get } from "../../api.js";
import { count, none } from "../../format.js";
import { Badge } from "../../parts/badge.js";
import { Button } from "../../parts/button.js";
import { Empty } from "../../parts/empty.js";
import { Load } from "../../parts/load.js";
import { PageHead, Panel } from "../../parts/panel.js";
import { useResource } from "../../parts/resource.js";
import { Table } from "../../parts/table.js";
import { Moment } from "../../parts/time.js";
import { route, to } from "../../router.js";
import type { AuditEntry, List } from "../../wire.js";

export function Audit(): JSX.Element {
  const cursor = route.value.query.get("cursor");
  const audit = useResource(`audit ${cursor}`, (signal) =>
    get<List<AuditEntry>>("audit", { limit: 100, cursor }, signal),
  );
  return (
    <>
      <PageHead title="Audit">Who changed what through this server, when, from where, and what came of it.</PageHead>
      <Panel
        title="Acts"
        note="newest first"
        actions={
          <Button small onClick={audit.reload}>
            Refresh
          </Button>
        }
        flush
      >
        <Load of={audit}>
          {({ items, next }) => (
            <>
              <Table
                caption="Acts"
                rows={items}
                rowKey={({ id }) => id}
                columns={[
                  { head: "When", width: "160px", cell: ({ at }) => <Moment at={at} /> },
                  { head: "Who", cell: ({ who }) => who },
                  { head: "Act", cell: ({ action }) => <code>{action}</code> },
                  { head: "Of", cell: ({ object }) => object },
                  { head: "Jobs", end: true, width: "80px", rank: 2, cell: ({ count: jobs }) => count(jobs) },
                  {
                    head: "Result",
                    width: "90px",
                    cell: ({ result }) => (result === "done" ? "done" : <Badge state="failed" title={result} />),
                  },
                  { head: "From", rank: 3, cell: ({ address }) => <span class="mono">{address ?? none}</span> },
                  {
                    head: "Request",
                    rank: 3,
                    cell: ({ requestId }) => <span class="mono cut short-id">{requestId ?? none}</span>,
                  },
                ]}
                empty={
                  <Empty title="Nobody has changed anything">
                    What is done from this page, the API or with SQS tools is noted here.
                  </Empty>
                }
              />
              {(next !== undefined || cursor) && (
                <nav class="table-more" aria-label="Pages of acts">
                  {cursor && <a href={to(["audit"])}>← Newest</a>}
                  {next !== undefined && <a href={to(["audit"], { cursor: next })}>Older →</a>}
                </nav>
              )}
            </>
          )}
        </Load>
      </Panel>
    </>
  );
}
