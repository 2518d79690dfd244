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
}

interface TableProps<Row> {
  readonly caption: string;
  readonly rows: readonly Row[];
  readonly columns: readonly (Column<Row> | false)[];
  readonly rowKey: (row: Row) => string;
  readonly empty: ComponentChildren;
  /** Name of the column that is sorted at first, and whether the largest comes first. */
  readonly sort?: readonly [head: string, descending: boolean];
}

/** So many rows at first, and with each "more": a browser has no joy with ten thousand. */
const rowsAtOnce = 100;

export function Table<Row>({
  caption,
  rows,
  columns: all,
  rowKey,
  empty,
  sort: sortAtFirst,
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
        <table>
          <caption class="sr">{caption}</caption>
          <thead>
            <tr>
              {columns.map((column) => (
                <th
                  key={column.head}
                  scope="col"
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
          <tbody>
            {shown.map((row) => (
              <tr key={rowKey(row)}>
                {columns.map((column, index) => (
                  <Cell key={column.head} first={index === 0} class={classOf(column)}>
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

/** A bare text may be of any length. */
function cut(content: ComponentChildren): ComponentChildren {
  return typeof content === "string" && content.length > 12 ? (
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
  class: className,
  children,
}: {
  first: boolean;
  class: string | undefined;
  children: ComponentChildren;
}): JSX.Element {
  return first ? (
    <th scope="row" class={className}>
      {children}
    </th>
  ) : (
    <td class={className}>{children}</td>
  );
}

function classOf<Row>({ end, rank }: Column<Row>): string | undefined {
  const names = [end && "end", rank && `rank-${rank}`].filter(Boolean);
  return names.length > 0 ? names.join(" ") : undefined;
}

/** What is unknown comes last going up, first of all going down. */
function compare(a: string | number | null | undefined, b: string | number | null | undefined): number {
  if (typeof a === "string" && typeof b === "string") return a.localeCompare(b, "en", { numeric: true });
  return Number(a ?? -1) - Number(b ?? -1);
}
