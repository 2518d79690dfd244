import { editDistance, longestWord } from "../db/edit-distance.js";

/** The known names that come nearest to what somebody wrote, nearest first; none when nothing is near. */
export function nearestNames(word: string, known: readonly string[], most = 3): string[] {
  if (word.length > longestWord) return [];
  const plain = word.toLowerCase();
  const near = Math.max(2, Math.floor(word.length / 3));
  return known
    .map((name) => ({
      name,
      distance: Math.min(editDistance(plain, name.toLowerCase()), endsWith(name, plain) ? 1 : Infinity),
    }))
    .filter(({ distance }) => distance <= near)
    .toSorted((a, b) => a.distance - b.distance)
    .slice(0, most)
    .map(({ name }) => name);
}

/** "berlin" for "Europe/Berlin". */
function endsWith(name: string, word: string): boolean {
  return name.toLowerCase().endsWith(`/${word.replaceAll(" ", "_")}`);
}
