import type { Scenario } from "../bench.ts";

const series = { suffix: "", label: "jobs enqueued per second", unit: "jobs/s", better: "higher" } as const;

export const enqueueBulk: Scenario = {
  name: "enqueue-bulk",
  title: "Enqueue in batches of 1000, on one connection",
  async run(bench, results) {
    const { jobs } = bench.sizes;
    await bench.rounds(bench.systems(), 5, results, async (system) => {
      await using place = await bench.place(system);
      const { seconds } = await place.call("addBulk", { jobs, batch: 1000, inFlight: 1, warm: 2 });
      results.add(system, series, jobs / seconds);
    });
  },
};

export const enqueueSingle: Scenario = {
  name: "enqueue-single",
  title: "Enqueue one job per call, 16 callers at once on 16 connections",
  async run(bench, results) {
    const jobs = bench.sizes.singles;
    await bench.rounds(bench.systems(), 5, results, async (system) => {
      await using place = await bench.place(system);
      const { seconds } = await place.call("addSingly", { jobs, connections: 16 });
      results.add(system, series, jobs / seconds);
    });
  },
};
