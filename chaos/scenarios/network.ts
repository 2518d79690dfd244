import { setTimeout as sleep } from "node:timers/promises";
import { Network } from "../network.js";
import type { Child } from "../processes.js";
import type { Scenario } from "../scenario.js";
import type { World } from "../world.js";

/**
 * One worker's way stands still for longer than its lease; its handlers go on, and their effects arrive by another way.
 * Late reports are refused.
 */
export const frozenNetwork: Scenario = {
  name: "a worker's network frozen past its lease, then thawed",
  async run(world) {
    // most slots are taken when it happens
    const producer = world.producer({ jobs: 2000, perSecond: 130, input: { sleepMs: 150 } });
    const { own, worker } = await withOwnWay(world);
    world.worker();
    for (let blow = 0; blow < world.many(1); blow += 1) {
      await hasRunMore(world, worker);
      await hasHands(world, worker); // else there would be nothing to tell it about
      own.freeze();
      await sleep(3000); // its lease has ended by now, and what it had begun too
      const before = await runs(world, worker);
      await sleep(2000);
      if ((await runs(world, worker)) > before)
        throw new Error("a worker that was cut off past its lease went on starting jobs");
      own.thaw();
      await hasRunMore(world, worker);
    }
    await producer.exit;
    await world.drained();
    const told = worker.of("lost").length + worker.of("refused").length;
    if (told === 0) throw new Error("the worker that was cut off was not told that its jobs are no longer its own");
    world.remarks.push(`told ${told} times of jobs that were no longer its own`);
  },
};

/** Connections are reset and new ones refused, for a moment and for longer than the lease. */
export const cutNetwork: Scenario = {
  name: "a worker's network cut and mended",
  async run(world) {
    const producer = world.producer({ jobs: 3000, perSecond: 250, input: { sleepMs: 50 } });
    const { own, worker } = await withOwnWay(world);
    world.worker();
    for (let blow = 0; blow < world.many(1); blow += 1) {
      for (const ms of [20, 500, 5000]) {
        await hasRunMore(world, worker);
        own.cut();
        await sleep(ms);
        own.mend();
      }
      await hasRunMore(world, worker);
    }
    await producer.exit;
    await world.drained();
    if (worker.of("error").length === 0) throw new Error("the worker was not told that its connections broke");
  },
};

/**
 * As when a firewall forgets connections: nobody is told, and no answer ever comes. The lease is long, so that the
 * heartbeat's new connection could keep it.
 */
export const halfOpenConnections: Scenario = {
  name: "a worker's connections left half-open for good",
  async run(world) {
    // for longer than it takes to notice
    const producer = world.producer({ jobs: 3000, perSecond: 33, input: { sleepMs: 50 } });
    const { own, worker } = await withOwnWay(world, "15s");
    world.worker();
    let longest = 0;
    for (let blow = 0; blow < world.many(1); blow += 1) {
      await hasRunMore(world, worker);
      own.strand();
      const since = performance.now();
      await sleep(1000); // what was under way has ended
      await hasRunMore(world, worker);
      longest = Math.max(longest, performance.now() - since);
    }
    world.remarks.push(`worked again after ${Math.round(longest / 1000)} s`);
    await producer.exit;
    await world.drained();
  },
};

/**
 * A worker with a network of its own. Its effects take the plain way, so that they tell what its handlers do meanwhile.
 */
async function withOwnWay(world: World, lease = "2s"): Promise<{ own: Network; worker: Child }> {
  const own = await Network.open(world.server.port);
  world.onClose(() => own.close());
  return { own, worker: world.worker({ lease }, { url: own.url, effectUrl: world.url }) };
}

async function runs(world: World, worker: Child): Promise<number> {
  const [row] = await world.sqlInTheEnd<{ n: number }>("select count(*)::int as n from chaos.effect where pid = $1", [
    worker.pid,
  ]);
  return row?.n ?? 0;
}

async function hasRunMore(world: World, worker: Child): Promise<void> {
  const before = await runs(world, worker);
  await world.until("the worker runs jobs", async () => (await runs(world, worker)) > before + 50);
}

/** Until the worker has several jobs in its hands. The other one may just have been quicker. */
async function hasHands(world: World, worker: Child): Promise<void> {
  await world.until("the worker has jobs", async () => {
    const [row] = await world.sqlInTheEnd<{ n: number }>(
      "select coalesce(sum(cardinality(jobs)), 0)::int as n from millrace.claim where worker like '%' || $1 || '%'",
      [String(worker.pid)],
    );
    return (row?.n ?? 0) >= 3;
  });
}
