/** The known names that come nearest to what somebody wrote, nearest first; none when nothing is near. */
export function nearestNames(word: string, known: readonly string[], most = 3): string[] {
  const plain = word.toLowerCase();
  const near = Math.max(2, Math.floor(word.length / 3));
  return known
    .map((name) => ({ name, distance: Math.min(distance(plain, name.toLowerCase()), endsWith(name, plain) ? 1 : Infinity) }))
    .filter(({ distance }) => distance <= near)
    .toSorted((a, b) => a.distance - b.distance)
    .slice(0, most)
    .map(({ name }) => name);
}

/** "berlin" for "Europe/Berlin". */
function endsWith(name: string, word: string): boolean {
  return name.toLowerCase().endsWith(`/${word.replaceAll(" ", "_")}`);
}

/** How many letters must be changed, added or removed. */
function distance(a: string, b: string): number {
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      row.push(Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
    }
    last = row;
  }
  return last[b.length]!;
}
