import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { get } from "../../api.js";
import { plural } from "../../format.js";
import { Badge } from "../../parts/badge.js";
import { Button } from "../../parts/button.js";
import { Problem } from "../../parts/load.js";
import { Panel } from "../../parts/panel.js";
import { useResource } from "../../parts/resource.js";
import { Table } from "../../parts/table.js";
import { to } from "../../router.js";
import type { Child, List } from "../../wire.js";

const atFirst = 100;
const most = 1000;

const load = (id: string, limit: number, signal: AbortSignal): Promise<List<Child>> =>
  get<List<Child>>(`jobs/${encodeURIComponent(id)}/children`, { limit }, signal);

/** The first children of a job, for the page that shows them. */
export const loadChildren = (id: string, signal: AbortSignal): Promise<List<Child>> => load(id, atFirst, signal);

/** The jobs that a job has started, and what became of them. */
export function Children({
  id,
  of: first,
  isLive,
}: {
  id: string;
  of: List<Child>;
  isLive: boolean;
}): JSX.Element | null {
  const [isWhole, setIsWhole] = useState(false);
  if (first.items.length === 0) return null;
  return (
    <Panel title="Children" note={first.next === undefined ? plural(first.items.length, "job") : "the first"} flush>
      {isWhole ? (
        <More id={id} first={first} isLive={isLive} />
      ) : (
        <ChildTable of={first} more={() => setIsWhole(true)} />
      )}
    </Panel>
  );
}

function More({ id, first, isLive }: { id: string; first: List<Child>; isLive: boolean }): JSX.Element {
  const all = useResource(`children ${id}`, (signal) => load(id, most, signal), isLive ? 3000 : 15_000);
  return (
    <>
      {all.error !== undefined && <Problem error={all.error} retry={all.reload} />}
      <ChildTable of={all.data ?? first} />
    </>
  );
}

function ChildTable({ of, more }: { of: List<Child>; more?: () => void }): JSX.Element {
  return (
    <>
      <Table
        caption="Children"
        rows={of.items}
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
          {
            head: "State",
            width: "100px",
            by: ({ state }) => state,
            cell: ({ state }) => <Badge state={state ?? "gone"} />,
          },
          { head: "Step", rank: 2, by: ({ step }) => step, cell: ({ step }) => step },
          { head: "Type", by: ({ type }) => type, cell: ({ type }) => type },
        ]}
        empty={null}
      />
      {of.next !== undefined && (
        <p class="table-more">
          {more ? (
            <Button small onClick={more}>
              Show more
            </Button>
          ) : (
            <span class="muted">These are the first {of.items.length.toLocaleString("en")}.</span>
          )}
        </p>
      )}
    </>
  );
}
