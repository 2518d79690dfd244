import { setTimeout as sleep } from "node:timers/promises";
import { median } from "../../engine/measure.ts";
import type { Scenario } from "../bench.ts";
import { percentile } from "../results.ts";

const p50 = { suffix: "-p50", label: "median", unit: "ms", better: "lower" } as const;
const p99 = { suffix: "-p99", label: "99th percentile", unit: "ms", better: "lower" } as const;
const warm = 20;

export const latency: Scenario = {
  name: "latency",
  title: "From before the enqueue in one process to the start of the handler in another, when nothing else happens",
  async run(bench, results) {
    const { samples, sampleGapMs } = bench.sizes;
    await bench.rounds(bench.systems(), bench.sizes.rounds, results, async (system) => {
      await using place = await bench.place(system);
      const [worker, producer] = [place.start(), place.start()];
      await worker.call("startWorkers", { count: 1 });
      await producer.call("addSamples", { samples: samples + warm, meanGapMs: sampleGapMs });
      let handled = await worker.call("handled", {});
      for (let tries = 0; handled.jobs < samples + warm && tries < 50; tries += 1) {
        await sleep(100);
        handled = await worker.call("handled", {});
      }
      await worker.call("stopWorkers", {});
      const latencies = handled.latenciesMs.slice(warm);
      if (latencies.length < samples)
        throw new Error(`${samples - latencies.length} of ${samples} jobs were not handled`);
      results.add(system, p50, median(latencies));
      results.add(system, p99, percentile(latencies, 0.99));
    });
  },
};
