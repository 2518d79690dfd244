/** Several cells as one: which there are, which one is looked at, and which do not answer. Nothing with one cell. */
import { computed } from "@preact/signals";
import type { JSX } from "preact";
import { overview } from "./live.js";
import type { Column } from "./parts/table.js";
import { route, to } from "./router.js";
import { session } from "./session.js";

/** Their names; none where there is one. */
export const cellNames = computed<readonly string[]>(() => session.value?.cells ?? []);

/** The one that lists are of, as the address says; undefined for all. */
export const chosenCell = computed<string | undefined>(() => route.value.query.get("cell") ?? undefined);

/** Lists of all cells, or of one. */
export function CellFilter(): JSX.Element | null {
  const query = Object.fromEntries(route.value.query);
  const { cursor: _cursor, ...rest } = query;
  if (cellNames.value.length === 0) return null;
  return (
    <div class="filters" role="group" aria-label="Cell">
      {["", ...cellNames.value].map((name) => (
        <a
          key={name}
          class="button button-small"
          href={to(route.value.path, { ...rest, cell: name })}
          aria-current={(chosenCell.value ?? "") === name ? "true" : undefined}
        >
          {name === "" ? "all cells" : <bdi>{name}</bdi>}
        </a>
      ))}
    </div>
  );
}

/** The cell of each row. */
export function cellColumn<Row>(of: (row: Row) => string | undefined, rank: 2 | 3 = 2): Column<Row> | false {
  return (
    cellNames.value.length > 0 && {
      head: "Cell",
      width: "76px",
      rank,
      by: of,
      cell: (row) => <bdi class="name">{of(row)}</bdi>,
    }
  );
}

/** Whoever reads numbers and lists is told what is left out of them. */
export function CellsBanner(): JSX.Element | null {
  const missing = overview.value?.missing ?? [];
  if (missing.length === 0) return null;
  const names = missing.map(({ cell }) => cell).join(", ");
  return (
    <div class="banner" role="status">
      <strong>{missing.length === 1 ? `Cell ${names} does not answer.` : `The cells ${names} do not answer.`}</strong>{" "}
      What is in {missing.length === 1 ? "it" : "them"} is left out here. <a href={to(["cells"])}>Cells</a>
    </div>
  );
}
