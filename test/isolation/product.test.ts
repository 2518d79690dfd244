import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { randomFrom } from "../support/steps.js";
import { type Combination, generator, pairsFirst, parse, repeatLine } from "./combination.js";
import { found } from "./found.js";
import { Product, tell } from "./product.js";
import { Search } from "./search.js";

/**
 * PRODUCT="state/age/first/second/third/transaction/time" runs one combination (or several, with ; between them) and
 * tells its steps. PRODUCT_SECONDS runs as many as that time allows, all pairs of verbs first (with ALL_PAIRS, as `npm
 * run simulate` has it, for as long as the simulation); else PRODUCT_COUNT. PRODUCT_WORKERS run side by side, each on a
 * server of its own. PRODUCT_STATE runs one state only. PRODUCT_SEED, which is printed, repeats the order.
 */
const { env } = process;
const alone = env["PRODUCT"];
const seconds = Number(
  env["PRODUCT_SECONDS"] ?? (env["ALL_PAIRS"] === undefined ? 0 : (env["SIMULATION_SECONDS"] ?? 120)),
);
const count = Number(env["PRODUCT_COUNT"] ?? 200);
const workers = Number(env["PRODUCT_WORKERS"] ?? (seconds > 0 ? 3 : 2));
const seed = Number(env["PRODUCT_SEED"] ?? (seconds > 0 ? Date.now() % 1_000_000 : 1));

describe("the product of verbs, states, transactions and times [#101] [#167] [invariant 1] [invariant 3]", () => {
  const products: Product[] = [];
  beforeAll(
    async () =>
      void products.push(...(await Promise.all(Array.from({ length: alone ? 1 : workers }, () => Product.open())))),
  );
  afterAll(() => Promise.all(products.map((product) => product.close())));

  const tryOne = async (line: string): Promise<void> => {
    const report = await products[0]!.run(parse(line));
    if (alone) console.log(tell(report));
    if (report.faults.length > 0)
      expect.fail(`${report.faults.map(({ text }) => text).join("\n")}\n${repeatLine(report.combination)}`);
  };

  it.each(alone?.split(";") ?? [])("%s", tryOne);

  it.each(alone ? [] : Object.entries(found))("what was found before does not come back: %s", (_, line) =>
    tryOne(line),
  );

  it.skipIf(alone)(
    `as much of it as there is time for, by seed ${seed} [invariant 4]`,
    { timeout: seconds * 2000 + 600_000 },
    async () => {
      const next = (seconds > 0 ? pairsFirst : generator)(randomFrom(seed));
      const search = new Search();
      const began = Date.now();
      let left = count;
      const nextInTime = (): Combination | undefined =>
        (seconds > 0 ? Date.now() < began + seconds * 1000 : (left -= 1) >= 0) ? next() : undefined;
      await search.run(products, nextInTime);
      console.log(search.report((Date.now() - began) / 1000, `by ${workers} workers, seed ${seed}`));
      if (search.findings.length > 0)
        expect.fail(
          `${search.failed} of ${search.runs} combinations failed; each kind and how to repeat it is printed above`,
        );
    },
  );

  it.skipIf(alone)("the ring of tickets went round meanwhile [#84]", () => {
    expect(products.reduce((sum, { emptied }) => sum + emptied, 0)).toBeGreaterThan(0);
  });
});
