import pg from "pg";
import { Engine } from "../../src/db/engine.js";
import { migrate } from "../../src/db/migrate.js";
import { startEmbeddedServer } from "../../src/embedded/server.js";
import { alternate, median, payloads, rate } from "./measure.js";
import { RawTables, UpdateDeleteQueue } from "./raw.js";
import { claimOneBesideSkipLocked, claimOneProcessorTime, manyTypes } from "./small.js";

const quick = process.argv.includes("--quick");
const json = process.argv.includes("--json");
const only = process.argv.includes("--only") ? process.argv[process.argv.indexOf("--only") + 1] : undefined;
const isWanted = (key: string): boolean => only === undefined || only === key;
const size = quick
  ? { rounds: 5, chunk: 20_000, held: 200_000, deep: 1_000_000, seconds: 2, wal: 20_000 }
  : { rounds: 9, chunk: 50_000, held: 1_000_000, deep: 10_000_000, seconds: 5, wal: 100_000 };

const server = process.env["DATABASE_URL"]
  ? undefined
  : await startEmbeddedServer({
      settings: {
        shared_buffers: quick ? "2GB" : "5GB",
        max_wal_size: "16GB",
        checkpoint_timeout: "1h",
        max_connections: "100",
      },
    });
const url = server?.url ?? process.env["DATABASE_URL"] ?? "";
const pool = new pg.Pool({ connectionString: url, max: 20 });
pool.on("error", () => {}); // the server may be gone before its last connection is
const results: Record<string, number> = {};

try {
  await migrate(pool);
  const engine = new Engine({ pool });
  const raw = await RawTables.create(pool);
  const thousand = payloads(1000);
  const batches = size.chunk / 1000;
  const enqueue = async (jobs: number, queue = "default") => {
    for (let done = 0; done < jobs; done += 1000) await engine.enqueueMany("noop", thousand, { queue });
  };
  const drain = async (jobs: number, queue = "default", times?: number[]) => {
    for (let done = 0; done < jobs;) {
      const start = performance.now();
      const claimed = await engine.claim({ limit: 1000, queues: [queue] });
      times?.push(performance.now() - start);
      const token = claimed[0]?.token;
      if (token === undefined) throw new Error(`${queue} is empty after ${done} of ${jobs} jobs`);
      await engine.completeMany(
        token,
        claimed.map((job) => job.id),
      );
      done += claimed.length;
    }
  };

  await enqueue(5000);
  await drain(5000); // warm up

  if (only === undefined) await againstRaw();
  if (isWanted("held_snapshot")) await heldSnapshot();
  if (isWanted("deep_backlog")) await deepBacklog();
  if (isWanted("claim10_vs_claim1")) await manyClaimers();
  const usual = await UpdateDeleteQueue.create(pool);
  if (isWanted("wal_bytes_per_job")) await wal(); // before what leaves autovacuum much to do
  if (isWanted("claim1_vs_skip_locked"))
    report(
      "claim of 1 by 16 connections against SKIP LOCKED and update (1)",
      "claim1_vs_skip_locked",
      await claimOneBesideSkipLocked(engine, usual, { seconds: size.seconds, rounds: quick ? 5 : 9 }),
    );
  if (isWanted("claim1_cpu_us")) {
    const one = new pg.Pool({ connectionString: url, max: 1 });
    one.on("error", () => {});
    results["claim1_cpu_us"] = await claimOneProcessorTime(new Engine({ pool: one }), one, size.rounds);
    await one.end();
    console.log(
      `claim of 1 and its completion: ${results["claim1_cpu_us"].toFixed(0)} µs of the server's processor (400)`,
    );
  }
  if (isWanted("types_20000_vs_10")) {
    results["types_20000_vs_10"] = await manyTypes(engine, 20_000, 10);
    console.log(`claim of 1 among 20,000 types: ${results["types_20000_vs_10"].toFixed(2)} times one among 10 (2)`);
  }

  async function againstRaw(): Promise<void> {
    report(
      "bulk enqueue, batches of 1000, against a plain INSERT (0.6)",
      "enqueue_vs_raw",
      await alternate(
        size.rounds,
        () => rate(size.chunk, () => enqueue(size.chunk)),
        () =>
          rate(size.chunk, async () => {
            for (let i = 0; i < batches; i += 1) await raw.insert(thousand);
          }),
      ),
    );

    report(
      "claim + finish, batches of 1000, against a plain read + INSERT (0.5)",
      "drain_vs_raw",
      await alternate(
        size.rounds,
        () => rate(size.chunk, () => drain(size.chunk)),
        () =>
          rate(size.chunk, async () => {
            for (let i = 0; i < batches; i += 1) await raw.readAndFinish(1000);
          }),
      ),
    );
  }

  /** The whole run, enqueue and drain, with and without a transaction that keeps its snapshot from beginning to end. */
  async function heldSnapshot(): Promise<void> {
    const run = async (held: boolean, times: number[]) => {
      const sleeper = await pool.connect();
      if (held) await sleeper.query("begin isolation level repeatable read; select count(*) from millrace.queue");
      await enqueue(size.held);
      const jobsPerSecond = await rate(size.held, () => drain(size.held, "default", times));
      if (held) await sleeper.query("rollback");
      sleeper.release();
      return jobsPerSecond;
    };
    const times: number[][] = [];
    const measured = await alternate(
      quick ? 5 : 3,
      () => {
        const claims: number[] = [];
        times.push(claims);
        return run(true, claims);
      },
      () => run(false, []),
    );
    report(
      `the same with a snapshot held open, ${size.held.toLocaleString("en")} jobs (0.95)`,
      "held_snapshot",
      measured,
    );
    const tenths = times.map((claims) => {
      const tenth = Math.floor(claims.length / 10);
      return [median(claims.slice(0, tenth)), median(claims.slice(-tenth))] as const;
    });
    console.log(
      `    claim time under the snapshot: first tenth ${median(tenths.map(([first]) => first)).toFixed(2)} ms, last tenth ${median(tenths.map(([, last]) => last)).toFixed(2)} ms`,
    );
  }

  async function deepBacklog(): Promise<void> {
    for (const queue of ["shallow", "deep"]) await engine.queuePut(queue);
    await enqueue(size.deep, "deep");
    await pool.query("checkpoint");
    const sample = 10_000;
    const measured = await alternate(
      quick ? 9 : 15,
      () => rate(sample, () => drain(sample, "deep")),
      async () => {
        await enqueue(sample, "shallow");
        return rate(sample, () => drain(sample, "shallow"));
      },
    );
    report(
      `the same with a backlog of ${size.deep.toLocaleString("en")} against one of 10,000 (0.9)`,
      "deep_backlog",
      measured,
    );
    await engine.queuePurge("deep");
  }

  async function manyClaimers(): Promise<void> {
    await engine.queuePut("busy");
    const claimers = async (limit: number) => {
      await enqueue(size.seconds * (limit === 1 ? 6000 : 40_000), "busy");
      // a new connection plans every statement once; that is not what is measured here
      for (let i = 0; i < 2; i += 1)
        await Promise.all(Array.from({ length: 16 }, () => engine.claim({ limit, queues: ["busy"] })));
      const end = performance.now() + size.seconds * 1000;
      let jobs = 0;
      await Promise.all(
        Array.from({ length: 16 }, async () => {
          while (performance.now() < end) {
            const claimed = await engine.claim({ limit, queues: ["busy"] });
            jobs += claimed.length; // not in one expression: it would read the sum before it waits
          }
        }),
      );
      await engine.queuePurge("busy");
      await pool.query("truncate millrace.claim");
      return jobs / size.seconds;
    };
    report(
      "claim of 10 by 16 connections against the claim of 1, jobs/s (4)",
      "claim10_vs_claim1",
      await alternate(
        3,
        () => claimers(10),
        () => claimers(1),
      ),
    );
  }

  /** WAL of enqueue + claim + finish in batches of 100, next to a table that is updated and deleted from. */
  async function wal(): Promise<void> {
    const hundred = payloads(100);
    const written = async (work: () => Promise<void>) => {
      await pool.query("checkpoint");
      const [{ at }] = (await pool.query("select pg_current_wal_insert_lsn() as at")).rows as [{ at: string }];
      await work();
      const [{ bytes }] = (await pool.query("select pg_current_wal_insert_lsn() - $1::pg_lsn as bytes", [at])).rows as [
        { bytes: string },
      ];
      return Number(bytes) / size.wal;
    };
    await engine.queuePut("wal");
    results["wal_bytes_per_job"] = await written(async () => {
      for (let done = 0; done < size.wal; done += 100) {
        await engine.enqueueMany("noop", hundred, { queue: "wal" });
        const claimed = await engine.claim({ limit: 100, queues: ["wal"] });
        await engine.completeMany(
          claimed[0]?.token ?? "",
          claimed.map((job) => job.id),
        );
      }
    });
    results["wal_bytes_per_job_update_delete"] = await written(async () => {
      for (let done = 0; done < size.wal; done += 100) await usual.pass(JSON.stringify(hundred), 100);
    });
    console.log(
      `WAL per job, batches of 100: ${results["wal_bytes_per_job"].toFixed(0)} bytes; update + delete queue without history: ${results["wal_bytes_per_job_update_delete"].toFixed(0)} bytes`,
    );
  }
} finally {
  await pool.end();
  await server?.stop();
}

function report(what: string, key: string, measured: { ours: number; theirs: number; ratio: number }): void {
  results[key] = measured.ratio;
  const number = (n: number) => Math.round(n).toLocaleString("en").padStart(9);
  console.log(
    `${measured.ratio.toFixed(2).padStart(6)}  ${number(measured.ours)} / ${number(measured.theirs)} jobs/s  ${what}`,
  );
}

if (json)
  console.log(
    JSON.stringify(Object.fromEntries(Object.entries(results).map(([key, value]) => [key, Number(value.toFixed(3))]))),
  );
