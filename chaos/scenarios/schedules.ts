import type { Child } from "../processes.js";
import type { Scenario } from "../scenario.js";
import { skewed } from "./clocks.js";
import { killAtRandom } from "./limits.js";

const schedules = 20;
/** A process that dies keeps the duty for ten seconds; the next looks every five. */
const latestSeconds = 20;

/** Every slot is made once, and none is left out, while the processes that make them die, and no two clocks agree. */
export const schedulesUnderAttack: Scenario = {
  name: "schedules, with schedulers that die and clocks that are wrong",
  async run(world) {
    const producer = world.producer({ jobs: 500, perSecond: 50 });
    for (let i = 0; i < schedules; i += 1) {
      const options = { overlap: "allow", missed: { all: 10_000 }, keepRuns: 10_000 } as const;
      await world.engine.schedules.put(`beat-${i}`, { rule: { every: 1000 }, job: { type: "plain" }, options });
    }
    const places = [
      skewed("Pacific/Kiritimati", 5),
      skewed("America/St_Johns", -7),
      skewed("Asia/Kathmandu", 26),
      undefined,
    ];
    let started = 0;
    const start = (): Child => world.worker({ concurrency: 10 }, {}, places[(started += 1) % places.length]);
    await killAtRandom(world, [start(), start(), start(), start(), start()], world.isLong ? 240_000 : 25_000, start);
    const [end] = await world.sqlInTheEnd<{ at: string }>("select clock_timestamp()::text as at");
    await world.until("the slots until now are made", async () => {
      const [row] = await world.sqlInTheEnd<{ left: boolean }>(
        "select exists (select from millrace.schedules where next_slot is null or next_slot <= $1) as left",
        [end?.at],
      );
      return row?.left === false;
    });
    for (let i = 0; i < schedules; i += 1) await world.engine.schedules.pause(`beat-${i}`);
    await producer.exit;
    await world.drained();
    const [row] = await world.sql<{ runs: number; wrong: number; latest: number }>(
      `select sum(x.jobs)::int as runs, count(*) filter (where x.jobs <> x.slots or x.jobs <> x.steps + 1)::int as wrong, max(x.latest)::float8 as latest
         from (select schedule, count(*) as jobs, count(distinct schedule_slot) as slots, extract(epoch from max(schedule_slot) - min(schedule_slot)) as steps,
                      extract(epoch from max(created_at - schedule_slot)) as latest
                 from millrace.jobs where schedule like 'beat-%' group by schedule) x`,
    );
    if (row?.wrong !== 0 || row.runs < schedules)
      throw new Error(`of ${row?.runs} runs, those of ${row?.wrong} schedules are not one for each slot`);
    if (row.latest > latestSeconds) throw new Error(`a slot was made ${row.latest} s late`);
    world.remarks.push(`${row.runs} slots, each once, at most ${row.latest.toFixed(1)} s late`);
  },
};
