/**
 * Nothing that we know by name is longer. A longer word is no slip of the pen, and comparing costs the product of both
 * lengths: 30 s for one of 16 MB.
 */
export const longestWord = 64;

/**
 * How many letters must be changed, added, removed or swapped with their neighbour; Infinity for what is longer than
 * any word of ours.
 */
export function editDistance(a: string, b: string): number {
  if (a.length > longestWord || b.length > longestWord) return Infinity;
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const same = a[i - 1] === b[j - 1];
      let least = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        least = Math.min(least, beforeLast[j - 2]! + 1);
      row.push(least);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length]!;
}
