import { median } from "../engine/measure.ts";
import { systems } from "./systems/index.ts";

/** One kind of number in a scenario, such as the 99th percentile of a latency. */
export interface Series {
  /** Comes after the system's name in keys; empty for the number that matters most. */
  readonly suffix: string;
  readonly label: string;
  readonly unit: string;
  readonly better: "higher" | "lower";
}

export interface Measured {
  readonly key: string;
  readonly system: string;
  readonly series: Series;
  readonly values: readonly number[];
}

/** What a scenario has found out so far: for each key the numbers of all rounds. */
export class Results {
  readonly #measured = new Map<string, { system: string; series: Series; values: number[] }>();
  readonly notes: string[] = [];
  hasFailures = false;

  add(system: string, series: Series, ...values: readonly number[]): void {
    const key = system + series.suffix;
    let measured = this.#measured.get(key);
    if (!measured) this.#measured.set(key, (measured = { system, series, values: [] }));
    measured.values.push(...values.filter((value) => Number.isFinite(value)));
  }

  note(text: string): void {
    this.notes.push(text);
  }

  fail(system: string, error: unknown): void {
    this.hasFailures = true;
    this.notes.push(`${system} failed: ${error instanceof Error ? error.message : String(error)}`);
  }

  get all(): readonly Measured[] {
    return [...this.#measured]
      .map(([key, measured]) => ({ key, ...measured }))
      .filter(({ values }) => values.length > 0)
      .sort((a, b) => rank(a.system) - rank(b.system));
  }

  /** The medians, as they go into the JSON. */
  toJSON(): Record<string, number> {
    return Object.fromEntries(this.all.map(({ key, values }) => [key, Number(median(values).toPrecision(4))]));
  }
}

/** Always in the same order, whoever was measured first. */
function rank(system: string): number {
  const index = systems.findIndex(({ name }) => name === system);
  return index === -1 ? systems.length : index;
}

/** The value below which a share of all values lies. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? NaN;
}
