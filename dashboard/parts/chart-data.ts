/** A pause of the server, or of the page, is one when it is this much longer than the usual distance of two points. */
const usualTimes = 4;
/** A quiet system is looked at less often. */
const leastGapMs = 15_000;

/** After so many milliseconds without a point nobody has looked. `leastStepMs`: how far apart points are at least. */
export function gapOf(points: readonly { readonly at: number }[], leastStepMs = 0): number {
  const distances = points.slice(1).map(({ at }, i) => at - points[i]!.at);
  const usual = distances.toSorted((a, b) => a - b)[Math.floor(distances.length / 2)] ?? 0;
  return Math.max(leastGapMs, Math.max(usual, leastStepMs) * usualTimes);
}

/**
 * Points as the columns of a chart: seconds, then the values of each line. Where nothing was measured for a while there
 * is a row of nulls, so that no line leads across.
 */
export function columnsOf<P extends { readonly at: number }>(
  points: readonly P[],
  lines: readonly ((point: P) => number | null)[],
): (number | null)[][] {
  const most = gapOf(points);
  const columns: (number | null)[][] = [[], ...lines.map(() => [])];
  points.forEach((point, i) => {
    const before = points[i - 1];
    if (before && point.at - before.at > most)
      columns.forEach((column, n) => column.push(n === 0 ? (before.at + point.at) / 2000 : null));
    columns.forEach((column, n) => column.push(n === 0 ? point.at / 1000 : lines[n - 1]!(point)));
  });
  return columns;
}
