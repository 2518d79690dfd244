import { thisRelease } from "../../src/db/migrate.js";
import type { Release } from "../../src/db/schema-version.js";

/** What is written smaller: ring children of 8 transactions instead of 262,144, and 4 days instead of 32. */
const smaller: readonly (readonly [RegExp, string])[] = [
  [/(>>|<<) 18\b/g, "$1 3"],
  [/% 32\b/g, "% 4"],
  [/\b0 \.\. 31\b/g, "0 .. 3"],
  [/generate_series\(0, 31\)/g, "generate_series(0, 3)"],
];

/**
 * This release with small rings. Every combination crosses from child to child of the tickets, which go round every 64
 * transactions, and jobs of several days meet in one child; with an eighth of the tables, plans are made and run in a
 * fraction of the time. The numbers are all that is changed.
 */
export function smallRings(release: Release = thisRelease): Release {
  const missing = smaller.filter(
    ([number]) => !number.test(release.functionsText + release.migrations.map(({ text }) => text).join("\n")),
  );
  if (missing.length > 0)
    throw new Error(`nothing to make smaller: ${missing.map(([number]) => number.source).join(", ")}`);
  const change = (text: string): string =>
    smaller.reduce((changed, [number, small]) => changed.replaceAll(number, small), text);
  return {
    migrations: release.migrations.map((migration) => ({ ...migration, text: change(migration.text) })),
    functionsText: change(release.functionsText),
    functionsChecksum: `${release.functionsChecksum}*`,
  };
}
