import { setTimeout as sleep } from "node:timers/promises";
import type { Scenario } from "../scenario.js";

/** A worker is killed and replaced every two seconds, while two go on. */
export const killedWorkers: Scenario = {
  name: "a worker killed with SIGKILL every two seconds",
  async run(world) {
    const producer = world.producer({ jobs: 3000, perSecond: 300, input: { sleepMs: 20 } });
    const workers = [world.worker(), world.worker(), world.worker()];
    for (let blow = 0; blow < world.many(5); blow += 1) {
      await sleep(2000);
      workers.shift()?.kill("SIGKILL");
      workers.push(world.worker());
    }
    await producer.exit;
    await world.drained();
  },
};

export const allWorkersKilled: Scenario = {
  name: "all workers killed at once",
  async run(world) {
    const producer = world.producer({ jobs: 2000, perSecond: 300, input: { sleepMs: 20 } });
    for (let blow = 0; blow < world.many(2); blow += 1) {
      const workers = [world.worker(), world.worker(), world.worker()];
      const before = await world.executions();
      await world.until("some have run", async () => (await world.executions()) > before + 200);
      for (const worker of workers) worker.kill("SIGKILL");
      await sleep(500);
    }
    world.worker();
    await producer.exit;
    await world.drained();
  },
};

/** Its late reports must be refused, and it is told. */
export const stoppedWorker: Scenario = {
  name: "a worker stopped (SIGSTOP) past its lease, then continued",
  async run(world) {
    const producer = world.producer({ jobs: 2000, perSecond: 300, input: { sleepMs: 100 } });
    const frozen = world.worker();
    for (let blow = 0; blow < world.many(1); blow += 1) {
      const before = await world.executions();
      await world.until("some have run", async () => (await world.executions()) > before + 50);
      frozen.kill("SIGSTOP");
      if (blow === 0) world.worker();
      await sleep(6000);
      frozen.kill("SIGCONT");
      await sleep(2000);
    }
    await producer.exit;
    await world.drained();
    const told = frozen.of("lost").length + frozen.of("refused").length;
    if (told === 0) throw new Error("the worker that was stopped was not told that its jobs are no longer its own");
    world.remarks.push(`told of ${told} lost jobs`);
  },
};

/** The heartbeat's thread keeps the lease: nothing is lost, nothing runs twice. */
export const blockedEventLoop: Scenario = {
  name: "an event loop blocked for 30 s",
  async run(world) {
    const blocking = world.producer({ jobs: 1, types: ["plain"], input: { blockMs: 30_000 } });
    const blocked = world.worker({ concurrency: 1 });
    await world.until("it stands still", async () => (await world.executions()) === 1);
    const producer = world.producer({ jobs: 1000, perSecond: 100 });
    world.worker();
    await Promise.all([blocking.exit, producer.exit]);
    await world.drained();
    const [row] = await world.sql<{ n: number }>(
      "select max(n)::int as n from (select count(*) as n from chaos.effect where pid = $1 group by job) x",
      [blocked.pid],
    );
    if (row?.n !== 1) throw new Error("the job that blocked its event loop ran more than once");
  },
};
