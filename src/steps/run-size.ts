import { RunLimitError } from "../db/errors.js";
import { bounds } from "../db/limits.js";
import type { NewStep, RunRead } from "../db/types.js";

/** Of a record in the JSON that is read, beside its key and its value. */
const recordBytes = 100;
/** Of the id of a child. */
const idBytes = 22;

/**
 * How much a run remembers: what was read, and what it has written since. Signals and ends of children are written by
 * others, who have limits of their own: their bytes count, they do not count as steps.
 */
export class RunSize {
  #steps: number;
  #bytes: number;

  constructor({ records, bytes }: RunRead) {
    this.#steps = records.filter(({ kind }) => kind !== "signal" && kind !== "ended").length;
    this.#bytes = bytes;
  }

  /** Before something new begins, so that nothing is done that could not be noted. */
  check(): void {
    if (this.#steps >= bounds.runSteps)
      throw new RunLimitError(
        `the run has written ${this.#steps} steps, and the limit is ${bounds.runSteps}`,
        "let the job end, and enqueue the next one together with its end",
      );
    if (this.#bytes >= bounds.runBytes) throw tooLarge(this.#bytes);
  }

  /** Whether a value still fits. */
  checkValue(json: string | undefined): void {
    const bytes = this.#bytes + bytesOf(json);
    if (bytes > bounds.runBytes) throw tooLarge(bytes);
  }

  add(steps: readonly NewStep[]): void {
    for (const { key, json, error } of steps)
      this.#count(key, bytesOf(json) + (error ? bytesOf(JSON.stringify(error)) : 0));
  }

  addChildren(key: string, count: number): void {
    this.#count(key, count * idBytes);
  }

  #count(key: string, bytes: number): void {
    this.#steps += 1;
    this.#bytes += recordBytes + key.length + bytes;
  }
}

const bytesOf = (json: string | undefined): number => (json === undefined ? 0 : Buffer.byteLength(json));

const tooLarge = (bytes: number): RunLimitError =>
  new RunLimitError(
    `the run would remember ${bytes} bytes, and the limit is ${bounds.runBytes}`,
    "store large values in tables of your own, or give parts of the work to jobs of their own",
  );
