import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { count, none } from "../../format.js";
import { perform } from "../../parts/act.js";
import { Button } from "../../parts/button.js";
import { Panel } from "../../parts/panel.js";
import { Table } from "../../parts/table.js";
import { Ago } from "../../parts/time.js";
import { to } from "../../router.js";
import { mayAct } from "../../session.js";
import { resume } from "./acts.js";
import { type PartPause, usePauses } from "./pauses.js";

/** So many at first: what the page is about stands below. */
const few = 5;

/**
 * Every pause of a part of a queue, each with its Resume. Types are listed while they have jobs, and a group that is
 * paused in one type has no row of its own: without this such a pause could be seen, but not ended.
 */
export function PausedParts({ queue }: { queue: string }): JSX.Element | null {
  const { parts } = usePauses(queue);
  const [isWhole, setWhole] = useState(false);
  if (parts.length === 0) return null;
  const newest = parts.toSorted((a, b) => Date.parse(b.pausedAt) - Date.parse(a.pausedAt));
  return (
    <Panel
      title="Paused parts"
      note={count(parts.length)}
      actions={
        parts.length > few && (
          <Button small onClick={() => setWhole(!isWhole)}>
            {isWhole ? `Show ${few}` : `Show all ${count(parts.length)}`}
          </Button>
        )
      }
      flush
    >
      <Table
        caption={`Paused parts of ${queue}`}
        rows={isWhole ? newest : newest.slice(0, few)}
        rowKey={(pause) => JSON.stringify([pause.type, pause.group])}
        columns={[
          { head: "Part", by: nameOf, cell: (pause) => <Part queue={queue} of={pause} /> },
          {
            head: "Since",
            width: "130px",
            by: ({ pausedAt }) => -Date.parse(pausedAt),
            cell: ({ pausedAt }) => <Ago at={pausedAt} />,
          },
          {
            head: "By",
            width: "120px",
            rank: 2,
            by: ({ pausedBy }) => pausedBy ?? "",
            cell: ({ pausedBy }) => pausedBy ?? none,
          },
          { head: "Because", rest: true, card: "wide", cell: ({ pausedBecause }) => pausedBecause },
          mayAct.value && {
            head: "Acts",
            end: true,
            width: "100px",
            cell: ({ type, group }) => (
              <Button
                small
                label={`Resume ${nameOf({ type, group })}`}
                onClick={() =>
                  perform(resume(queue, { ...(type !== null && { type }), ...(group !== null && { group }) }))
                }
              >
                Resume
              </Button>
            ),
          },
        ]}
        empty={null}
      />
    </Panel>
  );
}

const nameOf = ({ type, group }: Pick<PartPause, "type" | "group">): string =>
  [group !== null && `group ${group}`, type !== null && `type ${type}`].filter(Boolean).join(" of ");

/** The words of a reason for waiting: "group acme of type send-mail". */
function Part({ queue, of: { type, group } }: { queue: string; of: PartPause }): JSX.Element {
  return (
    <span class="name">
      {group !== null && (
        <>
          group{" "}
          <a href={to(["jobs"], { queue, group, ...(type !== null && { type }) })}>
            <bdi>{group}</bdi>
          </a>
        </>
      )}
      {group !== null && type !== null && " of "}
      {type !== null && (
        <>
          type{" "}
          <a href={to(["queues", queue, "types", type])}>
            <bdi>{type}</bdi>
          </a>
        </>
      )}
    </span>
  );
}
