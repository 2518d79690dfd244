// What fairness, limits and big operations cost: `npm run bench:flow`. Millrace alone; everything is compared with
// itself, in one run.
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { defineJob } from "../../src/job/define-job.js";
import { Millrace } from "../../src/client/with-workers.js";
import { migrate } from "../../src/db/migrate.js";
import { startEmbeddedServer } from "../../src/embedded/server.js";
import { median, payloads, rate } from "../engine/measure.js";
import { fingerprints } from "./fingerprints.js";
import { types } from "./types.js";

const quick = process.argv.includes("--quick");
const json = process.argv.includes("--json");
const only = process.argv.includes("--only") ? process.argv[process.argv.indexOf("--only") + 1] : undefined;
const size = quick
  ? {
      rounds: 3,
      jobs: 40_000,
      tenantJobs: 200_000,
      groups: 100_000,
      big: 200_000,
      seconds: 5,
      shallow: 10_000,
      deep: 1_000_000,
    }
  : {
      rounds: 5,
      jobs: 100_000,
      tenantJobs: 1_000_000,
      groups: 100_000,
      big: 1_000_000,
      seconds: 20,
      shallow: 10_000,
      deep: 10_000_000,
    };

const server = await startEmbeddedServer({
  settings: {
    shared_buffers: quick ? "2GB" : "5GB",
    max_wal_size: "16GB",
    checkpoint_timeout: "1h",
    max_connections: "100",
  },
});
const pool = new pg.Pool({ connectionString: server.url, max: 20 });
pool.on("error", () => {}); // the server stops before the pool does
const results: Record<string, number> = {};
const thousand = payloads(1000);
let made = 0;

try {
  await migrate(pool);
  const mill = new Millrace({ connection: pool });
  const { engine } = mill;
  if (isWanted("groups")) await groups();
  if (isWanted("small-tenants")) await smallTenants();
  if (isWanted("limits")) await limits();
  if (isWanted("operations")) await operations();
  const bench = { pool, engine, quick, newQueue, report };
  if (isWanted("types")) await types(bench);
  if (isWanted("fingerprints")) await fingerprints(bench);
  await mill.close();

  /** The same number of jobs in few groups and in many; and how long one newcomer waits among the most. */
  async function groups(): Promise<void> {
    const speeds = new Map<number, number[]>();
    const counts = [10, 1000, size.groups];
    for (let round = 0; round < Math.min(size.rounds, 3); round += 1) {
      for (const count of counts) {
        const queue = await newQueue();
        await fill(queue, size.tenantJobs, count);
        speeds.set(count, [...(speeds.get(count) ?? []), await drain(queue, size.tenantJobs)]);
      }
    }
    for (const count of counts)
      report(`jobs/s in ${count.toLocaleString("en")} groups`, `groups_${count}`, median(speeds.get(count)!));
    report(
      `${size.groups.toLocaleString("en")} groups against 10 (0.4)`,
      "groups_ratio",
      results[`groups_${size.groups}`]! / results["groups_10"]!,
    );

    const queue = await newQueue();
    await fill(queue, size.tenantJobs, size.groups);
    await engine.claim({ queues: [queue], limit: 1000 });
    await engine.enqueue({ type: "noop", queue, group: "newcomer" });
    for (let before = 0; ;) {
      const jobs = await engine.claim({ queues: [queue], limit: 1000 });
      const place = jobs.findIndex(({ group }) => group === "newcomer");
      if (place >= 0) {
        report("rounds of all groups before a newcomer's job (2)", "newcomer_rounds", (before + place) / size.groups);
        break;
      }
      if (jobs.length === 0) throw new Error("the newcomer's job never came");
      before += jobs.length;
    }
    await engine.queuePurge(queue);
  }

  /**
   * Fifty tenants send a job now and then: alone, beside one with a huge backlog in a group, and beside the same
   * backlog without groups.
   */
  async function smallTenants(): Promise<void> {
    for (const kind of ["alone", "beside", "without groups"] as const) {
      const queue = await newQueue();
      if (kind !== "alone") await fill(queue, size.big, kind === "beside" ? 1 : 0);
      const waits: number[] = [];
      const worker = mill
        .worker({ queues: [queue], concurrency: 20 })
        .handle(defineJob<{ sentAt?: number }>("noop"), async ({ input: { sentAt } }) => {
          if (sentAt !== undefined) waits.push(performance.now() - sentAt);
          await sleep(1);
        });
      await worker.start();
      await sleep(500);
      for (const end = performance.now() + size.seconds * 1000; performance.now() < end;) {
        const tenant = `small-${Math.floor(Math.random() * 50)}`;
        const options = { queue, ...(kind === "without groups" ? {} : { group: tenant }) };
        await mill.enqueue("noop", { sentAt: performance.now() }, options);
        await sleep(5 + Math.random() * 10);
      }
      await sleep(500);
      await worker.stop();
      const name = kind.replaceAll(" ", "_");
      if (waits.length === 0)
        report(`no job of a small tenant started within ${size.seconds} s, ${kind}`, `small_${name}_started`, 0);
      else {
        report(`ms a small tenant's job waits, median, ${kind}`, `small_${name}_p50`, median(waits));
        report(
          `ms a small tenant's job waits, 99th percentile, ${kind}`,
          `small_${name}_p99`,
          waits.sort((a, b) => a - b)[Math.floor(waits.length * 0.99)]!,
        );
      }
      await engine.queuePurge(queue);
    }
  }

  /** Drain with a limit that is checked at each claim, against the same without one. */
  async function limits(): Promise<void> {
    await engine.resourcePut("thing", { maxRunning: 100_000 });
    await engine.typePut("limited", { maxRunning: 100_000 });
    const kinds: Record<string, () => Promise<{ queue: string; type?: string; resources?: { thing: number } }>> = {
      none: async () => ({ queue: await newQueue() }),
      queue: async () => ({ queue: await newQueue({ maxRunning: 100_000 }) }),
      type: async () => ({ queue: await newQueue(), type: "limited" }),
      resource: async () => ({ queue: await newQueue(), resources: { thing: 1 } }),
      rate: async () => ({ queue: await newQueue({ rate: { perSecond: 1_000_000 } }) }),
    };
    const speeds = new Map<string, number[]>();
    for (let round = 0; round < size.rounds; round += 1) {
      for (const [name, make] of Object.entries(kinds)) {
        const { queue, type = "noop", ...options } = await make();
        for (let done = 0; done < size.jobs; done += 1000)
          await engine.enqueueMany(type, thousand, { queue, ...options });
        speeds.set(name, [...(speeds.get(name) ?? []), await drain(queue, size.jobs)]);
      }
    }
    const without = median(speeds.get("none")!);
    report("jobs/s without a limit", "limit_none", without);
    for (const name of Object.keys(kinds).slice(1))
      report(
        `with a limit of the ${name}, against none (0.8)`,
        `limit_${name}_ratio`,
        median(speeds.get(name)!) / without,
      );
  }

  /** What is done to a whole backlog must cost the same whatever its size. */
  async function operations(): Promise<void> {
    const times = new Map<string, number[]>();
    for (const depth of [size.shallow, size.deep]) {
      for (let round = 0; round < (depth === size.shallow ? size.rounds : 1); round += 1) {
        const queue = await newQueue();
        await fill(queue, depth, 0);
        const timed = async (name: string, work: () => Promise<unknown>): Promise<void> => {
          const startedAt = performance.now();
          await work();
          const key = `${name}_${depth}`;
          times.set(key, [...(times.get(key) ?? []), performance.now() - startedAt]);
        };
        await timed("pause", () => engine.queuePause(queue));
        await timed("resume", () => engine.queueResume(queue));
        await timed("set_aside", () => engine.queueSetAside(queue));
        await timed("purge", () => engine.queuePurge(queue));
      }
    }
    for (const name of ["pause", "resume", "set_aside", "purge"]) {
      for (const depth of [size.shallow, size.deep])
        report(
          `ms to ${name} with ${depth.toLocaleString("en")} waiting`,
          `${name}_${depth}`,
          median(times.get(`${name}_${depth}`)!),
        );
    }
  }

  async function newQueue(options: object = {}): Promise<string> {
    const name = `q${(made += 1)}`;
    await engine.queuePut(name, options);
    return name;
  }

  /** Jobs that fall into so many groups, one after another; 0: none. */
  async function fill(queue: string, jobs: number, count: number): Promise<void> {
    for (let done = 0; done < jobs; done += 1000) {
      if (count === 0) await engine.enqueueMany("noop", thousand, { queue });
      else if (count === 1) await engine.enqueueMany("noop", thousand, { queue, group: "big" });
      else
        await engine.enqueueEach(
          thousand.map((input, i) => ({ type: "noop", queue, input, group: `group-${(done + i) % count}` })),
        );
    }
  }

  /** Jobs per second of one worker. */
  async function drain(queue: string, jobs: number): Promise<number> {
    let handled = 0;
    const { promise: allHandled, resolve } = withResolvers();
    const worker = mill.worker({ queues: [queue], concurrency: 100 });
    for (const type of ["noop", "limited"])
      worker.handle(defineJob(type), () => void ((handled += 1) === jobs && resolve()));
    const speed = await rate(jobs, async () => {
      await worker.start();
      await allHandled;
    });
    await worker.stop();
    return speed;
  }
} finally {
  await pool.end();
  await server.stop();
}
if (json) console.log(JSON.stringify(results));

function isWanted(name: string): boolean {
  return only === undefined || only === name;
}

function report(what: string, key: string, value: number): void {
  results[key] = Math.round(value * 1000) / 1000;
  if (!json)
    console.log(`${value.toLocaleString("en", { maximumFractionDigits: value < 10 ? 2 : 0 }).padStart(12)}  ${what}`);
}

function withResolvers(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((done) => (resolve = done));
  return { promise, resolve };
}
