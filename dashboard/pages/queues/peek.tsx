import type { JSX } from "preact";
import { get, segment } from "../../api.js";
import { Button } from "../../parts/button.js";
import { Empty } from "../../parts/empty.js";
import { Load } from "../../parts/load.js";
import { Panel } from "../../parts/panel.js";
import { useResource } from "../../parts/resource.js";
import type { Job, List } from "../../wire.js";
import { JobTable } from "../jobs/job-table.js";

/** Which jobs come next. Looking takes nothing from anybody. */
export function Peek({ queue }: { queue: string }): JSX.Element {
  const jobs = useResource(`peek ${queue}`, (signal) =>
    get<List<Job>>(`queues/${segment(queue)}/peek`, { limit: 50, brief: true }, signal),
  );
  return (
    <Panel
      title="Next jobs"
      note="as a worker would get them"
      actions={
        <Button small onClick={jobs.reload}>
          Look again
        </Button>
      }
      flush
    >
      <Load of={jobs}>{({ items }) => <JobTable jobs={items} empty={<Empty title="Nothing is ready here" />} />}</Load>
    </Panel>
  );
}
