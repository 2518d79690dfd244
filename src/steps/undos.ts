import type { StepRecord } from "../db/types.js";
import type { StepContext } from "./step.js";

/** What undoes a step. */
export type Undo = (value: unknown, context: StepContext) => unknown;

interface Undoable {
  readonly key: string;
  readonly undo: Undo;
  readonly value: unknown;
  /** When it ended: by the database before this call of the handler, in their order within it. */
  readonly at: number;
}

/** The steps of a run that have ended and can be undone. */
export class Undos {
  readonly #all: Undoable[] = [];

  has(key: string): boolean {
    return this.#all.some((one) => one.key === key);
  }

  /** `before`: how an earlier call of the handler noted it. */
  add(key: string, undo: Undo, value: unknown, before: StepRecord | undefined): void {
    this.#all.push({ key, undo, value, at: before?.at.getTime() ?? Infinity });
  }

  newestFirst(): readonly Undoable[] {
    // equal ones stay in the order of calls, which is turned round
    return this.#all.toSorted((a, b) => (a.at === b.at ? 0 : a.at - b.at)).toReversed();
  }
}
