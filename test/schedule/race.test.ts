import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { Engine } from "../../src/db/engine.js";
import { planFire } from "../../src/schedule/plan.js";
import { useMill } from "../support/mill.js";

const test = useMill();

/** A small generator of numbers, so that a failure can be seen again. */
function random(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 1_103_515_245 + 12_345) % 2_147_483_648) / 2_147_483_648;
}

it("five schedulers that race, freeze and die make each of 10,000 slots exactly once [#59 #90]", async () => {
  const queue = await test.queue();
  const schedules = 50;
  const slots = 200;
  for (let i = 0; i < schedules; i += 1) {
    await test.mill.schedule(`race-${i}`, { every: "10s" }, "t", null, {
      queue,
      overlap: "allow",
      missed: { all: 10_000 },
      maxRuns: slots,
      keepRuns: 10_000,
    });
  }
  const left = async (): Promise<number> => {
    const [row] = await test.db.sql(
      "select count(*)::int as n from schedule where name like 'race-%' and finished_at is null",
    );
    return row!["n"] as number;
  };
  const seed = Date.now() % 1_000_000;
  let fired = 0;
  let refused = 0;
  let deaths = 0;
  /**
   * One that asks what is due, sometimes freezes for longer than its duty lasts, and sometimes dies before it has made
   * anything.
   */
  const racer = async (n: number): Promise<void> => {
    const chance = random(seed + n);
    for (let holder = `racer-${n}`; (await left()) > 0;) {
      const engine = new Engine({ pool: test.db.pool });
      const { due = [], nowMs = 0 } = await engine.schedules.due(holder, 0.1, 20);
      if (due.length === 0) {
        await sleep(2);
        continue;
      }
      const fate = chance();
      if (fate < 0.2) {
        deaths += 1;
        holder = `racer-${n}-${deaths}`;
        continue;
      }
      if (fate < 0.5) await sleep(110 + chance() * 100); // another has the duty meanwhile, and makes the same
      const made = await engine.schedules.fire(due.map((one) => planFire(one, nowMs)));
      fired += made;
      refused += due.length - made;
    }
  };
  /** The clock goes on, in steps that leave one slot or several. */
  const clock = async (): Promise<void> => {
    for (const chance = random(seed); (await left()) > 0;) {
      await test.db.moveClock(chance() < 0.1 ? 200 : 10);
      await sleep(20);
    }
  };
  await Promise.all([clock(), ...Array.from({ length: 5 }, (_, n) => racer(n))]);

  const counts = await test.db.sql(
    "select schedule, count(*)::int as jobs, count(distinct schedule_slot)::int as slots, max(schedule_slot) - min(schedule_slot) as span from jobs where queue = $1 group by 1",
    [queue],
  );
  expect(counts, `seed ${seed}`).toHaveLength(schedules);
  for (const row of counts) {
    expect(row, `seed ${seed}`).toMatchObject({ jobs: slots, slots });
    // 199 steps of ten seconds: none was left out
    expect(row["span"], `seed ${seed}`).toMatchObject({ minutes: 33, seconds: 10 });
  }
  expect(refused, `seed ${seed}`).toBeGreaterThan(0); // they did race
  expect(deaths).toBeGreaterThan(0);
  expect(fired).toBeGreaterThan(schedules);
}, 120_000);
