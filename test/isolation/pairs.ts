import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { useDatabase } from "../support/database.js";
import { type Ending, PairRunner } from "./runner.js";
import { type Verb, verbs } from "./verbs.js";

/**
 * Every verb against every other, itself included. One test file per ending, so that the two run side by side. A fifth of all pairs meet once with a commit, in
 * one order, and a sixteenth with a rollback, in the other; with ALL_PAIRS set (`npm run simulate`), all in both orders with both.
 */
export function describePairs(ending: Ending): void {
  const runner = new PairRunner(useDatabase());
  const waits = new Map<string, string[]>();
  let pairs = 0;
  let childrenEmptied = 0;

  beforeAll(() => runner.open());
  afterAll(() => {
    const lines = [...waits].map(([first, seconds]) => `${first}: ${seconds.join(", ")}`);
    console.log(`${pairs} pairs ending with ${ending}, ${childrenEmptied} ring children emptied. Who waited for whom:\n${lines.join("\n")}`);
  });

  describe(`two sessions meet, the first ends with ${ending} [#101] [#167] [invariant 1] [invariant 3]`, () => {
    describe.each(verbs)("$name is open", (first) => {
      it.each(verbs.filter((second) => meets(first, second, ending)))("when $name comes", async (second) => {
        const { waited, faults, ...results } = await runner.run(first, second, ending);
        pairs += 1;
        childrenEmptied += [results.first, results.second].filter((result) => (result as { emptied?: number } | undefined)?.emptied === 1).length;
        if (waited) waits.set(first.name, [...(waits.get(first.name) ?? []), second.name]);
        if (faults.length > 0) expect.fail(faults.join("\n"));
        if (second.name === "enqueue" && !first.locksTables) expect(waited, "an enqueue waits for nobody [invariant 4]").toBe(false);
      });
    });

    it("the ring of tickets went round meanwhile [#84]", () => {
      expect(childrenEmptied).toBeGreaterThan(0);
    });
  });
}

function meets(first: Verb, second: Verb, ending: Ending): boolean {
  if (process.env["ALL_PAIRS"] !== undefined || first === second) return true;
  const [i, j] = [verbs.indexOf(first), verbs.indexOf(second)];
  const isTurned = ((i + j) % 2 === 0) === i < j;
  return ending === "commit" ? isTurned && (i + j) % 10 < 2 : !isTurned && (i + j) % 32 < 2;
}
