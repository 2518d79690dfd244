import type { Scenario } from "../bench.ts";

const speed = { unit: "MB/s", better: "higher" } as const;

export const largePayloads: Scenario = {
  name: "large-payloads",
  title: "Payloads of 1 MB and of 100 MB, beside a plain insert and read of a bytea",
  async run(bench, results) {
    results.note("only Millrace: the jobs of the peers carry JSON, not bytes");
    await bench.rounds(bench.millrace(), 3, results, async (system, round) => {
      for (const size of [1, 100]) {
        const count = size === 1 ? bench.sizes.megabytes : 1;
        for (const store of round % 2 === 0 ? (["millrace", "bytea"] as const) : (["bytea", "millrace"] as const)) {
          await using place = await bench.place(system);
          const { writeSeconds, readSeconds } = await place.call("payloads", { store, bytes: size * 1_000_000, count });
          const add = (suffix: string, what: string, seconds: number): void =>
            results.add(
              store,
              { ...speed, suffix: `-${size}mb${suffix}`, label: `${size} MB, ${what}` },
              (size * count) / seconds,
            );
          add("", "written and read", writeSeconds + readSeconds);
          add("-write", "written", writeSeconds);
          add("-read", "read", readSeconds);
        }
      }
    });
  },
};
