import type { Scenario } from "../scenario.js";
import type { Surroundings } from "../processes.js";
import type { World } from "../world.js";

/** A delayed job may start so long after its time, on a busy machine. Wrong clocks are wrong by hours. */
const latestSeconds = 10;

/** No time but the database's counts: not for delays, nor for leases, nor for how long a job may wait or run. */
export const skewedClocks: Scenario = {
  name: "clocks and time zones of processes wrong by hours",
  async run(world) {
    const places = [skewed("Pacific/Kiritimati", 5), skewed("America/St_Johns", -7), skewed("Asia/Kathmandu", 26)];
    const workers = places.map((place) => world.worker({ concurrency: 80, lease: "5s" }, {}, place));
    await world.until("workers are ready", () => workers.every((worker) => worker.of("ready").length > 0));
    const options = { ttl: "60s", attemptTimeout: "20s" };
    const producers = places.flatMap((place) => [
      world.producer({ jobs: 500, perSecond: 50, options }, place),
      world.producer({ jobs: 120, perSecond: 15, options: { ...options, delay: "3s" } }, place),
      // Longer than two leases; as few in a long run, so that they take a fraction of the slots and nothing waits until
      // it expires.
      world.producer({ jobs: 6 / world.many(1), perSecond: 2, input: { sleepMs: 11_000 }, options }, place),
    ]);
    for (const producer of producers) await producer.exit;
    await world.drained();
    await expectDelays(world, 3 * world.many(120));
    const told = workers.flatMap((worker) => [...worker.of("lost"), ...worker.of("refused"), ...worker.of("error")]);
    if (told.length > 0) throw new Error(`a worker was told of ${JSON.stringify(told[0])}`);
  },
  isGood: ({ lost, twice, repeated, jobs }) => lost === 0 && twice === 0 && repeated === 0 && jobs > 0,
};

/** In another time zone, and with a clock that is wrong by so many hours. */
export function skewed(zone: string, hours: number): Surroundings {
  const code = `const now = Date.now;
    Date.now = () => now() + ${hours * 3_600_000};
    globalThis.Date = new Proxy(Date, {
      construct: (target, given) => given.length > 0 ? new target(...given) : new target(target.now()),
      apply: (target) => new target(target.now()).toString(),
    });`;
  return { env: { TZ: zone, NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(code)}` } };
}

/** None before its time by the database's clock, and none long after it. */
async function expectDelays(world: World, least: number): Promise<void> {
  const [expired] = await world.sql<{ n: number }>(
    "select count(*)::int as n from millrace.jobs where state = 'expired'",
  );
  if (expired!.n > 0) throw new Error(`${expired!.n} jobs expired, although they had a minute`);
  const [row] = await world.sql<{ n: number; early: number; late: number; odd: number }>(
    `select count(*)::int as n, coalesce(-min(wait), 0)::float8 as early, coalesce(max(wait), 0)::float8 as late,
            coalesce(max(abs(delay - 3)), 0)::float8 as odd
       from (select extract(epoch from e.at - j.run_at) as wait, extract(epoch from j.run_at - j.created_at) as delay
               from millrace.jobs j join chaos.effect e on e.job = j.id where j.run_at > j.created_at + interval '1 second') x`,
  );
  if (!row || row.n < least) throw new Error(`only ${row?.n} of ${least} jobs were delayed`);
  if (row.odd > 0.5) throw new Error(`a job was delayed by something else than 3 s: ${row.odd} s more or less`);
  if (row.early > 0) throw new Error(`a delayed job started ${row.early} s before its time`);
  if (row.late > latestSeconds)
    throw new Error(`a delayed job started ${row.late} s after its time: ${JSON.stringify(await factsOfLate(world))}`);
  world.remarks.push(`${row.n} delayed jobs, none early, at most ${row.late.toFixed(2)} s late`);
}

/** When jobs were late, by five seconds of their time, delayed and others; and who ran the latest. */
function factsOfLate(world: World): Promise<object[]> {
  return world.sql(
    `select to_timestamp(floor(extract(epoch from j.run_at) / 5) * 5)::text as due, j.run_at > j.created_at + interval '1 second' as delayed, count(*)::int as jobs,
            round(max(extract(epoch from e.at - j.run_at))::numeric, 1)::float8 as latest, round(max(extract(epoch from a.started_at - j.run_at))::numeric, 1)::float8 as claimed,
            (array_agg(a.worker order by e.at - j.run_at desc))[1] as worker
       from millrace.jobs j join chaos.effect e on e.job = j.id left join millrace.attempts a on a.job_id = j.id and a.attempt = 1
      group by 1, 2 having max(e.at - j.run_at) > interval '2 seconds' order by 1, 2`,
  );
}
