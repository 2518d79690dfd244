import { checkKeys } from "./encode.js";
import type { DecisionNote } from "./types.js";

const noteKeys = new Set<string>(["by", "because"] satisfies (keyof DecisionNote)[]);

/** Who decided it, and why, as the values of a statement. */
export function noted(note: DecisionNote): (string | null)[] {
  checkKeys(note, noteKeys);
  return [note.by ?? null, note.because ?? null];
}
