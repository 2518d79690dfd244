import { setTimeout as sleep } from "node:timers/promises";
import type { Scenario } from "../bench.ts";
import type { Sizes } from "../options.ts";
import type { Place } from "../place.ts";

const series = { suffix: "", label: "jobs through the queue per second", unit: "jobs/s", better: "higher" } as const;
const batch = 100;
const bound = 10_000;

/** A producer and a worker, each in a process of its own; the producer waits while the queue is full. */
async function throughput(place: Place, { warmSeconds, seconds }: Sizes): Promise<number> {
  const [worker, producer] = [place.start(), place.start()];
  worker.onHandled = (handled) => producer.tellHandled(handled);
  await worker.call("startWorkers", { count: 1, busy: true });
  await producer.call("startAdding", { batch, inFlight: 2, bound });
  await sleep(warmSeconds * 1000);
  const from = await worker.call("handled", {});
  await sleep(seconds * 1000);
  const to = await worker.call("handled", {});
  await producer.call("stopAdding", {});
  await worker.call("stopWorkers", {});
  return ((to.jobs - from.jobs) / (to.atMs - from.atMs)) * 1000;
}

export const steady: Scenario = {
  name: "steady",
  title: "A live producer in batches of 100 and one worker process, at most 10,000 jobs waiting",
  async run(bench, results) {
    await bench.rounds(bench.systems(), 3, results, async (system) => {
      await using place = await bench.place(system);
      results.add(system, series, await throughput(place, bench.sizes));
    });
  },
};

export const heldSnapshot: Scenario = {
  name: "held-snapshot",
  title: "The same, without and with a repeatable-read transaction left open",
  async run(bench, results) {
    await bench.rounds(bench.systems("postgres"), 2, results, async (system, round) => {
      for (const held of round % 2 === 0 ? [false, true] : [true, false]) {
        await using place = await bench.place(system);
        await bench.postgres.with(place.database, async (sleeper) => {
          if (held) await sleeper.query("begin isolation level repeatable read; select count(*) from pg_class");
          const jobsPerSecond = await throughput(place, bench.sizes);
          results.add(
            system,
            held ? { ...series, suffix: "-held", label: "the same with the transaction open" } : series,
            jobsPerSecond,
          );
        });
      }
    });
  },
};
