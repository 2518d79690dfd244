import { median } from "../../engine/measure.ts";
import type { Scenario } from "../bench.ts";
import { percentile } from "../results.ts";

const memory = { unit: "MB", better: "lower" } as const;

export const workerMemory: Scenario = {
  name: "worker-memory",
  title: "Memory of a Millrace worker that drains a backlog",
  async run(bench, results) {
    const jobs = bench.sizes.memoryJobs;
    await bench.rounds(bench.millrace(), 1, results, async (system) => {
      await using place = await bench.place(system);
      await place.preload(jobs);
      const { rssMb } = await place.call("drain", { jobs });
      const part = (from: number, to: number): number => median(rssMb.slice(Math.floor(rssMb.length * from), Math.ceil(rssMb.length * to)));
      results.add(system, { ...memory, suffix: "", label: "most resident memory" }, percentile(rssMb, 1));
      results.add(system, { ...memory, suffix: "-second-quarter", label: "resident memory in the second quarter of the run" }, part(0.25, 0.5));
      results.add(system, { ...memory, suffix: "-last-quarter", label: "resident memory in the last quarter of the run" }, part(0.75, 1));
    });
  },
};
