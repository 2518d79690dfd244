import { setTimeout as sleep } from "node:timers/promises";
import type { Scenario } from "../scenario.js";
import { Standby } from "../standby.js";
import type { World } from "../world.js";

/** Whatever was confirmed is on the replica as well: nothing may be lost. */
export const synchronousFailover: Scenario = {
  name: "failover to a synchronous replica",
  async run(world) {
    const standby = await Standby.follow(world);
    await world.sql("alter system set synchronous_standby_names = '*'");
    await world.sql("select pg_reload_conf()");
    await world.until("the replica is synchronous", () =>
      isTrue(world, "select exists (select from pg_stat_replication where sync_state = 'sync') as it"),
    );
    await failOver(world, standby);
  },
};

/**
 * What had not reached the replica is gone, confirmed or not: only the dead server knew of it. Everything else ends,
 * and once.
 */
export const asynchronousFailover: Scenario = {
  name: "failover to an asynchronous replica",
  async run(world) {
    const standby = await Standby.follow(world);
    const safe = await failOver(world, standby);
    const lost = await lostJobs(world);
    const broken = lost.filter(({ id, isHere }) => isHere || safe.has(id));
    if (broken.length > 0)
      throw new Error(`${broken.length} jobs are lost that had reached the replica, or were confirmed by it`);
    if (lost.length === 0)
      throw new Error("the old server confirmed nothing that the replica had not heard of: nothing was tested");
    world.remarks.push(
      `promised is what reached the replica: all of that ended well; ${lost.length} jobs that only the dead server had confirmed are gone`,
    );
  },
  // `run` has looked at each lost job.
  isGood: ({ twice, jobs }) => twice === 0 && jobs > 0,
};

/**
 * The replica hears nothing in the old server's last second, then takes its place.
 * Returns the confirmed jobs that must have survived: what it had heard before, and what came after.
 */
async function failOver(world: World, standby: Standby): Promise<Set<string>> {
  const producer = world.producer({ jobs: 3000, perSecond: 250, input: { sleepMs: 30 } });
  world.worker();
  world.worker();
  await world.until("a third has run", async () => (await world.executions()) > world.many(1000));
  const safe = new Set(world.acknowledged);
  const [heard] = await world.sql<{ lsn: string }>("select pg_current_wal_lsn() as lsn");
  await world.until("the replica has heard of them", () =>
    isTrue(world, "select exists (select from pg_stat_replication where flush_lsn >= $1::pg_lsn) as it", [heard?.lsn]),
  );
  standby.wire.freeze();
  await sleep(1000);
  await world.server.crash();
  await standby.promote();
  const unsafe = new Set(world.acknowledged);
  world.network.cut();
  world.network.target = standby.port;
  world.network.mend();
  await producer.exit;
  await world.drained();
  for (const id of world.acknowledged) if (!unsafe.has(id)) safe.add(id);
  return safe;
}

/** Confirmed jobs that did not succeed, and whether the survivor knows them at all. */
function lostJobs(world: World): Promise<{ id: string; isHere: boolean }[]> {
  return world.sql(
    `select a.id::text, j.id is not null as "isHere" from unnest($1::bigint[]) a (id) left join millrace.jobs j on j.id = a.id where j.state is distinct from 'succeeded'`,
    [[...world.acknowledged]],
  );
}

async function isTrue(world: World, question: string, values: unknown[] = []): Promise<boolean> {
  const [row] = await world.sql<{ it: boolean }>(question, values);
  return row?.it === true;
}
