import pg from "pg";
import { checkObject, shown } from "../db/check-options.js";
import { checkKeys } from "../db/encode.js";
import { Engine } from "../db/engine.js";
import type { Wake } from "../db/verbs/enqueue.js";
import { InvalidArgumentError } from "../db/errors.js";
import type { CallOptions, Transaction } from "../db/foreign.js";
import type { Answered, DecisionNote, Enqueued, EnqueueOptions, JobId, Json } from "../db/types.js";
import { type Logger, errorLine, loggerOf } from "../observe/logger.js";
import { devUrl } from "../embedded/dev-url.js";
import { type Metrics, guardMetrics, metricNames, noticeMetrics } from "../observe/metrics.js";
import { type Tracing, traceHeader } from "../observe/tracing.js";
import type { RuleInput } from "../schedule/rule.js";
import { Deliverer } from "../steps/deliverer.js";
import { runInProgress } from "../worker/run-in-progress.js";
import type { Worker } from "../worker/worker.js";
import type { WorkerOptions } from "../worker/worker-options.js";
import { type TxOptions, batchSize, callOf, idOf, noteOf } from "./call.js";
import type { AnyJobDefinition, JobDefinition } from "../job/define-job.js";
import { type Duration, timerMs } from "../job/duration.js";
import type { JobOptions } from "../job/job-options.js";
import { type Middleware, Middlewares } from "../job/middleware.js";
import { type EngineJob, given, newJob } from "../job/new-job.js";
import { CommitWatch } from "./commit-watch.js";
import { guardPool } from "./guard-pool.js";
import { Flow, type FlowOptions } from "./flow.js";
import { Jobs } from "./jobs.js";
import { Joined } from "./joined.js";
import { Queues } from "./queues.js";
import { Resources } from "./resources.js";
import { Results } from "./results.js";
import { type ScheduleOptions, type Scheduled, Schedules, jobOptionsOf } from "./schedules.js";
import { WakeUp } from "./wake-up.js";
import { type WhenFullOptions, whenThereIsRoom } from "./when-full.js";
import { makeWorker } from "./worker-maker.js";

/** Options of `new Millrace`. */
export interface MillraceOptions {
  /**
   * A connection string, the options of a `pg` Pool, or a Pool of yours (which you close). While Millrace uses it, a
   * connection that your pool loses is logged, and does not end the process. Default: the variable
   * `DATABASE_URL`, else the server of a `millrace dev` that runs in this folder.
   */
  readonly connection?: string | pg.PoolConfig | pg.Pool | undefined;
  /** The schema that holds the queue. Default `millrace`. */
  readonly schema?: string;
  /** Keep statements prepared on each connection. Default true; turn off behind poolers that cannot. */
  readonly prepare?: boolean;
  /** Where measurements go. Default nowhere. */
  readonly metrics?: Metrics;
  /** How runs join the trace of their enqueue. Default they do not. */
  readonly tracing?: Tracing;
  /**
   * Where failures and troubles are told: any object with `warn` and `error` that take an object and a text, such as a
   * pino logger; false for nowhere. Default the console, one line for each.
   */
  readonly logger?: Logger | false;
  /** The release of the application, such as a version or a commit: shown with its workers. Default none. */
  readonly release?: string;
  /** The application, where several share a database: schedules declared here belong to it. Default `default`. */
  readonly app?: string;
}

/** Options of one enqueue. */
export interface EnqueueCallOptions extends JobOptions, TxOptions, WhenFullOptions {
  /**
   * Wake workers from inside the transaction given as `tx`, when it commits: commits of the whole server that do so
   * wait for each other. Default false: this process asks until the transaction has ended, and wakes them then, some
   * milliseconds later.
   */
  readonly notify?: boolean;
}

/** Who is told something: a job, or the live job of a queue that has a fingerprint. */
export type SignalTarget = JobId | Pick<Enqueued, "id"> | { readonly queue?: string; readonly fingerprint: string };

/** Options of `mill.tell`. */
export interface TellOptions extends TxOptions {
  /** What the signal is known by, such as the id of a web hook: of those with the same id one counts. Default none. */
  readonly id?: string;
}

/** Options of `mill.result`. */
export interface ResultOptions {
  /** How long to wait. Default forever. */
  readonly timeout?: Duration;
  readonly signal?: AbortSignal;
  /**
   * Wait although this is called inside a handler, which keeps its slot meanwhile: a worker whose slots all wait for
   * jobs that nobody else runs stands still. `step.call` has no such price. Default false: it is refused there.
   */
  readonly holdSlot?: boolean;
}

/**
 * A queue on a PostgreSQL database: enqueue jobs, look at them, and make workers that run them.
 *
 * @example
 * ```ts
 * const mill = new Millrace({ connection: process.env.DATABASE_URL });
 * const hello = defineJob<{ name: string }>("hello");
 *
 * await mill.enqueue(hello, { name: "world" });
 *
 * const worker = mill.worker();
 * worker.handle(hello, async (job) => console.log(`Hello, ${job.input.name}`));
 * await worker.start();
 * ```
 */
export class Millrace {
  /** The verbs below this class, one per SQL function. */
  readonly engine: Engine;
  /** Looking at jobs, and changing many. */
  readonly jobs: Jobs;
  /** Queues as a whole. */
  readonly queues: Queues;
  /** What jobs need while they run. */
  readonly resources: Resources;
  /** Recurring work. */
  readonly schedules: Schedules;
  readonly #pool: pg.Pool;
  readonly #ownsPool: boolean;
  readonly #options: MillraceOptions;
  readonly #wakeUp: WakeUp;
  readonly #commits: CommitWatch;
  readonly #joined: Joined;
  readonly #results: Results;
  readonly #deliverer: Deliverer;
  readonly #workers = new Set<Worker>();
  readonly #metrics: Metrics | undefined;
  readonly #logger: Logger | undefined;
  readonly #middlewares = new Middlewares();
  readonly #unguardPool: (() => void) | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: MillraceOptions = {}) {
    checkKeys(options, new Set(["connection", "schema", "prepare", "metrics", "tracing", "logger", "release", "app"]));
    const connection = options.connection ?? (process.env["DATABASE_URL"] || devUrl());
    if (!connection)
      throw new InvalidArgumentError(
        "no database given",
        'pass connection, set DATABASE_URL, or run "millrace dev" in this folder',
      );
    this.#ownsPool = !isPool(connection);
    this.#pool = isPool(connection) ? connection : newPool(connection);
    this.#options = options;
    this.#logger = loggerOf(options.logger);
    if (!this.#ownsPool)
      this.#unguardPool = guardPool(this.#pool, (error) =>
        this.#logger?.warn({ err: error }, `the pool has lost a connection: ${errorLine(error)}`),
      );
    this.#metrics = options.metrics && guardMetrics(options.metrics);
    this.engine = new Engine({
      pool: this.#pool,
      ...(options.schema === undefined ? {} : { schema: options.schema }),
      ...(options.prepare === undefined ? {} : { prepare: options.prepare }),
    });
    this.jobs = new Jobs(this.engine);
    this.queues = new Queues(this.engine);
    this.resources = new Resources(this.engine);
    this.schedules = new Schedules(this.engine, options.app ?? "default", () => this.#wakeSchedulers());
    this.#wakeUp = new WakeUp(this.engine);
    this.#commits = new CommitWatch(
      this.engine,
      () => hasRoom(this.#pool),
      (name) => this.#wakeUp.tell(name),
    );
    this.#joined = new Joined(this.engine);
    this.#results = new Results(this.engine);
    this.#deliverer = new Deliverer(this.engine, undefined, noticeMetrics(this.#metrics));
  }

  /**
   * Store one job. Its id is known before anything commits. Without `tx` it has been committed when this resolves;
   * calls that come while others are on their way may share a statement with them, and a commit.
   */
  async enqueue<In = unknown, Result = unknown>(
    definition: JobDefinition<In, unknown, unknown, Result> | string,
    input: NoInfer<In>,
    options: EnqueueCallOptions = {},
  ): Promise<Enqueued<Result>> {
    checkObject(options, "options");
    const { tx, notify, whenFull, maxWait, ...jobOptions } = options;
    const job = await this.#newJob(definition, input, jobOptions);
    const store = async (ready: EngineJob): Promise<Enqueued<Result>> => {
      const [enqueued] = await this.#store(ready, 1, { tx, notify }, async (wake) => [
        await whenThereIsRoom(given({ whenFull, maxWait }), tx !== undefined, () =>
          typeof wake === "string" || tx === undefined
            ? this.#joined.enqueue(ready, wake as string | undefined)
            : this.engine.enqueue(ready, callOf({ tx }), wake),
        ),
      ]);
      return enqueued!;
    };
    return this.#middlewares.isForJobs
      ? this.#middlewares.storing(job, [job.input], ([written], headers) =>
          store({ ...job, ...headersOf(headers), input: written }),
        )
      : store(job);
  }

  /**
   * Store many jobs, a thousand in each statement. An array commits as a whole; anything else that can be iterated,
   * such as a stream, commits in batches as it goes (or in your `tx`), so that it never has to fit into memory.
   *
   * @example
   * ```ts
   * await mill.enqueueMany(resize, keys.map((key) => ({ key })));
   * const { count } = await mill.enqueueMany(resize, fs.createReadStream("inputs.ndjson").pipe(parseLines));
   * ```
   */
  async enqueueMany<In = unknown, Result = unknown>(
    definition: JobDefinition<In, unknown, unknown, Result> | string,
    inputs: readonly NoInfer<In>[],
    options?: EnqueueCallOptions,
  ): Promise<Enqueued<Result>[]>;
  async enqueueMany<In = unknown>(
    definition: JobDefinition<In, unknown> | string,
    inputs: Iterable<NoInfer<In>> | AsyncIterable<NoInfer<In>>,
    options?: EnqueueCallOptions,
  ): Promise<{ readonly count: number }>;
  async enqueueMany(
    definition: AnyJobDefinition | string,
    inputs: Iterable<unknown> | AsyncIterable<unknown>,
    options: EnqueueCallOptions = {},
  ): Promise<Enqueued[] | { readonly count: number }> {
    checkObject(options, "options");
    checkIterable(inputs);
    const { tx, notify, whenFull, maxWait, ...jobOptions } = options;
    if (jobOptions.payload !== undefined)
      throw new InvalidArgumentError("enqueueMany takes no payload", "give each job its own with enqueue");
    const { type, queue, input: _input, ...shared } = await this.#newJob(definition, undefined, jobOptions, false);
    const put = (batch: readonly unknown[], options: EnqueueOptions): Promise<Enqueued[]> =>
      this.#store({ type, queue }, batch.length, { tx, notify }, (wake) =>
        whenThereIsRoom(given({ whenFull, maxWait }), tx !== undefined, () =>
          this.engine.enqueueMany(
            type,
            batch,
            { ...options, ...(queue === undefined ? {} : { queue }) },
            callOf({ tx }),
            wake,
          ),
        ),
      );
    const store = async (batch: readonly unknown[]): Promise<Enqueued[]> => {
      await checkInputs(definition, batch);
      return this.#middlewares.isForJobs
        ? this.#middlewares.storing({ type, queue, headers: shared.headers }, batch, (written, headers) =>
            put(written, { ...shared, ...headersOf(headers) }),
          )
        : put(batch, shared);
    };
    if (Array.isArray(inputs)) return store(inputs);
    let count = 0;
    for await (const batch of inBatches(inputs)) count += (await store(batch)).length;
    return { count };
  }

  /**
   * Begin a flow: jobs that wait for each other, stored together. Or add to one (`to`), for example from a handler of
   * one
   * of its jobs: those who wait for the flow wait for the new ones too.
   *
   * @example
   * ```ts
   * const flow = mill.flow({ name: "import-7" });
   * const a = flow.add(extract, { file: "1.csv" });
   * const b = flow.add(extract, { file: "2.csv" });
   * flow.add(load, { table: "t" }, { after: [a, b] });
   * await flow.enqueue();
   * ```
   */
  flow(options: FlowOptions = {}): Flow {
    return new Flow(
      {
        newJob: async (definition, input, jobOptions) => {
          const job = await this.#newJob(definition, input, jobOptions);
          return this.#middlewares.isForJobs ? this.#middlewares.ready(job) : job;
        },
        store: async (jobs, { to, ...target }, txOptions) => {
          const stored = await this.engine.enqueueFlow(
            jobs,
            to === undefined ? target : { flow: idOf(to) },
            callOf(txOptions),
          );
          if (txOptions.tx === undefined) {
            this.#deliverer.ask();
            for (const queue of new Set(jobs.map((job) => job.options?.queue ?? "default"))) this.#wakeUp.tell(queue);
          }
          return stored;
        },
      },
      options,
    );
  }

  /**
   * Declare recurring work. The same again changes nothing, so that every process may do it when it starts; the answer
   * says what changed, and when it runs next. Its rule is one of `cron`, `every` (fixed rate), `after` (counted from
   * the end of a run), `rrule`, `times` and `at`; see docs/schedules.md.
   *
   * @example
   * ```ts
   * await mill.schedule("nightly", { cron: "0 3 * * *", tz: "Europe/Berlin" }, report, { kind: "daily" });
   * await mill.schedule("sync", { every: "10s" }, sync, null, { overlap: "skip", missed: "none" });
   * ```
   */
  async schedule<In = unknown>(
    name: string,
    rule: RuleInput,
    definition: JobDefinition<In, unknown> | string,
    input: NoInfer<In>,
    options: ScheduleOptions = {},
  ): Promise<Scheduled> {
    return this.schedules.declare(name, rule, await this.#newJob(definition, input, jobOptionsOf(options)), options);
  }

  /**
   * Repeat a job endlessly under one key: `period` after it has ended, in success or failure, it is due again.
   * Cancelling its job, or removing the schedule of that name, stops it.
   *
   * @example
   * ```ts
   * await mill.repeat("poll:acme", "30s", poll, { tenant: "acme" });
   * ```
   */
  async repeat<In = unknown>(
    key: string,
    period: Duration,
    definition: JobDefinition<In, unknown> | string,
    input: NoInfer<In>,
    options: Omit<ScheduleOptions, "overlap" | "missed" | "afterFailure"> = {},
  ): Promise<Scheduled> {
    const job = await this.#newJob(definition, input, jobOptionsOf(options));
    return this.schedules.declare(
      key,
      { after: period },
      job,
      { ...options, afterFailure: "skip" },
      { cancelStops: true },
    );
  }

  #wakeSchedulers(): void {
    for (const worker of this.#workers) worker.wakeScheduler();
  }

  #newJob(
    definition: AnyJobDefinition | string,
    input: unknown,
    options: JobOptions,
    check = true,
  ): Promise<EngineJob> {
    return newJob(definition, input, this.#traced(options), check);
  }

  #traced(options: JobOptions): JobOptions {
    const trace = this.#options.tracing?.current();
    return trace === undefined || options.headers?.[traceHeader] !== undefined
      ? options
      : { ...options, headers: { ...options.headers, [traceHeader]: trace } };
  }

  #countEnqueued(type: string, queue = "default", jobs: readonly Enqueued[]): void {
    this.#metrics?.count(metricNames.enqueued, { type, queue }, jobs.filter((job) => !job.duplicate).length);
  }

  /** Store jobs, count them, and wake workers: in the same commit when `store` is given the queue to wake. */
  async #store(
    { type, queue = "default" }: { readonly type: string; readonly queue?: string | undefined },
    jobs: number,
    { tx, notify }: { readonly tx: Transaction | undefined; readonly notify: boolean | undefined },
    store: (wake: Wake | undefined) => Promise<Enqueued[]>,
  ): Promise<Enqueued[]> {
    if (tx) {
      const made = await store(notify ? undefined : (xid) => this.#commits.add(xid, queue));
      this.#countEnqueued(type, queue, made);
      if (notify) await this.engine.notify([queue], { tx });
      return made;
    }
    const carried = this.#wakeUp.mayBeCarried(jobs);
    const startedAt = performance.now();
    const made = await store(carried ? queue : undefined);
    this.#countEnqueued(type, queue, made);
    if (carried) this.#wakeUp.wasCarried(performance.now() - startedAt, jobs);
    else this.#wakeUp.tell(queue);
    return made;
  }

  /**
   * Wait until a job has ended, and get its result, of the type that its definition says. Rejects with JobFailedError
   * when it failed, expired or was cancelled.
   *
   * @example
   * ```ts
   * const job = await mill.enqueue(resize, { key: "a.png" });
   * const { width } = await mill.result(job, { timeout: "1m" });
   * ```
   */
  async result<Result>(
    job: JobId | Pick<Enqueued<Result>, "id" | "types">,
    options: ResultOptions = {},
  ): Promise<unknown extends Result ? Json : Result> {
    checkKeys(options, new Set(["timeout", "signal", "holdSlot"]));
    if (runInProgress.getStore() && !options.holdSlot) {
      throw new InvalidArgumentError(
        "a handler that waits for another job keeps its slot meanwhile, which the other may need",
        "use step.call, which waits without a slot, or say holdSlot: true",
      );
    }
    const timeoutMs = options.timeout === undefined ? Infinity : timerMs(options.timeout, "timeout");
    const result = await this.#results.wait(idOf(job), timeoutMs, options.signal);
    return (this.#middlewares.hasCodec ? await this.#middlewares.read(result, "result") : result) as never;
  }

  /**
   * Send a signal to a job, by its id or by its fingerprint, for `step.waitFor`. It is kept until the job waits for it.
   * In your `tx` it is sent when that commits. With an `id` it counts once. Resolves to whether it is new.
   *
   * @example
   * ```ts
   * await mill.tell(job, "approved", { by: "ann" });
   * await mill.tell({ queue: "orders", fingerprint: "order-7" }, "paid", event.data, { id: event.id });
   * ```
   */
  async tell(job: SignalTarget, name: string, value?: unknown, options: TellOptions = {}): Promise<boolean> {
    const call = callOf(options, ["id"]);
    const isNew = await this.engine.tell(await this.#target(job, call), name, value, {
      ...call,
      ...(options.id === undefined ? {} : { id: options.id }),
    });
    this.#metrics?.count(metricNames.signals, { outcome: isNew ? "new" : "known" });
    if (isNew && options.tx === undefined) this.#deliverer.ask();
    return isNew;
  }

  /**
   * End the wait that a callback token was given out for (`step.token`): its job is sent the signal, with this value.
   * The token is the right: it counts once, until it expires. Rejects with TokenRefusedError otherwise. In your `tx` it
   * counts when that commits; another answer with the same token waits for it.
   *
   * @example
   * ```ts
   * const { job } = await mill.answer(request.query.token, { approved: true });
   * ```
   */
  async answer(token: string, value?: unknown, options: TxOptions = {}): Promise<Answered> {
    const answered = await this.engine.answer(token, value, callOf(options));
    this.#metrics?.count(metricNames.signals, { outcome: "new" });
    if (options.tx === undefined) this.#deliverer.ask();
    return answered;
  }

  async #target(job: SignalTarget, call: CallOptions | undefined): Promise<JobId> {
    if (typeof job === "string" || "id" in job) return idOf(job);
    return this.engine.liveJobOf(job.queue ?? "default", job.fingerprint, call);
  }

  /** Cancel one job. False when it had ended already. `mill.jobs.decisions` tells who did it, and why. */
  async cancel(job: JobId | Pick<Enqueued, "id">, options: TxOptions & DecisionNote = {}): Promise<boolean> {
    const call = callOf(options, ["by", "because"]);
    const { by, because } = noteOf(options);
    const isCancelled = (await this.engine.cancel([idOf(job)], because, { ...call, ...given({ by }) })) === 1;
    if (isCancelled && options.tx === undefined) this.#deliverer.ask(); // its children end too
    return isCancelled;
  }

  /** Give a failed or expired job one more attempt (or several). False when it is in neither state, or discarded. */
  async retry(
    job: JobId | Pick<Enqueued, "id">,
    options: TxOptions & DecisionNote & { readonly attempts?: number } = {},
  ): Promise<boolean> {
    const call = callOf(options, ["attempts", "by", "because"]);
    return (await this.engine.addRetries(options.attempts ?? 1, { ids: [idOf(job)], ...noteOf(options) }, call)) === 1;
  }

  /**
   * Do something around enqueues and runs: pass a context on, report errors, encrypt inputs and results. Before
   * anything is enqueued and before workers start. The first that is given is the outermost. Without any, nothing is
   * paid.
   *
   * @example
   * ```ts
   * mill.use({
   *   enqueue: async (call, next) => {
   *     call.headers["request-id"] = requestId.getStore() ?? null;
   *     await next();
   *   },
   *   run: ({ jobs }, next) => requestId.run(String(jobs[0]?.headers?.["request-id"]), next),
   * });
   * ```
   */
  use(middleware: Middleware): this {
    this.#middlewares.add(middleware);
    return this;
  }

  /** A worker on this database. Give it handlers, then start it. */
  worker(options: WorkerOptions = {}): Worker {
    const worker = makeWorker(options, {
      engine: this.engine,
      pool: this.#pool,
      metrics: this.#metrics,
      tracing: this.#options.tracing,
      logger: this.#logger,
      middlewares: this.#middlewares,
      release: this.#options.release ?? null,
      undeclared: () => this.schedules.undeclared(),
    });
    this.#workers.add(worker);
    worker.once("stopped", () => this.#workers.delete(worker));
    return worker;
  }

  /** Stop the workers, send what is left to send, and close the connections (not those of a Pool you passed in). */
  async close(): Promise<void> {
    this.#closing ??= this.#close();
    await this.#closing;
  }

  async #close(): Promise<void> {
    await Promise.all([...this.#workers].map((worker) => worker.stop()));
    await this.#commits.close();
    await this.#wakeUp.close();
    await this.#deliverer.idle();
    if (this.#ownsPool) await this.#pool.end();
    this.#unguardPool?.();
  }

  /** The same as `close`, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

export function isPool(connection: string | pg.PoolConfig | pg.Pool): connection is pg.Pool {
  return typeof connection === "object" && "connect" in connection && typeof connection.connect === "function";
}

/** A connection is free, or may be made. */
function hasRoom({ idleCount, totalCount, waitingCount, options }: pg.Pool): boolean {
  return waitingCount === 0 && (idleCount > 0 || totalCount < options.max);
}

/** A pool as it suits a queue. */
export function newPool(connection: string | pg.PoolConfig): pg.Pool {
  const config = typeof connection === "string" ? { connectionString: connection } : connection;
  try {
    void new pg.Client(config); // reads the options, and does not connect
  } catch (error) {
    throw new InvalidArgumentError(
      "the connection string cannot be read",
      "correct DATABASE_URL, or the connection passed in",
      error,
    );
  }
  // A process that has nothing else to do ends, without waiting for idle connections. A new connection plans every
  // statement again, so that idle ones are kept for longer than the ten seconds of pg. The system asks the other end of
  // a silent connection whether it is still there, so that one that was forgotten on the way breaks within half a
  // minute.
  const pool = new pg.Pool({
    allowExitOnIdle: true,
    idleTimeoutMillis: 300_000,
    connectionTimeoutMillis: 30_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    ...config,
  });
  pool.on("error", () => {}); // an idle connection that dies is replaced; the next call tells when that fails
  // One that dies in the moment it is handed out is heard by nobody yet: its greeting and its end may come in one
  // packet.
  pool.on("connect", (client) => client.on("error", () => {}));
  return pool;
}

function headersOf(headers: NonNullable<EnqueueOptions["headers"]>): Pick<EnqueueOptions, "headers"> {
  return Object.keys(headers).length === 0 ? {} : { headers };
}

/** A text and bytes can be iterated too, but nobody means a job for each of their characters. */
function checkIterable(inputs: unknown): void {
  const isList = typeof inputs === "object" && inputs !== null && !ArrayBuffer.isView(inputs);
  if (isList && (Symbol.iterator in inputs || Symbol.asyncIterator in inputs)) return;
  throw new InvalidArgumentError(
    `inputs cannot be ${shown(inputs)}`,
    "give an array, or anything else that can be iterated, such as a stream",
  );
}

async function checkInputs(definition: AnyJobDefinition | string, inputs: readonly unknown[]): Promise<void> {
  if (typeof definition !== "string") for (const input of inputs) await definition.checkInput(input);
}

async function* inBatches(inputs: Iterable<unknown> | AsyncIterable<unknown>): AsyncGenerator<unknown[]> {
  let batch: unknown[] = [];
  for await (const input of inputs) {
    if (batch.push(input) < batchSize) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
