import { oneLine } from "./format.js";

export interface Column {
  readonly title: string;
  readonly align?: "right";
}

/** A table as lines, the first being the titles. The last column is cut where the terminal ends. */
export function textTable(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width = Infinity,
): string[] {
  const cells = [columns.map(({ title }) => title), ...rows.map((row) => row.map((cell) => oneLine(cell)))];
  const widths = columns.map((_, i) => Math.max(...cells.map((row) => row[i]?.length ?? 0)));
  return cells.map((row) => {
    const line = row
      .map((cell, i) => (columns[i]?.align === "right" ? cell.padStart(widths[i]!) : cell.padEnd(widths[i]!)))
      .join("  ");
    return oneLine(line.trimEnd(), width);
  });
}
