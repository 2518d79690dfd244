import { describe, expect, it } from "vitest";
import type { Release } from "../../src/db/schema-version.js";
import { useDatabase } from "../support/database.js";
import { type MovesOptions, simulateMoves } from "./moves.js";
import { smallRing, withText } from "./simulation.js";

const a = useDatabase({ migrate: false });
const b = useDatabase({ migrate: false });
const seconds = Number(process.env["SIMULATION_SECONDS"] ?? 3);
const seed = Number(process.env["SIMULATION_SEED"] ?? Date.now() % 1_000_000);
const all = process.env["ALL_PAIRS"] !== undefined;

const urls = (): MovesOptions["urls"] => ({ a: a.url, b: b.url });

it(
  `queues that move there and back lose nothing, and keep order, limits and fingerprints (seed ${seed}) [#236] [#237]`,
  { timeout: seconds * 10_000 + 120_000 },
  async () => {
    const result = await simulateMoves({ urls: urls(), seed, seconds, untilCovered: true });
    console.log(`moves, seed ${seed}:`, JSON.stringify(result));
    expect(result.violations).toEqual([]);
    expect(result.jobs).toBeGreaterThan(100);
    expect(result.moves).toBeGreaterThanOrEqual(8);
  },
);

/** Bugs put in, each of which must be found. */
describe("the simulation of moves finds bugs", () => {
  const mutants: Record<string, { readonly sql: readonly [string, string]; readonly found: RegExp }> = {
    "the new cell hands out before the old one has ended": {
      sql: ["if p_hold then", "if false then"],
      found: /out of order|are held of/,
    },
    "a move has ended while jobs are left in the old cell": {
      sql: ["date_part('epoch', clock_now() - q.finished_at)", "1.0::float8"],
      found: /out of order|are held of|still moves/,
    },
    "the new cell does not ask the old one for a fingerprint": {
      sql: [
        "if v_names <> '{}' then\n    perform raise_error('MR031'",
        "if false then\n    perform raise_error('MR031'",
      ],
      found: /lives twice/,
    },
    "a fingerprint is given up while its job lives": {
      sql: ["f.job_id > 0 and (not job_over(f.job_id)", "f.job_id > 0 and (false"],
      found: /lives twice/,
    },
    "the new cell takes jobs before the queue has left the old one": {
      sql: [
        "if m.is_leaving is distinct from false then\n    perform queue_event_add(p_queue, 'arriving'",
        "update queue set closed_at = null, closed_by = null, closed_because = null where id = q.id;\n  if m.is_leaving is distinct from false then\n    perform queue_event_add(p_queue, 'arriving'",
      ],
      found: /out of order|are held of|MR032/,
    },
  };
  for (const [name, { sql, found }] of Object.entries(mutants)) {
    // they take minutes: with all the rest of `npm run simulate`
    it.skipIf(!all)(name, { timeout: 240_000 }, async () => {
      const release: Release = withText(smallRing(), (text) => text.replace(...sql));
      for (let round = 1; round <= 4; round += 1) {
        const { violations } = await simulateMoves({
          urls: urls(),
          seed: 1000 + round,
          seconds: 8,
          release,
          stopAtFirst: true,
          kill: false,
        });
        if (violations.length === 0) continue;
        console.log(`round ${round}: ${violations[0]}`);
        expect(violations).toContainEqual(expect.stringMatching(found));
        return;
      }
      expect.unreachable("four rounds found nothing");
    });
  }
});
