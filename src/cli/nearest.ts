import { editDistance } from "../db/edit-distance.js";

/** The known word somebody probably meant, or undefined when none is near. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const [best] = known
    .map((candidate) => ({ candidate, distance: editDistance(word, candidate) }))
    .toSorted((a, b) => a.distance - b.distance);
  if (best && best.distance <= Math.max(1, Math.floor(word.length / 3))) return best.candidate;
  return word.length >= 2 ? known.find((candidate) => candidate.startsWith(word)) : undefined;
}
