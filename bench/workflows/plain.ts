import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import pg from "pg";
import { payloads } from "../engine/measure.ts";
import type { Bench } from "./bench.ts";
import type { Results, Series } from "./results.ts";

type Built = typeof import("../../dist/index.js");

/** The engine of one checkout, on a database of its own. */
interface Side {
  readonly name: string;
  readonly engine: InstanceType<Built["Millrace"]>["engine"];
  /** The process of its one connection. */
  readonly pid: number;
  close(): Promise<void>;
}

interface Kind {
  readonly batch: number;
  readonly jobs: number;
  readonly speed: Series;
  readonly cpu: Series;
}

/**
 * Jobs without steps, waits or edges, against another checkout: enqueued, claimed and completed, in batches of a
 * thousand and one by one. Both engines are driven from this process, on one connection each, in many short turns, so
 * that a slow moment of the machine hits both. Beside jobs per second it tells the processor time of the server per
 * job, which others on the machine disturb less.
 */
export async function plainCost(bench: Bench, results: Results, base: string | undefined): Promise<void> {
  if (base === undefined) {
    results.notes.push("left out: name a built checkout to compare with, --base FOLDER");
    return;
  }
  const built = path.resolve(base, "dist/index.js");
  if (!existsSync(built)) throw new Error(`${base} is not a built checkout: there is no dist/index.js`);
  const { plainJobs, plainRounds } = bench.sizes;
  const kinds: readonly Kind[] = [
    {
      batch: 1000,
      jobs: plainJobs,
      speed: { name: "", label: "jobs per second, batches of 1000", better: "higher" },
      cpu: { name: "cpu", label: "processor time of the server in µs per job", better: "lower" },
    },
    {
      batch: 1,
      jobs: plainJobs / 20,
      speed: { name: "one_by_one", label: "jobs per second, one by one", better: "higher" },
      cpu: { name: "one_by_one_cpu", label: "processor time of the server in µs per job", better: "lower" },
    },
  ];
  const sides = [
    await open(bench, "millrace", new URL("../../dist/index.js", import.meta.url)),
    await open(bench, "base", pathToFileURL(built)),
  ];
  try {
    for (const { batch, jobs, speed, cpu } of kinds) {
      const inputs = payloads(batch);
      for (const side of sides) await pass(side, inputs, jobs); // warm
      for (let round = 0; round < plainRounds; round += 1)
        for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
          const [startedAt, busy] = [performance.now(), busyMs(side.pid)];
          await pass(side, inputs, jobs);
          results.add(side.name, speed, (jobs / (performance.now() - startedAt)) * 1000);
          results.add(side.name, cpu, ((busyMs(side.pid) - busy) / jobs) * 1000);
        }
    }
  } finally {
    for (const side of sides) await side.close();
  }
}

async function open({ postgres }: Bench, name: string, file: URL): Promise<Side> {
  const { Millrace, migrate } = (await import(file.href)) as Built;
  const database = await postgres.create();
  const pool = new pg.Pool({ connectionString: postgres.urlOf(database), max: 1, idleTimeoutMillis: 0 });
  pool.on("error", () => {});
  await migrate(pool);
  const { rows } = await pool.query("select pg_backend_pid() as pid");
  const mill = new Millrace({ connection: pool });
  return {
    name,
    engine: mill.engine,
    pid: (rows as { pid: number }[])[0]!.pid,
    async close() {
      await mill.close();
      await pool.end();
      await postgres.drop(database);
    },
  };
}

/** Processor time of a process so far; NaN where /proc is not to be had, which leaves the number out. */
function busyMs(pid: number): number {
  const file = `/proc/${pid}/schedstat`;
  return existsSync(file) ? Number(readFileSync(file, "utf8").split(" ")[0]) / 1e6 : NaN;
}

/** Jobs are enqueued, claimed and completed, in batches. */
async function pass({ engine }: Side, inputs: readonly Record<string, unknown>[], jobs: number): Promise<void> {
  for (let done = 0; done < jobs; done += inputs.length) await engine.enqueueMany("noop", inputs);
  for (let done = 0; done < jobs;) {
    const claimed = await engine.claim({ limit: inputs.length, queues: ["default"] });
    const [first] = claimed;
    if (!first) throw new Error(`the queue is empty after ${done} of ${jobs} jobs`);
    await engine.completeMany(
      first.token,
      claimed.map(({ id }) => id),
    );
    done += claimed.length;
  }
}
