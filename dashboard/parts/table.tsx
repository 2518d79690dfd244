import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { plural } from "../format.js";
import { Button } from "./button.js";

export interface Column<Row> {
  readonly head: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Numbers stand right, below each other. */
  readonly end?: boolean;
  /** What to sort by; without it the column cannot be sorted. */
  readonly by?: (row: Row) => string | number | null | undefined;
  /** A width that stays, whatever comes in. */
  readonly width?: string;
  /** Left out on narrow screens: 2 below a tablet's width, 3 below a laptop's. */
  readonly rank?: 2 | 3;
  /** Has what the others leave, and is cut off there: an error, a reason. */
  readonly rest?: boolean;
  /** On a phone, where a row is a card: on a line of its own, without its heading, or left out. */
  readonly card?: "wide" | "bare" | "none";
}

/** Rows that were chosen, to do something with all of them. */
export interface Choosing<Row> {
  readonly has: (row: Row) => boolean;
  readonly choose: (rows: readonly Row[], isChosen: boolean) => void;
  /** What a row is called, for whoever does not see it. */
  readonly name: (row: Row) => string;
}

interface TableProps<Row> {
  readonly caption: string;
  readonly rows: readonly Row[];
  readonly columns: readonly (Column<Row> | false)[];
  readonly rowKey: (row: Row) => string;
  readonly empty: ComponentChildren;
  /** Name of the column that is sorted at first, and whether the largest comes first. */
  readonly sort?: readonly [head: string, descending: boolean];
  readonly choosing?: Choosing<Row> | undefined;
  /** Its numbers are those of the live stream, and grey when that is gone. */
  readonly isLive?: boolean;
}

/** So many rows at first, and with each "more": a browser has no joy with ten thousand. */
const rowsAtOnce = 100;

/** Where rows are cards (`display: flex`), some browsers forget that it is a table. */
const as = {
  table: { role: "table" },
  group: { role: "rowgroup" },
  row: { role: "row" },
  head: { role: "columnheader" },
  name: { role: "rowheader" },
  cell: { role: "cell" },
} as const;

export function Table<Row>({
  caption,
  rows,
  columns: all,
  rowKey,
  empty,
  sort: sortAtFirst,
  choosing,
  isLive,
}: TableProps<Row>): JSX.Element {
  const columns = all.filter((column) => column !== false);
  const [sort, setSort] = useState(sortAtFirst);
  const [most, setMost] = useState(rowsAtOnce);
  if (rows.length === 0) return <>{empty}</>;
  const by = columns.find(({ head }) => head === sort?.[0])?.by;
  const sorted = by ? rows.toSorted((a, b) => compare(by(a), by(b)) * (sort![1] ? -1 : 1)) : rows;
  const shown = sorted.slice(0, most);
  return (
    <>
      <div class="table-scroll" role="region" aria-label={caption} tabIndex={0}>
        <table
          {...as.table}
          class={[columns.length > 3 && "cards", isLive && "table-live"].filter(Boolean).join(" ") || undefined}
        >
          <caption class="sr">{caption}</caption>
          <thead {...as.group}>
            <tr {...as.row}>
              {choosing && (
                <th scope="col" {...as.head} class="pick">
                  <Pick
                    label={`Choose all ${shown.length} that are listed`}
                    isChosen={shown.every(choosing.has)}
                    onChange={(isChosen) => choosing.choose(shown, isChosen)}
                  />
                </th>
              )}
              {columns.map((column) => (
                <th
                  key={column.head}
                  scope="col"
                  {...as.head}
                  class={classOf(column)}
                  style={column.width ? { inlineSize: column.width } : undefined}
                  aria-sort={sort?.[0] === column.head ? (sort[1] ? "descending" : "ascending") : undefined}
                >
                  {column.by ? (
                    <button
                      type="button"
                      class="sort"
                      onClick={() => setSort([column.head, sort?.[0] === column.head ? !sort[1] : column.end === true])}
                    >
                      {column.head}
                    </button>
                  ) : (
                    column.head
                  )}
                </th>
              ))}
            </tr>
          </thead>
          <tbody {...as.group}>
            {shown.map((row) => (
              <tr key={rowKey(row)} {...as.row} data-row tabIndex={-1} aria-selected={choosing?.has(row)}>
                {choosing && (
                  <td {...as.cell} class="pick">
                    <Pick
                      label={`Choose ${choosing.name(row)}`}
                      isChosen={choosing.has(row)}
                      onChange={(isChosen) => choosing.choose([row], isChosen)}
                    />
                  </td>
                )}
                {columns.map((column, index) => (
                  <Cell key={column.head} first={index === 0} head={column.head} class={classOf(column)}>
                    {cut(column.cell(row))}
                  </Cell>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {shown.length < rows.length && (
        <p class="table-more">
          <span class="muted">
            {plural(shown.length, "row")} of {rows.length.toLocaleString("en")}
          </span>
          <Button small onClick={() => setMost(most + rowsAtOnce)}>
            Show {Math.min(rowsAtOnce, rows.length - shown.length)} more
          </Button>
        </p>
      )}
    </>
  );
}

function Pick({
  label,
  isChosen,
  onChange,
}: {
  label: string;
  isChosen: boolean;
  onChange: (isChosen: boolean) => void;
}): JSX.Element {
  return (
    <label class="pick-area" title={label}>
      <input
        type="checkbox"
        aria-label={label}
        checked={isChosen}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
    </label>
  );
}

/** A bare text may be of any length, and does not break where a name has a hyphen. */
function cut(content: ComponentChildren): ComponentChildren {
  return typeof content === "string" && (content.length > 12 || /[\s-]/.test(content)) ? (
    <span class="name" title={content}>
      {content}
    </span>
  ) : (
    content
  );
}

/** The first cell names its row. */
function Cell({
  first,
  head,
  class: className,
  children,
}: {
  first: boolean;
  head: string;
  class: string | undefined;
  children: ComponentChildren;
}): JSX.Element {
  return first ? (
    <th scope="row" {...as.name} class={className}>
      {children}
    </th>
  ) : (
    <td {...as.cell} data-head={head} class={className}>
      {children}
    </td>
  );
}

function classOf<Row>({ end, rank, rest, card }: Column<Row>): string | undefined {
  const names = [end && "end", rank && `rank-${rank}`, rest && "rest", card && `card-${card}`].filter(Boolean);
  return names.length > 0 ? names.join(" ") : undefined;
}

/** What is unknown comes last going up, first of all going down. */
function compare(a: string | number | null | undefined, b: string | number | null | undefined): number {
  if (typeof a === "string" && typeof b === "string") return a.localeCompare(b, "en", { numeric: true });
  return Number(a ?? -1) - Number(b ?? -1);
}
