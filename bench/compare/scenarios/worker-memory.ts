import { median } from "../../engine/measure.ts";
import type { Scenario } from "../bench.ts";
import { percentile } from "../results.ts";

const memory = { unit: "MB", better: "lower" } as const;
/** Newer releases of Node.js let the young generation grow to 128 MB; with this, to 32 MB as older ones do. */
const variants = [
  { suffix: "", label: "", nodeOptions: ["--max-semi-space-size=16"] },
  { suffix: "-node-defaults", label: ", Node.js with its own limits", nodeOptions: [] },
];

export const workerMemory: Scenario = {
  name: "worker-memory",
  title: "Memory of a Millrace worker that drains a backlog, with --max-semi-space-size=16",
  async run(bench, results) {
    const jobs = bench.sizes.memoryJobs;
    for (const { suffix, label, nodeOptions } of variants) {
      await bench.rounds(bench.millrace(), 1, results, async (system) => {
        await using place = await bench.place(system);
        await place.preload(jobs);
        const { rssMb } = await place.call("drain", { jobs }, nodeOptions);
        const part = (from: number, to: number): number =>
          median(rssMb.slice(Math.floor(rssMb.length * from), Math.ceil(rssMb.length * to)));
        results.add(system, { ...memory, suffix, label: `most resident memory${label}` }, percentile(rssMb, 1));
        results.add(
          system,
          {
            ...memory,
            suffix: `${suffix}-second-quarter`,
            label: `resident memory in the second quarter of the run${label}`,
          },
          part(0.25, 0.5),
        );
        results.add(
          system,
          {
            ...memory,
            suffix: `${suffix}-last-quarter`,
            label: `resident memory in the last quarter of the run${label}`,
          },
          part(0.75, 1),
        );
      });
    }
  },
};
