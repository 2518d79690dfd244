import { Millrace } from "millrace";
import { attack } from "../attack/attack.js";
import type { Target } from "../attack/run.js";
import { serve, tokens } from "../attack/served.js";
import { Victim, type Watched } from "../attack/victim.js";
import { moveClock, useMovableClock } from "../clock.js";
import type { Scenario } from "../scenario.js";
import type { World } from "../world.js";

const attackers = 2;
/** What the victim does alone is measured for so long. */
const quietMs = 5000;

/**
 * Any JSON and any option through each door, by several at once, beside a queue whose jobs must all go through.
 * ATTACK_SEED repeats, ATTACK_SECONDS prolongs.
 */
export const attackByChance: Scenario = {
  name: "attack by chance through every door, beside a victim",
  isCrowded: true,
  async run(world) {
    const seed = Number(process.env["ATTACK_SEED"] ?? Date.now() % 1_000_000);
    const seconds = Number(process.env["ATTACK_SECONDS"] ?? (world.isLong ? 600 : 60));
    world.remarks.push(`ATTACK_SEED=${seed}`);
    await useMovableClock(world);
    const target = await openTarget(world);
    const victim = new Victim(world.url);
    world.onClose(() => victim.stop());
    await victim.start();
    await new Promise((resolve) => setTimeout(resolve, quietMs));
    const alone = victim.look();
    const tallies = await Promise.all(
      Array.from({ length: attackers }, (_, i) => attack(target, victim, { seed: seed + i * 1_000_000, seconds })),
    );
    const attacked = victim.look();
    const calls = tallies
      .flatMap((each) => [...each.values()])
      .reduce((sum, { accepted, refused }) => sum + accepted + refused, 0);
    world.remarks.push(
      `${calls.toLocaleString("en")} calls; the victim did ${perSecond(attacked)} jobs/s instead of ${perSecond(alone)}, ${(rate(attacked) / rate(alone)).toFixed(2)} of it, longest round ${Math.round(attacked.longestMs)} ms`,
    );
  },
  // The attacked jobs end in every way, some of them again and again; the victim has looked after its own.
  isGood: () => true,
};

const rate = ({ jobs, seconds }: Watched): number => jobs / seconds;
const perSecond = (watched: Watched): string => rate(watched).toFixed(0);

async function openTarget(world: World): Promise<Target> {
  const complaints: string[] = [];
  const [api, sqs] = [await serve(world.url, complaints, false), await serve(world.url, complaints, true)];
  const mill = new Millrace({ connection: { connectionString: world.url, max: 8 } });
  world.onClose(async () => {
    await mill.close();
    await Promise.all([api.stop(), sqs.stop()]);
  });
  return {
    pool: world.pool,
    engine: mill.engine,
    mill,
    apiUrl: api.url,
    tokens,
    sqsUrl: sqs.url,
    complaints,
    moveClock: (seconds) => moveClock(world, seconds),
  };
}
