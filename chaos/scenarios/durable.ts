import { setTimeout as sleep } from "node:timers/promises";
import { type FlowWhen, JobEndedError, type JobId, type JobOptions, Millrace } from "millrace";
import pg from "pg";
import type { Child, RunInput, WaiterInput } from "../processes.js";
import type { Scenario } from "../scenario.js";
import type { World } from "../world.js";
import { killAtRandom } from "./limits.js";
import { survived } from "./server.js";

/** Where durable work leaves what it did: work of steps, what handlers saw of it, what was booked and heard. */
const tables = `
  create index on chaos.effect (job);
  create table chaos.work (job bigint not null, step text not null, attempt int not null, value text not null, at timestamptz not null default clock_timestamp());
  create table chaos.seen (job bigint not null, step text not null, value text not null, at timestamptz not null default clock_timestamp());
  create table chaos.booked (job bigint not null, value text not null);
  create table chaos.heard (job bigint not null, value text not null);
  create table chaos.blow (job bigint not null, place text not null, primary key (job, place));`;

const jobOptions: JobOptions = { maxAttempts: 1000, retryDelay: "100ms" };

/** Everywhere between two steps, and in each between its work and the commit of its value. */
const places = [
  ...["one", "two", "nap", "three", "book", "four", "call", "five", "end"].map((name) => `before ${name}`),
  ...["one", "two", "three", "book", "four", "five", "child"].map((name) => `in ${name}`),
];
/** Where a process is stopped until others have its jobs: what it does then must not count. */
const stops = ["in two", "in book", "before five"];
/** So long is a process stopped; leases last two seconds. */
const stoppedMs = 4000;

/**
 * Processes are killed at each place of a handler with five steps, a sleep, a transaction and a child, and some are
 * stopped past their lease, while they have other runs in hands too.
 */
export const runsKilled: Scenario = {
  name: "runs of steps, with workers killed between any two",
  async run(world) {
    await world.sql(tables);
    const mill = millOf(world);
    const inputs = Array.from({ length: world.many(95) }, (_, n): RunInput => {
      // one in five, so that the others die wherever they are
      const blow = n % 5 === 0 ? Math.floor(n / 5) % (places.length + stops.length) : -1;
      if (blow < 0) return {};
      return blow < places.length
        ? { place: places[blow]!, how: "kill" }
        : { place: stops[blow - places.length]!, how: "stop" };
    });
    for (const { id } of await mill.enqueueMany("run", inputs, jobOptions)) world.acknowledged.add(id);
    let isOver = false;
    const start = (): void => {
      const worker = world.durableWorker({ concurrency: 8 });
      worker.onSaid = ({ event }) => {
        if (event === "stopping") void sleep(stoppedMs).then(() => worker.kill("SIGCONT"));
      };
      void worker.exit.then(() => isOver || start());
    };
    for (let n = 0; n < 4; n += 1) start();
    await world.drained().finally(() => (isOver = true));
    await sleep(1000); // those that were stopped last learn of it

    await mustBeNone(
      world,
      "places at which nobody was harmed",
      "select unnest($1::text[]) except select place from chaos.blow",
      [places],
    );
    await mustBeNone(
      world,
      "steps that gave more than one value",
      `select job, step from chaos.seen group by 1, 2 having count(distinct value) > 1`,
    );
    await mustBeNone(
      world,
      "runs that have not seen all their steps",
      `select id from millrace.jobs left join chaos.seen on job = id where type = 'run' group by id having
        count(distinct step) <> 7`,
    );
    await mustBeNone(
      world,
      "steps that were done again although their value was there",
      `select w.job, w.step from chaos.seen s join chaos.work c using (job, step, value) join chaos.work w on
        w.job = c.job and w.step = c.step and w.at > c.at and w.attempt >= c.attempt`,
    );
    await mustBeNone(
      world,
      "values that no step has made",
      `select from chaos.seen s where step not in ('book', 'call') and not exists (select from chaos.work w where
        (w.job, w.step, w.value) = (s.job, s.step, s.value))`,
    );
    await mustBeNone(
      world,
      "runs that have not booked exactly once, what their step gave",
      `select id from millrace.jobs j where type = 'run' and (select array_agg(b.value) from chaos.booked b where
        b.job = j.id) is distinct from (select array_agg(distinct s.value) from chaos.seen s where s.job = j.id
        and s.step = 'book')`,
    );
    await mustBeNone(
      world,
      "runs without exactly one child",
      `select p.id from millrace.jobs p left join millrace.jobs c on c.parent = p.id where p.type = 'run' group
        by 1 having count(c.id) <> 1`,
    );
    const [row] = await world.sql<{ blows: number; again: number }>(
      "select (select count(*)::int from chaos.blow) as blows, (select count(*) - count(distinct (job, step)) from chaos.work)::int as again",
    );
    world.remarks.push(
      `${row?.blows} processes killed or stopped at ${places.length} places, ${row?.again} works of steps done again`,
    );
  },
};

/** The server goes down while nearly all jobs wait, while they are told, and while they go on. */
export const waitsThroughCrashes: Scenario = {
  name: "waits for signals, sleeps and children, with the server killed",
  async run(world) {
    await world.sql(tables);
    const mill = millOf(world);
    const count = world.many(1800);
    const inputs = Array.from(
      { length: count },
      (_, n): WaiterInput => [{ signals: 2 }, { sleepMs: 3000 + Math.random() * 3000 }, { calls: true }][n % 3]!,
    );
    const ids = (await mill.enqueueMany("waiter", inputs, jobOptions)).map(({ id }) => id);
    for (const id of ids) world.acknowledged.add(id);
    const workers = [world.durableWorker(), world.durableWorker()];
    const hit = async (): Promise<void> => {
      await world.server.stop("immediate");
      await sleep(Math.random() * 300);
      await world.restart();
    };
    await world.until(
      "nearly all have begun",
      async () => (await world.executions()) > count * 0.9,
      world.many(30_000), // as many more as there are
    );
    await hit();
    let told = 0;
    let failed = 0;
    let counted = 0;
    const telling = inEach(
      ids.filter((_, n) => inputs[n]?.signals),
      10,
      async (id) => {
        const tell = (value: string): Promise<number> => inTheEnd(() => mill.tell(id, "go", value, { id: value }));
        // the first twice at once, as a web hook may come
        for (const values of [["a", "a"], ["b"]])
          for (const failures of await Promise.all(values.map(tell))) failed += failures;
        // and once more when it was told: whoever asks must hear that it does not count
        await inTheEnd(async () => {
          if (await mill.tell(id, "go", "b", { id: "b" })) counted += 1;
        });
        told += 1;
      },
    );
    const blows = world.many(2);
    for (let blow = 1; blow <= blows; blow += 1) {
      await world.until("some more are told", () => told >= ((count / 3) * blow) / (blows + 1));
      await hit();
    }
    await telling;
    await hit();
    await world.drained();
    survived(workers);
    if (failed === 0) throw new Error("no signal met an absent server: the blows hit nobody");
    if (counted > 0) throw new Error(`${counted} signals were taken for new although they had been told`);
    await mustBeNone(
      world,
      "jobs that have not heard each signal once",
      `select id from millrace.jobs j where type = 'waiter' and (input ->> 'signals') is not null and (select
        array_agg(value order by value) from chaos.heard where job = j.id) is distinct from '{a,b}'`,
    );
    await mustBeNone(
      world,
      "jobs without exactly one end of their child",
      `select id from millrace.jobs j where type = 'waiter' and (input ->> 'calls') is not null and (select
        count(*) from chaos.heard where job = j.id) <> 1`,
    );
    await mustBeNone(
      world,
      "jobs without exactly one effect",
      `select id from millrace.jobs j where type = 'waiter' and (select count(*) from chaos.ledger where job =
        j.id) <> 1`,
    );
    world.remarks.push(
      `${blows + 2} restarts, ${told * 2} signals, ${failed} of ${told * 3} tellings failed and were sent again`,
    );
  },
};

/** Signals are told in transactions that commit late, or never; flows are stored so; and the workers are killed. */
export const flowsUnderAttack: Scenario = {
  name: "flows and late signals, with workers killed at random",
  async run(world) {
    await world.sql(tables);
    const pool = new pg.Pool({ connectionString: world.url, max: 30 });
    world.onClose(() => pool.end());
    const mill = millOf(world);
    const ids = (
      await mill.enqueueMany(
        "waiter",
        Array.from({ length: world.many(150) }, (): WaiterInput => ({ signals: 3 })),
        jobOptions,
      )
    ).map(({ id }) => id);
    for (const id of ids) world.acknowledged.add(id);
    const graphs: Graph[] = [];
    const start = (): Child => world.durableWorker({ concurrency: 8 });
    const killing = killAtRandom(world, [start(), start(), start()], world.isLong ? 90_000 : 8000, start);
    await Promise.all([
      inEach(ids, 20, async (id) => {
        await late(pool, "rollback", (tx) => mill.tell(id, "go", "never", { id: "late", tx }));
        await Promise.all([
          late(pool, "commit", (tx) => mill.tell(id, "go", "late", { id: "late", tx })),
          late(pool, "commit", (tx) => mill.tell(id, "go", "late too", { tx })),
          mill.tell(id, "go", "at once"),
        ]);
      }),
      inEach(
        Array.from({ length: world.many(60) }, (_, n) => n),
        5,
        async (n) => {
          const commits = n % 5 !== 0;
          await late(pool, commits ? "commit" : "rollback", async (tx) => {
            const graph = await store(mill, n, tx);
            if (commits) graphs.push(graph);
            else for (const id of graph.keys()) world.undone.add(id);
          });
        },
      ),
    ]);
    await killing;
    await world.drained();

    await mustBeNone(
      world,
      "jobs that have not heard each signal that was committed once, and no other",
      `select id from millrace.jobs j where type = 'waiter' and (select array_agg(value order by value) from
        chaos.heard where job = j.id) is distinct from array['at once', 'late', 'late too']`,
    );
    const wanted = graphs.flatMap((graph) => [...graph]);
    for (const [id, state] of wanted) if (state === "succeeded") world.acknowledged.add(id);
    await mustBeNone(
      world,
      "jobs of flows that have not ended as they should",
      `select w.id, w.state, j.state from unnest($1::bigint[], $2::text[]) w (id, state) left join millrace.jobs
        j using (id) where j.state is distinct from w.state`,
      [wanted.map(([id]) => id), wanted.map(([, state]) => state)],
    );
    await mustBeNone(
      world,
      "jobs of flows without exactly one effect, or none if they did not succeed",
      `select id from millrace.jobs j where type = 'link' and (select count(*) from chaos.ledger where job =
        j.id) <> case when state = 'succeeded' then 1 else 0 end`,
    );
    await mustBeNone(
      world,
      "jobs that were cancelled, and began",
      `select id from millrace.jobs j where type = 'link' and state = 'cancelled' and exists (select from
        chaos.effect where job = j.id)`,
    );
    await mustBeNone(
      world,
      "jobs that began before those that they wait for had ended",
      `select e.waiter from millrace.edge e join millrace.jobs p on p.id = e.target join chaos.effect x on x.job
        = e.waiter where x.at < p.finished_at`,
    );
    await mustBeNone(world, "jobs of flows that were rolled back", "select id from millrace.jobs where id = any ($1)", [
      [...world.undone],
    ]);
    world.remarks.push(`${ids.length * 3} signals, ${graphs.length} flows of ${wanted.length} jobs`);
  },
};

/** Jobs of a flow, and itself, and how each has to end. */
type Graph = Map<JobId, string>;

/**
 * Three jobs, of which one may fail; one that waits for all of them for each `when`; and one that waits for each of
 * these. The fourth of each three waits for a job that was there before.
 */
async function store(mill: Millrace, n: number, tx: pg.PoolClient): Promise<Graph> {
  const fails = n % 2 === 1;
  const options = { ...jobOptions };
  const pause = (): number => Math.random() * 300;
  const before = await mill.enqueue("link", { sleepMs: pause() }, options);
  const flow = mill.flow({ name: `flow-${n}` });
  const parents = [false, fails, false].map((isBad) => flow.add("link", { fails: isBad, sleepMs: pause() }, options));
  const states: string[] = ["succeeded", fails ? "failed" : "succeeded", "succeeded"];
  for (const when of ["succeeded", "failed", "ended"] as const satisfies FlowWhen[]) {
    const middle = flow.add("link", { sleepMs: pause() }, { ...options, after: [...parents, before.id], when });
    flow.add("link", { sleepMs: pause() }, { ...options, after: [middle] });
    const runs = when === "ended" || fails === (when === "failed");
    states.push(...Array.from({ length: 2 }, () => (runs ? "succeeded" : "cancelled")));
  }
  const { id, jobs } = await flow.enqueue({ tx });
  return new Map([[id, fails ? "failed" : "succeeded"], ...jobs.map((job, i) => [job, states[i]!] as const)]);
}

/** Do something in a transaction that ends some time later. */
async function late(pool: pg.Pool, end: "commit" | "rollback", work: (tx: pg.PoolClient) => Promise<unknown>) {
  const tx = await pool.connect();
  let isBroken = true;
  try {
    await tx.query("begin");
    await work(tx);
    await sleep(Math.random() ** 3 * 2500);
    await tx.query(end);
    isBroken = false;
  } finally {
    tx.release(isBroken);
  }
}

function millOf(world: World): Millrace {
  return new Millrace({ connection: world.pool });
}

/** Do something for each, so many at a time. */
async function inEach<T>(all: readonly T[], atOnce: number, work: (one: T) => Promise<void>): Promise<void> {
  const left = [...all];
  const one = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) await work(next);
  };
  await Promise.all(Array.from({ length: atOnce }, one));
}

/** Tell until it was told, while the server may be gone. Returns how often it failed. */
async function inTheEnd(work: () => Promise<unknown>): Promise<number> {
  for (let failures = 0; ; failures += 1) {
    try {
      await work();
      return failures;
    } catch (error) {
      if (error instanceof JobEndedError) return failures; // it was told, and the answer was lost
      if (failures > 600) throw error;
      await sleep(100);
    }
  }
}

/** What a query finds is wrong. */
async function mustBeNone(world: World, what: string, query: string, values: unknown[] = []): Promise<void> {
  const found = await world.sql(query, values);
  if (found.length > 0) throw new Error(`${found.length} ${what}, such as ${JSON.stringify(found[0])}`);
}
