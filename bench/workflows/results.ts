import { median } from "../engine/measure.ts";

/** One kind of number. */
export interface Series {
  /** In the JSON; empty for the number that matters most. */
  readonly name: string;
  readonly label: string;
  readonly better: "higher" | "lower";
}

export interface Compared {
  readonly ours: number | null;
  readonly theirs: number | null;
  /** Whose number theirs is. */
  readonly best: string | null;
  /** How many times better ours is, also where less is better. */
  readonly ratio: number | null;
}

const us = "millrace";

/** What a measurement has found out so far: for each kind of number, those of all rounds of each system. */
export class Results {
  readonly #series = new Map<string, { series: Series; values: Map<string, number[]> }>();
  readonly notes: string[] = [];
  hasFailures = false;

  add(system: string, series: Series, value: number): void {
    if (Number.isNaN(value)) return;
    let found = this.#series.get(series.name);
    if (!found) this.#series.set(series.name, (found = { series, values: new Map() }));
    found.values.set(system, [...(found.values.get(system) ?? []), value]);
  }

  fail(system: string, error: unknown): void {
    this.hasFailures = true;
    this.notes.push(`${system} failed: ${error instanceof Error ? error.message.split("\n")[0] : String(error)}`);
  }

  print(): void {
    for (const { series, values } of this.#series.values()) {
      console.log(`  ${series.label} (${series.better} is better)`);
      const { ratio, best } = compare(series, values);
      for (const [system, numbers] of values) {
        const spread =
          numbers.length > 1 ? `${readable(Math.min(...numbers))} to ${readable(Math.max(...numbers))}` : "";
        const times = system === us && ratio !== null ? `${ratio.toFixed(2)} x ${best}` : "";
        console.log(
          `    ${system.padEnd(16)}${readable(median(numbers)).padStart(12)}  ${spread.padEnd(26)}${times}`.trimEnd(),
        );
      }
    }
    for (const note of this.notes) console.log(`  (${note})`);
  }

  /** The medians: the number that matters most at the top, the others by their names; null when we have none. */
  toJSON(): (Compared & Record<string, unknown>) | null {
    const compared = [...this.#series.values()].map(
      ({ series, values }) => [series.name, compare(series, values)] as const,
    );
    const main = compared.find(([name]) => name === "")?.[1];
    if (main?.ours == null) return null;
    return { ...main, ...Object.fromEntries(compared.filter(([name]) => name !== "")) };
  }
}

function compare({ better }: Series, values: ReadonlyMap<string, readonly number[]>): Compared {
  const medians = [...values].map(([system, numbers]) => [system, median(numbers)] as const);
  const ours = medians.find(([system]) => system === us)?.[1];
  const [best, theirs] = medians
    .filter(([system]) => system !== us)
    .toSorted(([, a], [, b]) => (better === "higher" ? b - a : a - b))[0] ?? [null, undefined];
  const ratio =
    ours === undefined || theirs === undefined ? null : short(better === "higher" ? ours / theirs : theirs / ours);
  return { ours: short(ours), theirs: short(theirs), best, ratio };
}

function short(value: number | undefined): number | null {
  return value === undefined || !Number.isFinite(value) ? null : Number(value.toPrecision(4));
}

/** A number with about three digits that matter. */
function readable(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
