import { mkdirSync, writeFileSync } from "node:fs";
import { median } from "../engine/measure.ts";
import { chart } from "./chart.ts";
import type { Measured, Results } from "./results.ts";
import { systems } from "./systems/index.ts";

const folder = new URL("../results/", import.meta.url);
const isPeer = (name: string): boolean =>
  name !== "millrace" && systems.some((system) => system.name === name && system.store === "postgres");

/** A number with about three digits that matter. */
export function readable(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** How many times better than the best PostgreSQL peer; undefined when there is none. */
function ratio({ system, series, values }: Measured, all: readonly Measured[]): number | undefined {
  const peers = all
    .filter((other) => other.series.suffix === series.suffix && isPeer(other.system))
    .map((other) => median(other.values));
  if (peers.length === 0 || (peers.length === 1 && isPeer(system))) return undefined;
  const own = median(values);
  return series.better === "higher" ? own / Math.max(...peers) : Math.min(...peers) / own;
}

/** One table per kind of number: median, spread over the rounds, and the ratio to the fastest PostgreSQL peer. */
export function printScenario(results: Results): void {
  const { all } = results;
  const groups = Map.groupBy(all, ({ series }) => series.suffix);
  for (const rows of groups.values()) {
    const [{ series }] = rows as [Measured, ...Measured[]];
    console.log(`  ${series.label} (${series.unit}, ${series.better} is better)`);
    for (const row of rows) {
      const times = ratio(row, all);
      const spread =
        row.values.length > 1 ? `${readable(Math.min(...row.values))} to ${readable(Math.max(...row.values))}` : "";
      console.log(
        `    ${row.key.padEnd(34)}${readable(median(row.values)).padStart(12)}  ${spread.padEnd(26)}${times === undefined ? "" : `${times.toFixed(2)} x the best PostgreSQL peer`}`.trimEnd(),
      );
    }
  }
  for (const note of results.notes) console.log(`  (${note})`);
}

/** One bar chart per scenario, and all numbers of the run, into bench/results. */
export function writeResults(run: string, name: string, title: string, results: Results): void {
  mkdirSync(folder, { recursive: true });
  if (results.all.length > 0) writeFileSync(new URL(`${name}.svg`, folder), chart(title, run, results.all));
}

export function writeSummary(run: string, summary: Readonly<Record<string, Results>>): void {
  mkdirSync(folder, { recursive: true });
  const rounds = Object.fromEntries(
    Object.entries(summary).map(([name, { all }]) => [
      name,
      Object.fromEntries(all.map(({ key, values }) => [key, values.slice(0, 1000)])),
    ]),
  );
  writeFileSync(new URL("latest.json", folder), `${JSON.stringify({ run, medians: summary, rounds }, undefined, 2)}\n`);
}
