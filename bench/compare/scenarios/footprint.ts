import type { Bench, Scenario } from "../bench.ts";
import type { Series } from "../results.ts";

const lower = { better: "lower" } as const;
const wal: Series = { suffix: "", label: "write-ahead log per job", unit: "bytes", ...lower };
const disk: Series = { suffix: "-disk", label: "growth of the database per job", unit: "bytes", ...lower };
const dead: Series = { suffix: "-dead-tuples", label: "row versions left dead per job", unit: "rows", ...lower };
const cpu: Series = { suffix: "-cpu", label: "processor time of the server per job", unit: "µs", ...lower };

interface Usage {
  readonly wal: number;
  readonly disk: number;
  readonly dead: number;
  readonly cpu: number;
}

/** What has been used so far. Updates and deletes count what dies, however soon vacuum comes by. */
async function usage({ postgres }: Bench, database: string): Promise<Usage> {
  const row = await postgres.one<Record<"wal" | "disk" | "dead", string>>(
    `select pg_current_wal_insert_lsn() - '0/0'::pg_lsn as wal, pg_database_size($1) as disk,
            (select tup_updated + tup_deleted from pg_stat_database where datname = $1) as dead`,
    [database],
  );
  return { wal: Number(row.wal), disk: Number(row.disk), dead: Number(row.dead), cpu: postgres.cpuSeconds() ?? NaN };
}

export const footprint: Scenario = {
  name: "footprint",
  title: "What one job costs the server: enqueued in batches of 100, then finished by one worker process",
  async run(bench, results) {
    const { jobs } = bench.sizes;
    await bench.rounds(bench.systems("postgres"), 3, results, async (system) => {
      await using place = await bench.place(system);
      await bench.postgres.settle(place.database);
      const before = await usage(bench, place.database);
      await place.call("addBulk", { jobs, batch: 100, inFlight: 1 });
      await place.call("drain", { jobs });
      const after = await usage(bench, place.database);
      results.add(system, wal, (after.wal - before.wal) / jobs);
      results.add(system, disk, (after.disk - before.disk) / jobs);
      results.add(system, dead, (after.dead - before.dead) / jobs);
      results.add(system, cpu, ((after.cpu - before.cpu) / jobs) * 1e6);
    });
  },
};
