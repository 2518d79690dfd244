import type { ComponentChildren, JSX } from "preact";
import { cellColumn } from "../../cells.js";
import { count, duration, rate } from "../../format.js";
import { queueSamples, trailOf } from "../../live.js";
import { Badge } from "../../parts/badge.js";
import { Sparkline } from "../../parts/sparkline.js";
import { type Column, Table } from "../../parts/table.js";
import { to } from "../../router.js";
import type { QueueState } from "../../wire.js";
import { useUnserved, wordOf } from "./words.js";

/** What a row is about; its numbers are those of the live stream. */
export interface QueueRow {
  readonly name: string;
  readonly state: QueueState;
  readonly ready?: number;
  readonly blocked?: number;
  readonly because?: string | null;
  readonly limits?: string;
  readonly cell?: string;
}

const live = (name: string) => queueSamples.value.get(name);

const name: Column<QueueRow> = {
  head: "Queue",
  by: (row) => row.name,
  cell: (row) => (
    <span class="two-lines">
      <a class="name" href={to(["queues", row.name])}>
        {row.name}
      </a>
      {row.limits && <small class="cut limits-note">{row.limits}</small>}
    </span>
  ),
};
const state = (word: (row: QueueRow) => string): Column<QueueRow> => ({
  head: "State",
  width: "140px",
  by: word,
  cell: (row) => (
    <span class="two-lines">
      <Badge state={word(row)} title={row.because ?? null} />
      {row.because && <small class="cut state-note">{row.because}</small>}
    </span>
  ),
});
const numbers: readonly Column<QueueRow>[] = [
  {
    head: "Ready",
    end: true,
    width: "78px",
    by: (row) => live(row.name)?.ready,
    cell: (row) => count(live(row.name)?.ready),
  },
  {
    head: "Blocked",
    end: true,
    width: "78px",
    rank: 2,
    by: (row) => live(row.name)?.blocked,
    cell: (row) => count(live(row.name)?.blocked),
  },
  {
    head: "Running",
    end: true,
    width: "76px",
    by: (row) => live(row.name)?.running,
    cell: (row) => count(live(row.name)?.running),
  },
  {
    head: "Delayed",
    end: true,
    width: "76px",
    rank: 2,
    by: (row) => live(row.name)?.delayed,
    cell: (row) => count(live(row.name)?.delayed),
  },
  {
    head: "Oldest",
    end: true,
    width: "82px",
    rank: 2,
    by: (row) => live(row.name)?.oldestReadySeconds,
    cell: (row) => duration(live(row.name)?.oldestReadySeconds),
  },
];
/** Where nothing is suspended, a column of zeros would only be in the way. */
const suspended = (): Column<QueueRow> | false =>
  [...queueSamples.value.values()].some((one) => one.suspended > 0) && {
    head: "Suspended",
    end: true,
    width: "90px",
    rank: 3,
    by: (row) => live(row.name)?.suspended,
    cell: (row) => count(live(row.name)?.suspended),
  };
const rates: readonly Column<QueueRow>[] = [
  {
    head: "In /s",
    end: true,
    width: "60px",
    rank: 3,
    by: (row) => live(row.name)?.in,
    cell: (row) => rate(live(row.name)?.in),
  },
  {
    head: "Out /s",
    end: true,
    width: "62px",
    rank: 2,
    by: (row) => live(row.name)?.out,
    cell: (row) => rate(live(row.name)?.out),
  },
  {
    head: "Failed /s",
    end: true,
    width: "78px",
    rank: 3,
    by: (row) => live(row.name)?.failed,
    cell: (row) => rate(live(row.name)?.failed),
  },
  {
    head: "Lately",
    end: true,
    width: "104px",
    rank: 2,
    cell: (row) => (
      <Sparkline
        values={trailOf(row.name).map(({ out }) => out ?? 0)}
        label={`Finished per second lately: now ${rate(live(row.name)?.out)}`}
      />
    ),
  },
];

export function QueueTable({
  rows,
  short,
  empty,
}: {
  rows: readonly QueueRow[];
  short?: boolean;
  empty: ComponentChildren;
}): JSX.Element {
  const unserved = useUnserved();
  return (
    <Table
      caption="Queues"
      isLive
      rows={rows}
      columns={[
        name,
        state((row) => wordOf(row, unserved)),
        cellColumn<QueueRow>((row) => live(row.name)?.cell ?? row.cell),
        ...numbers.slice(0, 4),
        suspended(),
        ...numbers.slice(4),
        ...rates,
      ]}
      rowKey={(row) => row.name}
      empty={empty}
      {...(!short && { sort: ["Queue", false] as const })}
    />
  );
}
