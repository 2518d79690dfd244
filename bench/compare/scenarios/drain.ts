import type { Scenario } from "../bench.ts";

const speed = { suffix: "", label: "jobs finished per second", unit: "jobs/s", better: "higher" } as const;

export const drain: Scenario = {
  name: "drain",
  title: "Finish preloaded jobs that do nothing, in one worker process",
  async run(bench, results) {
    const { jobs } = bench.sizes;
    await bench.rounds(bench.systems(), 5, results, async (system) => {
      await using place = await bench.place(system);
      await place.preload(jobs);
      const { seconds } = await place.call("drain", { jobs });
      results.add(system, speed, jobs / seconds);
    });
  },
};

export const manyTenants: Scenario = {
  name: "many-tenants",
  title: "Finish preloaded jobs that belong to 10 groups, and to 100,000",
  async run(bench, results) {
    const jobs = bench.sizes.tenantJobs;
    results.note("only Millrace: the peers have no fairness between groups, or sell it apart");
    await bench.rounds(bench.millrace(), 3, results, async (system, round) => {
      for (const groups of round % 2 === 0 ? [10, 100_000] : [100_000, 10]) {
        await using place = await bench.place(system);
        await place.preload(jobs, groups);
        const { seconds } = await place.call("drain", { jobs });
        results.add(
          system,
          { ...speed, suffix: `-${groups}`, label: `${speed.label}, ${groups.toLocaleString("en")} groups` },
          jobs / seconds,
        );
      }
    });
  },
};
