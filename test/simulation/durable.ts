import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { Millrace } from "../../src/client/with-workers.js";
import { MillraceError } from "../../src/db/errors.js";
import { migrate } from "../../src/db/migrate.js";
import type { Release } from "../../src/db/schema-version.js";
import type { FlowWhen, JobId } from "../../src/db/types.js";
import { defineJob } from "../../src/job/define-job.js";
import { PermanentError } from "../../src/job/permanent-error.js";
import type { Worker } from "../../src/worker/worker.js";
import { DurableBooks } from "./durable-books.js";
import { isDisconnect } from "./findings.js";
import { Random } from "./random.js";
import { smallRing, withText } from "./simulation.js";

/** What is written down in one row for ten or more jobs of a flow is for two here, so that it happens. */
export function fewAreMany(): Release {
  return withText(smallRing(), (text) => text.replaceAll("v_many constant int := 10;", "v_many constant int := 2;"));
}

export interface DurableOptions {
  readonly url: string;
  readonly seed: number;
  readonly seconds: number;
  /** Sessions are ended at random, and workers cut off for longer than their leases. Default true. */
  readonly kill?: boolean;
  /** The SQL to run; tests give mutants. */
  readonly release?: Release;
  /** How long nothing may change before everything has ended. Default 30 seconds. */
  readonly drainMs?: number;
}

export interface DurableResult {
  readonly runs: number;
  readonly flows: number;
  readonly signals: number;
  readonly killed: number;
  readonly cutOff: number;
  readonly rewinds: number;
  readonly purges: number;
  /** Steps whose work was done again because it had not been committed. */
  readonly again: number;
  /** What went wrong; empty when everything holds. */
  readonly violations: readonly string[];
}

interface RunInput {
  readonly signals: number;
  /** Waits for signals give up soon, and begin again. */
  readonly impatient: boolean;
  readonly sleeps: boolean;
  readonly children: number;
  /** Where the children are: those of the queue "purged" may be dropped. */
  readonly childQueue: string;
  /** Fails for good at its end, and undoes. */
  readonly fails: boolean;
}

const leaseMs = 1000;
const queues = ["durable", "purged"];
const run = defineJob<RunInput>("run", { maxAttempts: 1000, retryDelay: "50ms" });
const child = defineJob<{ fails: boolean }, string>("child", { maxAttempts: 1000, retryDelay: "50ms" });
const link = defineJob<{ fails: boolean }>("link", { maxAttempts: 1000, retryDelay: "50ms" });
const plain = { maxAttempts: 1000, retryDelay: "50ms", queue: "durable" } as const;

/**
 * Runs of steps, sleeps, signals and children, and flows, by three workers that are killed and cut off; cancels, some
 * of which roll back, rewinds and purges all the while. Afterwards everything has to end, and the books must be right.
 */
export async function simulateDurable(options: DurableOptions): Promise<DurableResult> {
  const pool = new pg.Pool({ connectionString: options.url, max: 30, statement_timeout: 20_000 });
  quiet(pool);
  const opened: CuttablePool[] = [];
  try {
    await pool.query("drop schema if exists millrace cascade");
    await migrate(pool, { release: options.release ?? fewAreMany() });
    return await new DurableSimulation(options, pool, opened).run();
  } finally {
    await Promise.all([pool, ...opened].map((one) => one.end().catch(() => {})));
  }
}

class DurableSimulation {
  readonly #random: Random;
  readonly #mill: Millrace;
  readonly #books = new DurableBooks();
  readonly #end: number;
  readonly #workers: { readonly worker: Worker; readonly pool: CuttablePool }[] = [];
  #killed = 0;
  #cutOff = 0;
  #rewinds = 0;
  #purges = 0;
  #signals = 0;
  #isStuck = false;

  constructor(
    readonly options: DurableOptions,
    readonly pool: pg.Pool,
    readonly opened: CuttablePool[],
  ) {
    this.#random = new Random(options.seed);
    this.#mill = new Millrace({ connection: pool, logger: false });
    this.#end = Date.now() + options.seconds * 1000;
  }

  async run(): Promise<DurableResult> {
    for (const queue of queues) await this.#mill.engine.queuePut(queue);
    for (let n = 0; n < 3; n += 1) await this.#startWorker(n);
    const kills = this.options.kill !== false;
    await Promise.all([
      ...[1, 2, 3].map(() => this.#again(80, () => this.#startRun())),
      ...[1, 2].map(() => this.#again(200, () => this.#startFlow())),
      this.#again(100, () => this.#almostCancel()),
      this.#again(150, () => this.#rewind()),
      this.#again(400, () => this.#cancel()),
      this.#again(200, () => this.#purge()),
      ...(kills ? [this.#again(200, () => this.#kill()), this.#again(1500, () => this.#cut())] : []),
    ]);
    await this.#books.settled();
    await this.#drain();
    await Promise.all(this.#workers.map(({ worker }) => worker.stop({ force: true }).catch(() => {})));
    const found = this.#isStuck ? [] : await this.#books.look(this.pool);
    return {
      runs: this.#books.runs.size,
      flows: this.#books.flows.length,
      signals: this.#signals,
      killed: this.#killed,
      cutOff: this.#cutOff,
      rewinds: this.#rewinds,
      purges: this.#purges,
      again: this.#books.again,
      violations: [...this.#books.violations, ...found],
    };
  }

  async #startWorker(n: number): Promise<void> {
    const pool = new CuttablePool({ connectionString: this.options.url, max: 6, application_name: `worker-${n}` });
    this.opened.push(pool);
    const mill = new Millrace({ connection: pool, logger: false });
    const worker = mill.worker({
      queues,
      concurrency: 20,
      lease: leaseMs,
      pollInterval: 50,
      heartbeatThread: false,
    });
    const books = this.#books;
    worker.handle(run, async (job, { step }) => {
      const call = books.begin(job.id);
      const work = (name: string, fails = false): Promise<string> =>
        step
          .run(name, () => call.did(name), { undo: () => call.undid(name) })
          .then((value) => {
            call.saw(name, value);
            if (fails) throw new PermanentError("it was told to");
            return value;
          });
      const { signals, impatient, sleeps, children, childQueue, fails } = job.input;
      await work("one");
      if (sleeps) await step.sleep("nap", 20);
      await Promise.all([work("two"), work("three")]);
      const heard: string[] = [];
      while (heard.length < signals) {
        const value = await step.waitFor<string>("go", impatient ? { timeout: 30 } : {});
        if (value !== null) heard.push(value);
      }
      call.heard(heard);
      if (children > 0) {
        const inputs = Array.from({ length: children }, (_, i) => ({ fails: i === 1 }));
        await step.map("parts", child, inputs, { queue: childQueue, delay: 50 }).catch(ignoreFailed);
        await step.call("last", child, { fails: false }, { queue: "durable" });
      }
      await work("four", fails);
    });
    worker.handle(child, (job) => {
      if (job.input.fails) throw new PermanentError("it was told to");
      return job.id;
    });
    worker.handle(link, (job) => {
      if (job.input.fails) throw new PermanentError("it was told to");
    });
    worker.on("error", () => {});
    await worker.start();
    this.#workers.push({ worker, pool });
  }

  async #startRun(): Promise<void> {
    const random = this.#random;
    const signals = random.chance(0.5) ? random.between(1, 3) : 0;
    const input: RunInput = {
      signals,
      impatient: random.chance(0.3),
      sleeps: random.chance(0.3),
      children: random.chance(0.3) ? random.between(1, 3) : 0,
      childQueue: random.pick(queues),
      fails: random.chance(0.15),
    };
    const { id } = await this.#mill.enqueue(run, input, { queue: "durable" });
    this.#books.runs.set(id, { signals, fails: input.fails });
    // until they are told, whatever happens: else the run would wait for ever, rightly
    this.#books.later(this.#tellAll(id, signals));
  }

  /** One after the other, so that there is an order; each in one of the ways that may go wrong. */
  async #tellAll(id: JobId, count: number): Promise<void> {
    const random = this.#random;
    for (let n = 0; n < count; n += 1) {
      const value = `${n}`;
      const how = random.next();
      if (how < 0.2) {
        await this.#insist(() =>
          this.#inTransaction("rollback", (tx) => this.#mill.tell(id, "go", "never", { id: value, tx })),
        );
      }
      await this.#insist(async () => {
        if (how < 0.5) {
          await this.#inTransaction("commit", (tx) => this.#mill.tell(id, "go", value, { id: value, tx }));
        } else {
          const twice = how < 0.8 ? 2 : 1;
          await Promise.all(Array.from({ length: twice }, () => this.#mill.tell(id, "go", value, { id: value })));
        }
      });
      this.#signals += 1;
    }
  }

  /** Up to eight jobs, each after some before it, one of them perhaps after a job that was there, and may be purged. */
  async #startFlow(): Promise<void> {
    const random = this.#random;
    const before = await this.#mill.enqueue(
      link,
      { fails: false },
      {
        ...plain,
        queue: random.pick(queues),
        delay: random.between(0, 300),
      },
    );
    const flow = this.#mill.flow({ name: `flow-${this.options.seed}`, queue: "durable" });
    const handles: ReturnType<typeof flow.add>[] = [];
    const members: { after: number[]; isAfterOther: boolean; when: FlowWhen }[] = [];
    for (let n = random.between(2, 8); n > 0; n -= 1) {
      const after = handles.flatMap((_, i) => (random.chance(0.4) ? [i] : []));
      const isAfterOther = random.chance(0.3);
      const when = random.pick<FlowWhen>(["succeeded", "failed", "ended"]);
      const others = [...after.map((i) => handles[i]!), ...(isAfterOther ? [before.id] : [])];
      const options = { ...plain, ...(others.length > 0 ? { after: others, when } : {}) };
      handles.push(flow.add(link, { fails: random.chance(0.25) }, options));
      members.push({ after, isAfterOther, when });
    }
    const end = random.chance(0.8) ? "commit" : "rollback";
    const stored = await this.#inTransaction(end, (tx) => flow.enqueue({ tx }));
    if (end === "rollback") return;
    const idOf = (i: number): JobId => stored.jobs[i]!;
    this.#books.flows.push({
      id: stored.id,
      jobs: members.map(({ after, isAfterOther, when }, i) => ({
        id: idOf(i),
        after: [...after.map(idOf), ...(isAfterOther ? [before.id] : [])],
        when,
      })),
    });
  }

  /** Somebody has suspended jobs in hands for a moment, and lets them go. */
  async #almostCancel(): Promise<void> {
    const { rows } = await this.pool.query<{ id: JobId }>(
      "select job_id as id from millrace.agenda where waits is not null order by random() limit 3",
    );
    const ids = rows.map(({ id }) => id);
    if (ids.length > 0) await this.#inTransaction("rollback", (tx) => this.#mill.engine.cancel(ids, undefined, { tx }));
  }

  /** Runs that wait for no signal: those that were got before a rewind would not come again. */
  async #rewind(): Promise<void> {
    const id = await this.#pickRun("state in ('suspended', 'failed')");
    if (id === undefined || this.#books.runs.get(id)?.signals !== 0) return;
    this.#books.rewound.add(id);
    await this.#refusable(this.#mill.jobs.rewind(id, { to: "one" }).then(() => (this.#rewinds += 1)));
  }

  async #cancel(): Promise<void> {
    const id = await this.#pickRun("state in ('suspended', 'running')");
    if (id === undefined) return;
    this.#books.cancelled.add(id);
    await this.#refusable(this.#mill.cancel(id));
  }

  async #pickRun(where: string): Promise<JobId | undefined> {
    const { rows } = await this.pool.query<{ id: JobId }>(
      `select id from millrace.jobs where type = 'run' and ${where} order by random() limit 1`,
    );
    return rows[0]?.id;
  }

  /** The job may have begun or ended meanwhile. */
  async #refusable(work: Promise<unknown>): Promise<void> {
    await work.catch((error: unknown) => {
      if (!(error instanceof MillraceError) || isDisconnect(error)) throw error;
    });
  }

  async #purge(): Promise<void> {
    this.#purges += await this.#mill.queues.purge("purged");
  }

  async #kill(): Promise<void> {
    const { rowCount } = await this.pool.query(
      `select pg_terminate_backend(pid) from (select pid from pg_stat_activity where datname = current_database()
        and application_name like 'worker-%' and xact_start is not null order by random() limit 1) x`,
    );
    this.#killed += rowCount ?? 0;
  }

  /** A worker hears nothing of the server until others have its jobs, and goes on as if nothing had been. */
  async #cut(): Promise<void> {
    const n = this.#random.between(0, this.#workers.length - 1);
    this.#workers[n]!.pool.isCutUntil = Date.now() + leaseMs * 1.5;
    await this.pool.query("select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1", [
      `worker-${n}`,
    ]);
    this.#cutOff += 1;
  }

  /** A transaction that may stay open for a while after what it did. */
  async #inTransaction<T>(end: "commit" | "rollback", work: (tx: pg.PoolClient) => Promise<T>): Promise<T> {
    const tx = await this.pool.connect();
    let isBroken = true;
    try {
      await tx.query("begin");
      const result = await work(tx);
      if (this.#random.chance(0.5)) await sleep(this.#random.next() ** 2 * 300);
      await tx.query(end);
      isBroken = false;
      return result;
    } finally {
      tx.release(isBroken);
    }
  }

  async #again(paceMs: number, work: () => Promise<unknown>): Promise<void> {
    while (Date.now() < this.#end) {
      await sleep(this.#random.between(0, paceMs * 2));
      await work().catch((error: unknown) => this.#note(error));
    }
  }

  /** A signal that has to be told in the end. */
  async #insist(work: () => Promise<unknown>): Promise<void> {
    for (let failures = 0; failures < 100; failures += 1) {
      try {
        await work();
        return;
      } catch (error) {
        if (error instanceof MillraceError && error.code === "MR017") return; // it was told, and the answer was lost
        this.#note(error);
        await sleep(20);
      }
    }
  }

  #note(error: unknown): void {
    if (!isDisconnect(error)) this.#books.violations.add(`error: ${String(error)}`);
  }

  /** Until all have ended, or nothing has changed for too long. */
  async #drain(): Promise<void> {
    const patienceMs = this.options.drainMs ?? 30_000;
    let last = "";
    for (let by = Date.now() + patienceMs; ; await sleep(100)) {
      const { rows } = await this.pool.query<{ what: string }>(
        `select count(*) || ' jobs: ' || type || ' is ' || state || ' ' || coalesce(min(waits::text), '') as what
           from millrace.jobs where state not in ('succeeded', 'failed', 'expired', 'cancelled')
          group by type, state order by 1`,
      );
      if (rows.length === 0) return;
      const now = JSON.stringify(rows);
      if (now !== last) [last, by] = [now, Date.now() + patienceMs];
      if (Date.now() < by) continue;
      for (const { what } of rows) this.#books.violations.add(`has not ended: ${what}`);
      this.#isStuck = true;
      return;
    }
  }
}

/** A pool that gives no connections for a while, as if the network were gone. */
class CuttablePool extends pg.Pool {
  isCutUntil = 0;

  constructor(config: pg.PoolConfig) {
    super({ ...config, connectionTimeoutMillis: 5000 });
    quiet(this);
    const connect = this.connect.bind(this);
    const open = async (): Promise<pg.PoolClient> => {
      await sleep(Math.max(0, this.isCutUntil - Date.now()));
      return connect();
    };
    // pool.query takes the form with a callback
    const answer = (callback: (...answer: unknown[]) => void): void =>
      void open().then(
        (client) => callback(undefined, client, (error?: Error | boolean) => client.release(error)),
        (error: unknown) => callback(error),
      );
    this.connect = ((callback?: (...answer: unknown[]) => void) =>
      callback ? answer(callback) : open()) as typeof this.connect;
  }
}

function quiet(pool: pg.Pool): void {
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {}));
}

/** Of a child, by its parent. */
function ignoreFailed(error: unknown): void {
  if (!(error instanceof Error && error.name === "JobFailedError")) throw error;
}
