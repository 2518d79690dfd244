import fc from "fast-check";
import pg from "pg";
import { expect, it, onTestFinished } from "vitest";
import { attack } from "../../chaos/attack/attack.js";
import { callCli, cliAttack } from "../../chaos/attack/cli-door.js";
import type { Tally, Target } from "../../chaos/attack/run.js";
import { Victim } from "../../chaos/attack/victim.js";
import { useServer } from "../server/api/server.js";

const complaints: string[] = [];
const server = useServer({
  sqs: { anyKey: true, refuseRecentNames: false },
  log: (level, message, facts) => void (level === "error" && complaints.push(`${message} ${JSON.stringify(facts)}`)),
});

const seed = Number(process.env["ATTACK_SEED"] ?? Date.now() % 1_000_000);
const seconds = Number(process.env["ATTACK_SECONDS"] ?? 12);
const runs = Number(process.env["ATTACK_RUNS"] ?? Infinity);

it(
  `whatever is sent through any door, the queue beside it goes on, and nothing but the sender's call is refused (ATTACK_SEED=${seed})`,
  async () => {
    const { db, url, tokens, running } = server;
    const pool = new pg.Pool({ connectionString: db.url, max: 4 });
    const victim = new Victim(db.url);
    onTestFinished(async () => {
      await victim.stop();
      await pool.end();
    });
    await db.moveClock(0);
    await victim.start();
    const target: Target = {
      pool,
      engine: running.mill.engine,
      mill: running.mill,
      apiUrl: url,
      sqsUrl: url,
      tokens,
      complaints,
      moveClock: (by) => db.moveClock(by),
    };
    const tallies = await attack(target, victim, { seed, runs, seconds });
    console.log(`ATTACK_SEED=${seed}`, Object.fromEntries(tallies));
    // An attack that is refused at the door every time tells nothing, and neither does one that never is.
    const total = (what: keyof Tally): number =>
      (["sql", "library", "api"] as const).reduce((sum, door) => sum + (tallies.get(door)?.[what] ?? 0), 0);
    expect(total("accepted")).toBeGreaterThan(5);
    expect(total("refused")).toBeGreaterThan(5);
    expect(await db.sql("select * from counts_audit()")).toEqual([]);
  },
  (seconds + 300) * 1000,
);

it(`whatever is written on the command line, it ends with words (ATTACK_SEED=${seed})`, async () => {
  await fc.assert(
    fc.asyncProperty(cliAttack, (values) => callCli(server.db.url, values)),
    { seed, numRuns: Math.min(runs, Math.ceil(seconds / 4)), includeErrorInReport: true },
  );
}, 300_000);
