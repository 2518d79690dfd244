// What 100,000 schedules cost: `npm run bench:schedules`. All due in the same minute, beside a worker that drains
// another queue; and none due.
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { defineJob } from "../../src/job/define-job.js";
import { Millrace } from "../../src/client/with-workers.js";
import { migrate } from "../../src/db/migrate.js";
import { startEmbeddedServer } from "../../src/embedded/server.js";
import { Scheduler } from "../../src/schedule/scheduler.js";
import { payloads } from "../engine/measure.js";

const quick = process.argv.includes("--quick");
const json = process.argv.includes("--json");
const count = quick ? 10_000 : 100_000;
const beside = quick ? 2_000_000 : 3_000_000;

const server = await startEmbeddedServer({
  settings: { shared_buffers: "2GB", max_wal_size: "16GB", checkpoint_timeout: "1h", max_connections: "100" },
});
const pool = new pg.Pool({ connectionString: server.url, max: 20 });
const results: Record<string, number> = {};

try {
  await migrate(pool);
  const mill = new Millrace({ connection: pool });
  await mill.queues.put("scheduled");
  await mill.queues.put("beside");

  // Declared all at once for one minute of each hour, then their first slots are computed. Thirty rules, so that not
  // every one is the same.
  const slot = new Date(Math.ceil((await now()) / 60_000 + (quick ? 0.7 : 3)) * 60_000);
  await timed("seconds to declare", "declare", async () => {
    for (let from = 1; from <= count; from += 1000)
      await pool.query(
        `select millrace.schedule_put('tenant-' || i, jsonb_build_object('cron', $2::text, 'tz', (array['UTC', 'Europe/Berlin', 'America/New_York'])[1 + i % 3], 'jitter', i % 10),
              '{"type": "report", "queue": "scheduled"}', json_build_object('tenant', i)) from generate_series($1::int, $1 + 999) i`,
        [from, `${slot.getUTCMinutes()} * * * *`],
      );
  });
  await pool.query("vacuum analyze");
  const scheduler = new Scheduler({ engine: mill.engine, onError: (error) => console.error(error) });
  await timed("seconds to compute their first slots", "compute", async () => {
    while ((await scheduler.look()) === 0);
  });

  // Nothing due.
  const before = await cpuSeconds();
  const looks = 20;
  const startedAt = performance.now();
  for (let i = 0; i < looks; i += 1) await scheduler.look();
  report("ms for a look when none is due", "idle_look_ms", (performance.now() - startedAt) / looks);
  report(
    "ms of the server's CPU for a look when none is due",
    "idle_cpu_ms",
    (((await cpuSeconds()) - before) / looks) * 1000,
  );

  // All due in one minute, while a worker drains another queue.
  for (let done = 0; done < beside; done += 1000)
    await mill.engine.enqueueMany("noop", payloads(1000), { queue: "beside" });
  let ran = 0;
  const worker = mill
    .worker({ queues: ["beside"], concurrency: 50, schedules: false })
    .handle(defineJob("noop"), () => void (ran += 1));
  const untilSlot = slot.getTime() - (await now());
  if (untilSlot < 8000) throw new Error("the machine is too slow for this: the slot has come");
  await sleep(untilSlot - 8000);
  await worker.start();
  await sleep(1000);
  const rateWithout = await rateOver(5000);
  scheduler.start();
  await sleep(slot.getTime() - (await now()));
  const ranBefore = ran;
  const since = performance.now();
  for (;;) {
    const { rows } = await pool.query<{ n: number }>(
      "select count(*)::int as n from millrace.schedule_runs where slot_at = $1",
      [slot],
    );
    if (rows[0]!.n >= count) break;
    await sleep(200);
  }
  const seconds = (performance.now() - since) / 1000;
  const rateDuring = (ran - ranBefore) / seconds;
  await scheduler.stop();
  report(`seconds until all ${count.toLocaleString("en")} jobs were made`, "all_made_seconds", seconds);
  report("jobs made per second", "made_per_second", count / seconds);
  report("jobs/s of the worker beside it, before", "beside_before", rateWithout);
  report("jobs/s of the worker beside it, meanwhile", "beside_during", rateDuring);
  report("which is of the rate before", "beside_ratio", rateDuring / rateWithout);
  const { rows } = await pool.query<{ jobs: number; slots: number }>(
    "select count(*)::int as jobs, count(distinct schedule)::int as slots from millrace.schedule_runs where slot_at = $1",
    [slot],
  );
  if (rows[0]!.jobs !== count || rows[0]!.slots !== count)
    throw new Error(`made ${rows[0]!.jobs} runs of ${rows[0]!.slots} schedules`);
  await worker.stop();
  await mill.close();

  async function rateOver(ms: number): Promise<number> {
    const from = ran;
    await sleep(ms);
    return ((ran - from) / ms) * 1000;
  }

  async function now(): Promise<number> {
    return (await mill.engine.schedules.now()).getTime();
  }
} finally {
  await pool.end();
  await server.stop();
}
if (json) console.log(JSON.stringify(results));

/** CPU used by the server's processes so far. */
async function cpuSeconds(): Promise<number> {
  const { readFile } = await import("node:fs/promises");
  const { rows } = await pool.query<{ pid: number }>("select pid from pg_stat_activity");
  let ticks = 0;
  for (const { pid } of rows) {
    const fields = (await readFile(`/proc/${pid}/stat`, "utf8")).replace(/^.*\) /, "").split(" ");
    ticks += Number(fields[11]) + Number(fields[12]);
  }
  return ticks / 100;
}

async function timed(what: string, key: string, work: () => Promise<unknown>): Promise<void> {
  const startedAt = performance.now();
  await work();
  report(`${what} (${count.toLocaleString("en")})`, key, (performance.now() - startedAt) / 1000);
}

function report(what: string, key: string, value: number): void {
  results[key] = value;
  console.log(`${value.toLocaleString("en", { maximumFractionDigits: 2 }).padStart(12)}  ${what}`);
}
