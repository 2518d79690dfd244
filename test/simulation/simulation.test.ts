import { describe, expect, it } from "vitest";
import { useDatabase } from "../support/database.js";
import { simulate, smallRing, withText } from "./simulation.js";

const db = useDatabase({ migrate: false });
const seconds = Number(process.env["SIMULATION_SECONDS"] ?? 2);
const seed = Number(process.env["SIMULATION_SEED"] ?? Date.now() % 1_000_000);

const all = process.env["ALL_PAIRS"] !== undefined;

/** Few ordinary producers, so that the overlapping transactions have the machine for themselves. */
const overlapOnly = {
  largestClaim: 2,
  late: { probability: 0.2, ms: 120, jobs: 20 },
  producers: 2,
  paceMs: 100,
  kill: false,
  stopAtFirst: true,
};

/** Seen at once, so a round may be long. */
const handedOutTwice = {
  seconds: 8,
  message: /handed out twice|in two live claims|duplicate key value violates unique constraint "(attempt|streak)/,
};

/** Seen only when all has been drained, so a round is short. */
const lost = { seconds: 2, message: /ended 0 times|is still ready/ };

describe(`seeded simulation (seed ${seed})`, () => {
  for (const [name, largestClaim, paceMs, groups, setAside, costs = false] of [
    ["small", 4, 200, 0, false],
    ["large", 50, 20, 0, false],
    ["small", 4, 200, 0, true],
    ["large", 50, 20, 0, true],
    ["small", 4, 200, 3, false],
    ["large", 50, 20, 100, false],
    ["small", 4, 200, 3, false, true],
    ["large", 50, 20, 100, false, true],
  ] as const) {
    // one of each is run here, the others are left to `npm run simulate`
    it.skipIf(!all && !(largestClaim > 4 ? groups > 0 !== setAside && !costs : costs))(
      `loses nothing and hands out nothing twice, ${name} claims, ${groups} groups${costs ? " with costs" : ""}${setAside ? ", backlogs set aside" : ""} [#23] [#84] [#88] [#101] [#167]`,
      { timeout: seconds * 1000 + 120_000 },
      async () => {
        const result = await simulate({
          url: db.url,
          seed,
          seconds,
          largestClaim,
          late: { probability: 0.2, ms: 400, jobs: 60 },
          producers: 12,
          paceMs,
          groups,
          costs,
          setAside,
          untilCovered: true,
        });
        console.log(`simulation seed ${seed}, claims up to ${largestClaim}, ${groups} groups:`, JSON.stringify(result));
        expect(result.violations).toEqual([]);
        expect(result.jobs).toBeGreaterThan(100);
        expect(result.ticketChildrenEmptied).toBeGreaterThan(0);
        expect(result.compactions).toBeGreaterThan(0);
        if (setAside) expect(result.asides).toBeGreaterThan(10);
        expect(result.halfTaken).toBeGreaterThan(0);
      },
    );
  }
});

/**
 * Bugs put back in, among them both of the first prototypes: the simulation must find them, most often in its first
 * round.
 */
describe("the simulation finds bugs", () => {
  const mutants: Record<string, readonly [string, string, typeof lost, number?, boolean?]> = {
    "the position of a half-taken late transaction is lost when another is half-taken": [
      "else (l.xid, l.ticket, l.skip)::late_place end\n          from unnest(c.late)",
      "else (l.xid, 0, l.skip)::late_place end\n          from unnest(c.late)",
      handedOutTwice,
    ],
    "a late transaction that ended at a batch boundary stays in the list": [
      "where not (r.late_done[l.ordinality]\n",
      "where not (false\n",
      handedOutTwice,
    ],
    "running transactions are forgotten": ["x >= c.head_xid and x < n.head_xid", "false", lost],
    "running transactions are forgotten, in a group": ["x >= c.head_xid and x < t.head[2]", "false", lost, 1],
    "a half-taken late transaction loses its position, in a group": [
      "coalesce(p.ticket, l.ticket) as ticket",
      "l.ticket as ticket",
      handedOutTwice,
      1,
    ],
    "a late transaction that is half taken is forgotten, in a group": ["or l.xid = any (t.open_xids)", "", lost, 1],
    "whoever runs while a backlog is set aside is forgotten": [
      "from unnest(v_running) x order by x),",
      "from unnest(v_running) x where false order by x),",
      lost,
      0,
      true,
    ],
    "a late transaction that a backlog being set aside has half taken is forgotten": [
      "where xid_seen(l.xid, v_seen) order by l.ordinality)",
      "where false order by l.ordinality)",
      lost,
      0,
      true,
    ],
    "what came into a range after it was set aside is part of it": [
      "and (p_seen is null or xid_seen(k.xid, p_seen))",
      "",
      handedOutTwice,
      0,
      true,
    ],
  };
  for (const [name, [from, to, finding, groups = 0, setAside = false]] of Object.entries(mutants)) {
    // one of each kind here, the others with all the rest of `npm run simulate`
    it.skipIf(
      ((groups > 0 && finding === lost) ||
        (setAside && finding === handedOutTwice) ||
        name.includes("has half taken")) &&
        !all,
    )(name, { timeout: 240_000 }, async () => {
      const release = withText(smallRing(), (text) => text.replace(from, to));
      for (let round = 1; round <= 4; round += 1) {
        const { violations } = await simulate({
          url: db.url,
          seed: 1000 + round,
          seconds: finding.seconds,
          release,
          ...overlapOnly,
          groups,
          setAside,
        });
        if (violations.length === 0) continue;
        console.log(`round ${round}: ${violations[0]}`);
        expect(violations).toContainEqual(expect.stringMatching(finding.message));
        return;
      }
      expect.unreachable("four rounds found nothing");
    });
  }
});
