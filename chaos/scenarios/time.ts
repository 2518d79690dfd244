import { setTimeout as sleep } from "node:timers/promises";
import { Millrace } from "millrace";
import { daySeconds, moveClock, useMovableClock } from "../clock.js";
import type { Scenario } from "../scenario.js";
import { judge } from "../verdict.js";
import type { World } from "../world.js";

const days = 60;
/** How long succeeded jobs are kept by default. They go with their whole day, so up to one day later. */
const keptDays = 7;

/** The log of jobs is a ring of 32 days: without maintenance it comes round onto what is still there. */
export const maintenanceStopped: Scenario = {
  name: "maintenance stopped for 60 days, then started again",
  async run(world) {
    await useMovableClock(world);
    await using mill = new Millrace({ connection: world.url });
    await mill.engine.queuePut("later");
    for (let n = 0; n < 2; n += 1) world.worker({ maintenance: false });

    const portions: string[][] = [];
    const open: string[] = [];
    for (let today = 0; today < days; today += 1) {
      open.push(...(await leaveOpen(mill, today)));
      portions.push(await runDay(world, mill, today));
      await moveClock(world, daySeconds);
    }
    await expectNothingLost(world, portions.flat());

    world.worker({ queues: ["default", "later"] });
    const producer = world.producer({ jobs: 600 });
    const emptied = await maintainUntilDone(world);
    const gone = await expectRetention(world, portions);
    await producer.exit;
    for (const id of open) world.acknowledged.add(id);
    await world.until("only those not due are left", async () =>
      (await statesOf(world)).every((state) => state === "delayed" || state === "succeeded"),
    );
    await moveClock(world, 3.5 * daySeconds);
    await world.drained();
    world.remarks.push(
      `${portions.flat().length} jobs in ${days} days and ${open.length} open all the time; then ${emptied} times a day emptied, ${gone} jobs gone`,
    );
  },
};

/** Jobs nobody works on yet, and jobs due on the 63rd day. */
async function leaveOpen(mill: Millrace, today: number): Promise<string[]> {
  const untouched = await mill.enqueueMany("exact", [null, null, null], { queue: "later" });
  const delayed = await mill.enqueueMany("exact", [null, null], { delay: `${63 - today}d` });
  return [...untouched, ...delayed].map(({ id }) => id);
}

/** A day's jobs, some of them due 20 days later. Over when those of this day have ended. */
async function runDay(world: World, mill: Millrace, today: number): Promise<string[]> {
  const inputs = Array.from({ length: world.many(20) }, () => null);
  const [plain, exact] = [await mill.enqueueMany("plain", inputs), await mill.enqueueMany("exact", inputs)];
  const delayed = today < days - 21 ? await mill.enqueueMany("exact", [null, null], { delay: "20d" }) : [];
  const ids = [...plain, ...exact].map(({ id }) => id);
  await world.until("the day's jobs have run", async () =>
    (await statesOf(world, ids)).every((state) => state === "succeeded"),
  );
  return [...ids, ...delayed.map(({ id }) => id)];
}

/** Before anything is removed, all that was due has succeeded, and is there. */
async function expectNothingLost(world: World, ids: readonly string[]): Promise<void> {
  await world
    .until(
      "what was due has run",
      async () => (await statesOf(world, ids)).every((state) => state === "succeeded"),
      10_000,
    )
    .catch(() => {});
  for (const id of ids) world.acknowledged.add(id);
  const { lost, twice } = await judge(world);
  world.acknowledged.clear();
  if (lost + twice > 0) throw new Error(`without maintenance ${lost} jobs were lost and ${twice} completed twice`);
}

/** Upkeep until three rounds in a row find nothing to empty. Returns how often a day was emptied. */
async function maintainUntilDone(world: World): Promise<number> {
  let emptied = 0;
  for (let idle = 0; idle < 3; await sleep(100)) {
    await world.engine.maintain();
    const { jobChildren } = await world.engine.maintainSpace();
    emptied += jobChildren;
    idle = jobChildren === 0 ? idle + 1 : 0;
  }
  return emptied;
}

/** What finished within the retention is there, what finished a day before it is not. Returns how many are gone. */
async function expectRetention(world: World, portions: readonly (readonly string[])[]): Promise<number> {
  const there = new Set((await world.sql<{ id: string }>("select id from millrace.jobs")).map(({ id }) => id));
  let gone = 0;
  for (const [day, ids] of portions.entries()) {
    const today = ids.slice(0, world.many(40)); // the rest finished 20 days later
    const missing = today.filter((id) => !there.has(id)).length;
    gone += ids.filter((id) => !there.has(id)).length;
    const age = days - day;
    if (age < keptDays && missing > 0) throw new Error(`${missing} jobs that finished ${age} days ago are gone`);
    if (age > keptDays + 1 && missing < today.length)
      throw new Error(`${today.length - missing} jobs that finished ${age} days ago were not removed`);
  }
  return gone;
}

async function statesOf(world: World, ids?: readonly string[]): Promise<string[]> {
  const rows = await world.sql<{ state: string }>(
    ids
      ? "select coalesce(j.state, 'gone') as state from unnest($1::bigint[]) id left join millrace.jobs j using (id)"
      : "select distinct state from millrace.jobs where $1::bigint[] is null",
    [ids ?? null],
  );
  return rows.map(({ state }) => state);
}
