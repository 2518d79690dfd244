import pg from "pg";
import { expect, it, onTestFinished } from "vitest";
import { attack } from "../../chaos/attack/attack.js";
import type { Target } from "../../chaos/attack/run.js";
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
    for (const door of ["sql", "library", "api", "sqs"] as const) {
      expect(tallies.get(door)?.accepted, door).toBeGreaterThan(5);
      expect(tallies.get(door)?.refused, door).toBeGreaterThan(5);
    }
    expect(await db.sql("select * from counts_audit()")).toEqual([]);
  },
  (seconds + 300) * 1000,
);
