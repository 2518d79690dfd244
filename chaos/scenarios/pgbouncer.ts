import { setTimeout as sleep } from "node:timers/promises";
import { PgBouncer, pgBouncerVersion } from "../pgbouncer.js";
import type { Scenario } from "../scenario.js";
import type { World } from "../world.js";

const poolSize = 8;
const install = "apt-get install pgbouncer";

export const pgBouncer: Scenario = {
  name: "PgBouncer in transaction mode, without prepared statements",
  isImpossible: () => (pgBouncerVersion() === undefined ? install : undefined),
  run: (world) => throughPgBouncer(world, false),
};

export const pgBouncerPrepared: Scenario = {
  name: "PgBouncer in transaction mode, with prepared statements",
  isImpossible() {
    const version = pgBouncerVersion();
    if (version === undefined) return install;
    return version < 1.21 ? `needs PgBouncer 1.21; this is ${version}` : undefined;
  },
  run: (world) => throughPgBouncer(world, true),
};

/** Workers and producers share few sessions. A worker is killed and replaced, then the pooler. */
async function throughPgBouncer(world: World, prepare: boolean): Promise<void> {
  const bouncer = await PgBouncer.open(world, {
    default_pool_size: String(poolSize),
    ...(prepare ? { max_prepared_statements: "100" } : {}),
  });
  const { url } = bouncer;
  const worker = () => world.worker({}, { url, prepare });
  const producer = world.producer({ jobs: 2500, perSecond: 200, input: { sleepMs: 20 }, url, prepare });
  const workers = [worker(), worker()];
  for (let blow = 0; blow < world.many(2); blow += 1) {
    await runMore(world);
    workers.shift()?.kill("SIGKILL");
    workers.push(worker());
    await runMore(world);
    await bouncer.kill();
    await sleep(500);
    await bouncer.start();
  }
  await producer.exit;
  await world.drained();
  const [row] = await world.sql<{ n: number }>(
    "select count(*)::int as n from pg_stat_activity where backend_type = 'client backend'",
  );
  const sessions = row?.n ?? 0;
  if (sessions > poolSize + world.pool.totalCount)
    throw new Error(`${sessions} sessions: somebody went round the pooler`);
  world.remarks.push(`${sessions - world.pool.totalCount} sessions for all`);
}

async function runMore(world: World): Promise<void> {
  const before = await world.executions();
  await world.until("some have run", async () => (await world.executions()) > before + 300);
}
