import { it } from "vitest";
import { useDatabase } from "../support/database.js";
import { maintenanceWait } from "../support/steps.js";
const db = useDatabase();
it("purge", async () => {
  let t = Date.now();
  await db.engine.cellPut({ retentionSucceededSeconds: 86400 });
  await db.engine.enqueue({ type: "live" });
  const slot = (await db.sql("select job_slot(job_id_at(clock_now() - interval '10 days')) as slot"))[0]!["slot"];
  for (const n of [100000, 300000]) {
    await db.sql(
      `insert into job (id, xid, run_at, queue_id, max_attempts, slot, priority, type, input)
      select job_id_at(clock_now() - interval '10 days') + n, 1, clock_now(), 1, 25, $1, 5, 'history', '{"n": 1}' from generate_series(1, ${n}) n`,
      [slot],
    );
    await db.sql(
      `insert into attempt (job_id, started_at, finished_at, attempt, slot, outcome, state) select id, clock_now() - interval '10 days', clock_now() - interval '10 days', 1, $1, 'succeeded', 'succeeded' from job where slot = $1`,
      [slot],
    );
    console.log(n, "fixture", Date.now() - t);
    t = Date.now();
    console.log((await db.sql("select cardinality(jobs_keep($1, clock_now(), 10000))", [slot]))[0], Date.now() - t);
    t = Date.now();
    let going = true,
      wait = 0,
      slow = 0,
      calls = 0;
    const rot = db.engine.maintainSpace().then((r) => {
      going = false;
      return r;
    });
    await Promise.all([
      rot,
      (async () => {
        while (going) wait = Math.max(wait, await maintenanceWait(db));
      })(),
      (async () => {
        while (going) {
          const s = Date.now();
          await db.engine.enqueue({ type: "live" });
          slow = Math.max(slow, Date.now() - s);
          calls++;
        }
      })(),
    ]);
    console.log(await rot, Date.now() - t, "longest lock wait", wait, "slowest enqueue", slow, calls);
    t = Date.now();
    await db.sql("update ring set rotated_at = '-infinity'");
  }
}, 120000);
