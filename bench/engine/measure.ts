/** Median of a list of numbers. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1
    ? (sorted[middle] ?? NaN)
    : ((sorted[middle - 1] ?? NaN) + (sorted[middle] ?? NaN)) / 2;
}

/** Run `work`, which handles `units`, and return units per second. */
export async function rate(units: number, work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return (units / (performance.now() - start)) * 1000;
}

/**
 * Measure two things in alternating rounds, so that a slow moment of the machine hits both, and compare their medians.
 */
export async function alternate(
  rounds: number,
  ours: () => Promise<number>,
  theirs: () => Promise<number>,
): Promise<{ ours: number; theirs: number; ratio: number }> {
  const a: number[] = [];
  const b: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const first = round % 2 === 0;
    if (first) a.push(await ours());
    b.push(await theirs());
    if (!first) a.push(await ours());
  }
  const [x, y] = [median(a), median(b)];
  return { ours: x, theirs: y, ratio: x / y };
}

/** About 100 bytes of JSON, different for each job. */
export function payloads(n: number): Record<string, unknown>[] {
  return Array.from({ length: n }, (_, i) => ({
    key: `images/${i}.png`,
    width: 640 + i,
    height: 480,
    tags: ["thumb", "web"],
    user: `user-${i % 97}`,
  }));
}
