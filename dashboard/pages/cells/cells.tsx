import type { JSX } from "preact";
import { get } from "../../api.js";
import { count, duration, none, rate } from "../../format.js";
import { Badge } from "../../parts/badge.js";
import { Empty } from "../../parts/empty.js";
import { Load } from "../../parts/load.js";
import { PageHead, Panel } from "../../parts/panel.js";
import { useResource } from "../../parts/resource.js";
import { Table } from "../../parts/table.js";
import { Ago } from "../../parts/time.js";
import { to } from "../../router.js";
import type { Cell, List } from "../../wire.js";

/** Each cell by itself, and which queues move between them. */
export function Cells(): JSX.Element {
  const cells = useResource("cells", (signal) => get<List<Cell>>("cells", {}, signal), 3000);
  return (
    <>
      <PageHead title="Cells">Servers that are used as one. Each queue is in one of them.</PageHead>
      <Panel title="Cells" note={cells.data && count(cells.data.items.length)} flush>
        <Load of={cells}>
          {({ items }) => (
            <Table
              caption="Cells"
              rows={items}
              rowKey={({ name }) => name}
              empty={<Empty title="There is one cell">It needs no name, and is what all other pages show.</Empty>}
              columns={[
                {
                  head: "Cell",
                  cell: ({ name, because }) => (
                    <span class="two-lines">
                      <a class="name" href={to(["queues"], { cell: name })}>
                        {name}
                      </a>
                      {because && <small class="cut error-cell">{because}</small>}
                    </span>
                  ),
                },
                { head: "State", width: "110px", card: "bare", cell: ({ state }) => <Badge state={state} /> },
                { head: "Schema", width: "110px", rank: 2, cell: schemaText },
                {
                  head: "Workers",
                  end: true,
                  width: "84px",
                  cell: ({ workers }) => count(workers),
                },
                { head: "Ready", end: true, width: "92px", cell: ({ overview }) => count(overview?.ready) },
                { head: "Running", end: true, width: "84px", cell: ({ overview }) => count(overview?.running) },
                {
                  head: "Oldest",
                  end: true,
                  width: "92px",
                  cell: ({ overview }) => duration(overview?.oldestReadySeconds),
                },
                {
                  head: "In /s",
                  end: true,
                  width: "70px",
                  rank: 2,
                  cell: ({ overview }) => rate(overview?.rates.enqueuedPerSecond),
                },
                {
                  head: "Out /s",
                  end: true,
                  width: "70px",
                  rank: 2,
                  cell: ({ overview }) => rate(overview?.rates.finishedPerSecond),
                },
                {
                  head: "Failed /s",
                  end: true,
                  width: "78px",
                  rank: 3,
                  cell: ({ overview }) => rate(overview?.rates.failedPerSecond),
                },
              ]}
            />
          )}
        </Load>
      </Panel>
      {cells.data && <Moves of={cells.data.items} />}
    </>
  );
}

function schemaText({ schemaVersion, schemaState }: Cell): string {
  if (schemaVersion === null) return none;
  return schemaState === "current" ? String(schemaVersion) : `${schemaVersion}, ${schemaState}`;
}

/** A move is told by the cell that a queue leaves, and by the one that it comes to. */
function Moves({ of }: { of: readonly Cell[] }): JSX.Element {
  const moves = of.flatMap(({ name, moves: own }) =>
    own.map((move) => ({
      ...move,
      here: name,
      from: move.direction === "leaving" ? name : move.other,
      to: move.direction === "leaving" ? move.other : name,
    })),
  );
  return (
    <Panel title="Moves in progress" note={count(moves.length)} flush>
      <Table
        caption="Moves in progress"
        rows={moves}
        rowKey={({ queue, here }) => `${queue} ${here}`}
        empty={<Empty title="No queue moves" />}
        columns={[
          {
            head: "Queue",
            cell: ({ queue }) => (
              <a class="name" href={to(["queues", queue])}>
                {queue}
              </a>
            ),
          },
          { head: "From", width: "90px", cell: ({ from }) => <bdi>{from}</bdi> },
          { head: "To", width: "90px", cell: (move) => <bdi>{move.to}</bdi> },
          { head: "Told by", width: "90px", rank: 2, cell: ({ here }) => <bdi>{here}</bdi> },
          { head: "Jobs there", end: true, width: "100px", cell: ({ jobs }) => count(jobs) },
          { head: "Held", width: "80px", rank: 2, cell: ({ held }) => (held ? "held" : none) },
          { head: "Began", end: true, width: "100px", cell: ({ beganAt }) => <Ago at={beganAt} /> },
        ]}
      />
    </Panel>
  );
}
