import type { JSX } from "preact";
import { get } from "../../api.js";
import { count } from "../../format.js";
import { perform } from "../../parts/act.js";
import { Button } from "../../parts/button.js";
import { Empty } from "../../parts/empty.js";
import { Load } from "../../parts/load.js";
import { Panel } from "../../parts/panel.js";
import { useResource } from "../../parts/resource.js";
import { Table } from "../../parts/table.js";
import { Ago } from "../../parts/time.js";
import { mayAct } from "../../session.js";
import type { List, Stage } from "../../wire.js";
import { stageCancel, stageRelease } from "./acts.js";

export function Stages({ queue }: { queue: string }): JSX.Element {
  const stages = useResource("stages", (signal) => get<List<Stage>>("stages", {}, signal), 10_000);
  return (
    <Panel title="Stages" note="jobs that wait for somebody's release" flush>
      <Load of={stages} lines={3}>
        {({ items }) => (
          <Table
            caption={`Stages of ${queue}`}
            rows={items.filter((stage) => stage.queue === queue)}
            rowKey={({ stage }) => stage}
            columns={[
              { head: "Stage", by: ({ stage }) => stage, cell: ({ stage }) => stage },
              { head: "Jobs", end: true, width: "100px", by: ({ jobs }) => jobs, cell: ({ jobs }) => count(jobs) },
              {
                head: "Since",
                end: true,
                width: "120px",
                by: ({ since }) => since,
                cell: ({ since }) => <Ago at={since} />,
              },
              mayAct.value && {
                head: "Acts",
                end: true,
                width: "180px",
                cell: ({ stage }) => (
                  <span class="actions">
                    <Button small onClick={() => perform(stageRelease(queue, stage))}>
                      Release
                    </Button>
                    <Button small kind="danger" onClick={() => perform(stageCancel(queue, stage))}>
                      Cancel
                    </Button>
                  </span>
                ),
              },
            ]}
            empty={
              <Empty
                title="No stage holds jobs"
                code={`await mill.enqueue("send-invoice", { id: 7 }, { queue: ${JSON.stringify(queue)}, stage: "approval" });`}
              >
                A job with a stage is accepted, and waits until the stage is released.
              </Empty>
            }
          />
        )}
      </Load>
    </Panel>
  );
}
