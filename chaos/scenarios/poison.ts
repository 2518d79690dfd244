import { Millrace } from "millrace";
import type { JobInput } from "../processes.js";
import type { Scenario } from "../scenario.js";
import type { World } from "../world.js";

const maxAttempts = 4;

/**
 * Two jobs that kill their process each time. Only whoever ran beside their first attempts may have to run again; after
 * that they run alone.
 */
export const poisonousJobs: Scenario = {
  name: "jobs that kill their process, among good ones",
  async run(world) {
    const stop = superviseWorkers(world, 3);
    const producer = world.producer({ jobs: 1800, perSecond: 130, input: { sleepMs: 30 } });
    const poisons: string[] = [];
    let isOver = false;
    void producer.exit.then(() => (isOver = true));
    await using mill = new Millrace({ connection: world.url });
    for (let round = 0; round < world.many(1); round += 1) {
      const before = await world.executions();
      await world.until("good ones run", async () => isOver || (await world.executions()) > before + 100);
      if (isOver) break; // a slow machine has no more of them
      for (const input of [{ kill: true }, { kill: true, sleepMs: 300 }] satisfies JobInput[]) {
        poisons.push((await mill.enqueue("plain", input, { maxAttempts })).id);
      }
      await world.until("they have been given up", async () => (await openOf(world, poisons)) === 0);
    }
    await producer.exit;
    await world.drained();
    const started = stop();
    await expectPoisonsFailed(world, poisons);
    await expectBystandersOnly(world, poisons);
    world.remarks.push(`${started - 3} workers died and were replaced`);
  },
};

/**
 * Keep so many workers running: who dies is replaced. Returns a function that ends it and says how many were started.
 */
function superviseWorkers(world: World, n: number): () => number {
  let started = 0;
  let isOver = false;
  const start = (): void => {
    if (isOver) return;
    started += 1;
    void world.worker().exit.then(start);
  };
  for (let i = 0; i < n; i += 1) start();
  world.onClose(() => void (isOver = true));
  return () => ((isOver = true), started);
}

async function openOf(world: World, ids: readonly string[]): Promise<number> {
  const [row] = await world.sql<{ n: number }>(
    "select count(*)::int as n from millrace.jobs where id = any ($1::bigint[]) and state <> 'failed'",
    [ids],
  );
  return row?.n ?? 0;
}

/** Each attempt was an execution, but for a first one that died with the other poison before it began. */
async function expectPoisonsFailed(world: World, ids: readonly string[]): Promise<void> {
  const rows = await world.sql<{ state: string; reason: string; attempts: number; runs: number }>(
    `select j.state, j.reason, j.attempts, (select count(*)::int from chaos.effect e where e.job = j.id) as runs
       from millrace.jobs j where j.id = any ($1::bigint[])`,
    [ids],
  );
  const isGivenUp = (row: (typeof rows)[number]): boolean =>
    row.state === "failed" &&
    row.reason === "lost" &&
    row.attempts === maxAttempts &&
    row.runs >= maxAttempts - 1 &&
    row.runs <= maxAttempts;
  if (rows.length !== ids.length || !rows.every(isGivenUp))
    throw new Error(`not given up after ${maxAttempts} attempts: ${JSON.stringify(rows)}`);
}

/** Good jobs lost an attempt only to the first attempt of a poisonous one. */
async function expectBystandersOnly(world: World, poisons: readonly string[]): Promise<void> {
  const [row] = await world.sql<{ innocent: number; again: number; needless: number; late: number }>(
    `with first as (select worker from millrace.attempts where job_id = any ($1::bigint[]) and attempt = 1),
          later as (select worker from millrace.attempts where job_id = any ($1::bigint[]) and worker not in (select worker from first)),
          lost as (select * from millrace.attempts where outcome = 'lost' and job_id <> all ($1::bigint[]))
     select (select count(*)::int from lost) as innocent,
            (select (count(*) - count(distinct job))::int from chaos.effect where job <> all ($1::bigint[])) as again,
            (select count(*)::int from lost where worker in (select worker from later)) as needless,
            (select count(*)::int from lost where worker not in (select worker from first union all select worker from later)) as late`,
    [poisons],
  );
  if (!row || row.needless > 0) {
    const facts = JSON.stringify(await factsOfNeedless(world, poisons));
    throw new Error(
      `${row?.needless} attempts of good jobs were lost to a poisonous job that should have run alone: ${facts}`,
    );
  }
  const late = row.late > 0 ? `, but for ${row.late} whose leases ended for want of processor time` : "";
  world.remarks.push(
    `${row.again} good jobs ran again (${row.innocent} lost attempts), all beside a first death${late}`,
  );
}

/** By worker: when good jobs were lost that should not have been, and the attempts of poisonous ones there, if any. */
function factsOfNeedless(world: World, poisons: readonly string[]): Promise<object[]> {
  return world.sql(
    `select w.worker, w.lost, w.first_start, w.last_start, w.first_end, w.last_end,
            (select json_agg(json_build_array(p.job_id, p.attempt, p.started_at, p.finished_at, p.outcome) order by p.started_at)
               from millrace.attempts p where p.job_id = any ($1::bigint[]) and p.worker = w.worker) as poisons
       from (select a.worker, count(*)::int as lost, min(a.started_at) as first_start, max(a.started_at) as last_start, min(a.finished_at) as first_end, max(a.finished_at) as last_end
               from millrace.attempts a
              where a.outcome = 'lost' and a.job_id <> all ($1::bigint[])
                and a.worker not in (select f.worker from millrace.attempts f where f.job_id = any ($1::bigint[]) and f.attempt = 1) group by a.worker) w`,
    [poisons],
  );
}
