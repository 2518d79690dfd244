import { setTimeout as sleep } from "node:timers/promises";
import type { Child } from "../processes.js";
import type { Scenario } from "../scenario.js";
import type { World } from "../world.js";

/** Claims are not waited for until they are on disk: some of them are forgotten with each of these blows. */
export const serverShutDown: Scenario = {
  name: "the server shut down at once and restarted",
  run: (world) => hitServer(world, () => world.server.stop("immediate")),
};

export const serverKilled: Scenario = {
  name: "the server killed with SIGKILL, recovered from its log",
  run: (world) => hitServer(world, () => world.server.crash()),
};

async function hitServer(world: World, blow: () => Promise<void>): Promise<void> {
  const producer = world.producer({ jobs: 2500, perSecond: 200, input: { sleepMs: 30 } });
  const workers = [world.worker(), world.worker()];
  const blows = world.many(5);
  for (let done = 0; done < blows; done += 1) {
    const before = await world.executions();
    await world.until("some more have run", async () => (await world.executions()) > before + 100);
    await sleep(Math.random() * 500); // anywhere between enqueue, claim and finish
    await blow();
    await sleep(Math.random() * 500);
    await world.restart();
  }
  await producer.exit;
  await world.drained();
  survived(workers);
  const felt = producer.of("error").length;
  if (felt === 0) throw new Error("no enqueue met an absent server: the blows hit nobody");
  world.remarks.push(`${blows} restarts, ${felt} enqueues failed and were tried again`);
}

/** What happens to a server must never end a worker. */
export function survived(workers: readonly Child[]): void {
  for (const { hasEnded, complaints } of workers)
    if (hasEnded) throw new Error(`a worker ended: ${complaints.slice(0, 20).join("\n")}`);
}
