import { setTimeout as sleep } from "node:timers/promises";
import type { Scenario } from "../scenario.js";
import type { World } from "../world.js";

/**
 * A limit is never exceeded while processes claim as fast as they can and are killed at random, and all of it can be
 * used again afterwards.
 */
export const limitsUnderAttack: Scenario = {
  name: "limits, with twenty processes killed at random",
  isCrowded: true,
  async run(world) {
    await world.engine.queuePut("default", { maxRunning: 12 });
    await world.engine.resourcePut("gpu", { maxRunning: 5 });
    const producers = [
      world.producer({ jobs: 200, perSecond: 2000, input: { sleepMs: 50 }, options: { resources: { gpu: 1 } } }),
      world.producer({ jobs: 1800, perSecond: 2000, input: { sleepMs: 50 } }),
    ];
    const watch = new Watch(world);
    const workers = Array.from({ length: 20 }, () => world.worker({ concurrency: 4 }));
    const killing = killAtRandom(world, workers, world.isLong ? 60_000 : 15_000);
    const watching = watch.until(killing);
    await killing;
    await watching;
    // The leases of the killed end, and everything can be used again.
    await world.until("the whole limit is in use again", async () => (await watch.look()).queue === 12, 10_000);
    await Promise.all(producers.map(({ exit }) => exit));
    await world.drained();
    const { queue, gpu } = watch.most;
    if (queue !== 12 || gpu !== 5) throw new Error(`at most ${queue} of 12 jobs ran, and ${gpu} of 5 that need a gpu`);
    world.remarks.push(`at most ${queue} of 12 and ${gpu} of 5 at once, in ${watch.looks} looks`);
  },
};

/** The jobs of a group end in their order, one at a time, while handlers fail, and processes die. */
export const orderUnderAttack: Scenario = {
  name: "ordered groups, with handlers that fail and processes that die",
  isCrowded: true,
  async run(world) {
    const [groups, processes] = world.isLong ? [1000, 50] : [100, 10];
    await world.engine.queuePut("default", { ordered: true });
    const producer = world.producer({
      jobs: 1500,
      perSecond: 300,
      types: ["plain"],
      input: { sleepMs: 5, failOdds: 0.1 },
      groups,
    });
    const workers = Array.from({ length: processes }, () => world.worker({ concurrency: 4 }));
    await killAtRandom(world, workers, world.isLong ? 60_000 : 10_000);
    await producer.exit;
    await world.drained();
    const [row] = await world.sql<{ overlaps: number; disorder: number; groups: number }>(
      `select count(*) filter (where x.before > x.started_at)::int as overlaps, count(*) filter (where x.former > x.job_id)::int as disorder, count(distinct x."group")::int as groups
         from (select a.job_id, a.started_at, j."group", lag(a.finished_at) over w as before, lag(a.job_id) over w as former
                 from millrace.attempts a join millrace.jobs j on j.id = a.job_id window w as (partition by j."group" order by a.started_at, a.attempt)) x`,
    );
    if (row?.overlaps !== 0 || row.disorder !== 0)
      throw new Error(
        `in ${row?.groups} groups ${row?.overlaps} attempts overlapped, and ${row?.disorder} were out of order`,
      );
    world.remarks.push(`${row.groups} groups in order, ${processes} processes`);
  },
};

/** Kill one process after another, each replaced by a new one. */
export async function killAtRandom(
  world: World,
  workers: ReturnType<World["worker"]>[],
  forMs: number,
  replace = () => world.worker({ concurrency: 4 }),
): Promise<void> {
  for (const end = Date.now() + forMs; Date.now() < end;) {
    await sleep(Math.random() * 1000);
    const [victim] = workers.splice(Math.floor(Math.random() * workers.length), 1);
    victim?.kill("SIGKILL");
    workers.push(replace());
  }
}

/** Looks, again and again, at what runs. */
class Watch {
  readonly most = { queue: 0, gpu: 0 };
  looks = 0;

  constructor(readonly world: World) {}

  async look(): Promise<{ queue: number; gpu: number }> {
    const limits = await this.world.engine.limits();
    const inUse = (kind: string): number => limits.find((limit) => limit.kind === kind)?.inUse ?? 0;
    const now = { queue: inUse("queue"), gpu: inUse("resource") };
    this.most.queue = Math.max(this.most.queue, now.queue);
    this.most.gpu = Math.max(this.most.gpu, now.gpu);
    this.looks += 1;
    return now;
  }

  async until(end: Promise<unknown>): Promise<void> {
    let isOver = false;
    void end.finally(() => (isOver = true));
    while (!isOver) {
      await this.look();
      await sleep(10);
    }
  }
}
