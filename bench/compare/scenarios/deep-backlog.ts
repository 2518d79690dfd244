import type { Scenario } from "../bench.ts";
import type { Place } from "../place.ts";
import { percentile } from "../results.ts";

export const deepBacklog: Scenario = {
  name: "deep-backlog",
  title: "Finish jobs with few waiting, and with many",
  async run(bench, results) {
    const { depths, depthSample, rounds, scenarioSeconds } = bench.sizes;
    const [shallow, ...deeper] = depths;
    const suffixOf = (depth: number): string =>
      depth === shallow ? "" : depth === depths.at(-1) ? "-deep" : `-${depth}`;

    // Loading a backlog takes long, so each system is done with before the next; its own backlogs take turns.
    await bench.rounds(bench.systems("postgres"), 1, results, async (system) => {
      const claimMs = new Map<number, number[]>();
      const measure = async (place: Place, depth: number): Promise<void> => {
        const measured = await place.call("drainSome", { jobs: Math.min(depth, depthSample) });
        const label = `jobs finished per second, ${depth.toLocaleString("en")} waiting`;
        results.add(
          system,
          { suffix: suffixOf(depth), label, unit: "jobs/s", better: "higher" },
          measured.jobsPerSecond,
        );
        claimMs.set(depth, [...(claimMs.get(depth) ?? []), ...measured.claimMs]);
      };

      await using open = new AsyncDisposableStack();
      const backlogs: { place: Place; depth: number }[] = [];
      for (const depth of deeper) {
        const place = open.use(await bench.place(system));
        await place.preloadBacklog(depth);
        backlogs.push({ place, depth });
      }
      const until = performance.now() + (scenarioSeconds * 1000) / 3;
      for (let round = 0; round === 0 || (round < rounds && performance.now() < until); round += 1) {
        await using place = await bench.place(system);
        await place.preload(shallow);
        await measure(place, shallow);
        for (const backlog of backlogs) await measure(backlog.place, backlog.depth); // a round takes little from it
      }

      for (const [depth, times] of claimMs) {
        const label = `99th percentile of a claim, ${depth.toLocaleString("en")} waiting`;
        results.add(
          system,
          { suffix: `${suffixOf(depth)}-claim-p99`, label, unit: "ms", better: "lower" },
          percentile(times, 0.99),
        );
      }
    });
  },
};
