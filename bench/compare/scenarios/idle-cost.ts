import { setTimeout as sleep } from "node:timers/promises";
import type { Bench, Scenario } from "../bench.ts";
import type { Place } from "../place.ts";

const series = {
  suffix: "",
  label: "transactions per second while nothing happens",
  unit: "tx/s",
  better: "lower",
} as const;
const queues = Array.from({ length: 100 }, (_, i) => `queue-${i}`);
const workers = 10;
/** An idle backend tells of its last transactions ten seconds later: those of the start are not meant. */
const settleMs = 12_000;

async function transactions({ postgres, redis }: Bench, { database }: Place): Promise<number> {
  if (database === "") return redis!.commands();
  const row = await postgres.one<{ n: string }>(
    "select xact_commit + xact_rollback as n from pg_stat_database where datname = $1",
    [database],
  );
  return Number(row.n);
}

export const idleCost: Scenario = {
  name: "idle-cost",
  title: "10 workers on 100 queues with nothing to do, set up as for the latency",
  async run(bench, results) {
    if (bench.systems("redis").length > 0) results.note("for BullMQ on Redis these are commands");
    await bench.together(bench.systems(), results, async (system) => {
      await using place = await bench.place(system, queues);
      await place.start().call("startWorkers", { count: workers, queues });
      await sleep(settleMs);
      const [from, startedAt] = [await transactions(bench, place), performance.now()];
      await sleep(bench.sizes.idleSeconds * 1000);
      const seconds = (performance.now() - startedAt) / 1000;
      results.add(system, series, ((await transactions(bench, place)) - from) / seconds);
    });
  },
};
