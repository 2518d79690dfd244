import pg from "pg";
import { checkKeys } from "../db/encode.js";
import { Engine } from "../db/engine.js";
import { InvalidArgumentError } from "../db/errors.js";
import type { Transaction } from "../db/foreign.js";
import type {
  CancelFilter,
  CountFilter,
  DecisionNote,
  DecisionRecord,
  Defaults,
  Depth,
  EnqueueOptions,
  Enqueued,
  GroupDepth,
  GroupOptions,
  JobCounts,
  JobDetails,
  JobId,
  JobRecord,
  Json,
  ListFilter,
  PauseRecord,
  QueuePart,
  QueueRecord,
  RunStats,
} from "../db/types.js";
import { type Metrics, guardMetrics, metricNames } from "../observe/metrics.js";
import { type Tracing, traceHeader } from "../observe/tracing.js";
import { Worker } from "../worker/worker.js";
import type { WorkerOptions } from "../worker/worker-options.js";
import { type AnyJobDefinition, type JobDefinition, versionHeader } from "./define-job.js";
import { type Duration, durationSeconds, timerMs } from "./duration.js";
import { type JobOptions, toEngineOptions } from "./job-options.js";
import { Results } from "./results.js";
import { WakeUp } from "./wake-up.js";
import { type WhenFullOptions, whenThereIsRoom } from "./when-full.js";

/** Options of `new Millrace`. */
export interface MillraceOptions {
  /** A connection string, the options of a `pg` Pool, or a Pool of yours (which you close). Default: the variable `DATABASE_URL`. */
  readonly connection?: string | pg.PoolConfig | pg.Pool;
  /** The schema that holds the queue. Default `millrace`. */
  readonly schema?: string;
  /** Keep statements prepared on each connection. Default true; turn off behind poolers that cannot. */
  readonly prepare?: boolean;
  /** Where measurements go. Default nowhere. */
  readonly metrics?: Metrics;
  /** How runs join the trace of their enqueue. Default they do not. */
  readonly tracing?: Tracing;
}

/** In which transaction a call happens. */
export interface TxOptions {
  /** The transaction to use, and only it. Default: the call commits by itself. */
  readonly tx?: Transaction;
}

/** Options of one enqueue. */
export interface EnqueueCallOptions extends JobOptions, TxOptions, WhenFullOptions {
  /** Wake workers from inside the transaction given as `tx`, when it commits. Costs the server more; default false: they find the job when they poll. */
  readonly notify?: boolean;
}

/** Options of `mill.result`. */
export interface ResultOptions {
  /** How long to wait. Default forever. */
  readonly timeout?: Duration;
  readonly signal?: AbortSignal;
}

/** Which runs to look at, and how far back. */
export interface DurationsFilter {
  /** Only of this type. Default all. */
  readonly type?: string;
  /** Only of this queue. Default all. */
  readonly queue?: string;
  /** Windows up to now, 1 to 100 of them. Default a minute, an hour and a day. */
  readonly windows?: readonly Duration[];
}

const batchSize = 1000;

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
  readonly #pool: pg.Pool;
  readonly #ownsPool: boolean;
  readonly #options: MillraceOptions;
  readonly #wakeUp: WakeUp;
  readonly #results: Results;
  readonly #workers = new Set<Worker>();
  readonly #metrics: Metrics | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: MillraceOptions = {}) {
    checkKeys(options, new Set(["connection", "schema", "prepare", "metrics", "tracing"]));
    const connection = options.connection ?? process.env["DATABASE_URL"];
    if (!connection) throw new InvalidArgumentError("no database given", "pass connection, or set DATABASE_URL");
    this.#ownsPool = !isPool(connection);
    this.#pool = isPool(connection) ? connection : newPool(connection);
    this.#options = options;
    this.#metrics = options.metrics && guardMetrics(options.metrics);
    this.engine = new Engine({
      pool: this.#pool,
      ...(options.schema === undefined ? {} : { schema: options.schema }),
      ...(options.prepare === undefined ? {} : { prepare: options.prepare }),
    });
    this.jobs = new Jobs(this.engine);
    this.queues = new Queues(this.engine);
    this.#wakeUp = new WakeUp(this.engine);
    this.#results = new Results(this.engine);
  }

  /** Store one job. Its id is known before anything commits. */
  async enqueue<In>(
    definition: JobDefinition<In, never, never, never> | AnyJobDefinition | string,
    input: In,
    options: EnqueueCallOptions = {},
  ): Promise<Enqueued> {
    const { tx, notify, whenFull, maxWait, ...jobOptions } = options;
    const job = await this.#newJob(definition, input, jobOptions);
    const wake = tx || !this.#wakeUp.mayBeCarried() ? undefined : (job.queue ?? "default");
    const startedAt = performance.now();
    const enqueued = await whenThereIsRoom(given({ whenFull, maxWait }), tx !== undefined, () => this.engine.enqueue(job, callOf({ tx }), wake));
    this.#countEnqueued(job.type, job.queue, [enqueued]);
    if (wake === undefined) await this.#wake(job.queue, tx, notify);
    else this.#wakeUp.wasCarried(performance.now() - startedAt);
    return enqueued;
  }

  /**
   * Store many jobs, a thousand in each statement. An array commits as a whole; anything else that can be iterated, such as a
   * stream, commits in batches as it goes (or in your `tx`), so that it never has to fit into memory.
   *
   * @example
   * ```ts
   * await mill.enqueueMany(resize, keys.map((key) => ({ key })));
   * const { count } = await mill.enqueueMany(resize, fs.createReadStream("inputs.ndjson").pipe(parseLines));
   * ```
   */
  async enqueueMany<In>(
    definition: JobDefinition<In, never, never, never> | AnyJobDefinition | string,
    inputs: readonly In[],
    options?: EnqueueCallOptions,
  ): Promise<Enqueued[]>;
  async enqueueMany<In>(
    definition: JobDefinition<In, never, never, never> | AnyJobDefinition | string,
    inputs: Iterable<In> | AsyncIterable<In>,
    options?: EnqueueCallOptions,
  ): Promise<{ readonly count: number }>;
  async enqueueMany(
    definition: AnyJobDefinition | string,
    inputs: Iterable<unknown> | AsyncIterable<unknown>,
    options: EnqueueCallOptions = {},
  ): Promise<Enqueued[] | { readonly count: number }> {
    const { tx, notify, whenFull, maxWait, ...jobOptions } = options;
    if (jobOptions.payload !== undefined) throw new InvalidArgumentError("enqueueMany takes no payload", "give each job its own with enqueue");
    const { type, queue, input: _input, ...shared } = await this.#newJob(definition, undefined, jobOptions, false);
    const store = async (batch: readonly unknown[]): Promise<Enqueued[]> => {
      await checkInputs(definition, batch);
      const made = await whenThereIsRoom(given({ whenFull, maxWait }), tx !== undefined, () =>
        this.engine.enqueueMany(type, batch, { ...shared, ...(queue === undefined ? {} : { queue }) }, callOf({ tx })),
      );
      this.#countEnqueued(type, queue, made);
      await this.#wake(queue, tx, notify);
      return made;
    };
    if (Array.isArray(inputs)) return store(inputs);
    let count = 0;
    for await (const batch of inBatches(inputs)) count += (await store(batch)).length;
    return { count };
  }

  async #newJob(
    definition: AnyJobDefinition | string,
    input: unknown,
    options: JobOptions,
    check = true,
  ): Promise<EnqueueOptions & { type: string; input: unknown }> {
    if (typeof definition === "string") return { ...toEngineOptions(this.#traced(options)), type: definition, input };
    if (typeof definition?.checkInput !== "function")
      throw new InvalidArgumentError("this is not a job definition", "make one with defineJob, or give a type's name");
    if (check) await definition.checkInput(input);
    const { type, version, defaults } = definition;
    const versioned = version === 1 ? options : { ...options, headers: { ...options.headers, [versionHeader]: version } };
    return { ...toEngineOptions({ ...defaults, ...given(this.#traced(versioned)) }), type, input };
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

  async #wake(queue = "default", tx: Transaction | undefined, notify: boolean | undefined): Promise<void> {
    if (!tx) this.#wakeUp.tell(queue);
    else if (notify) await this.engine.notify([queue], { tx });
  }

  /**
   * Wait until a job has ended, and get its result. Rejects with JobFailedError when it failed, expired or was cancelled.
   *
   * @example
   * ```ts
   * const job = await mill.enqueue(resize, { key: "a.png" });
   * const { width } = await mill.result<{ width: number }>(job, { timeout: "1m" });
   * ```
   */
  async result<Result = Json>(job: JobId | Pick<Enqueued, "id">, options: ResultOptions = {}): Promise<Result> {
    checkKeys(options, new Set(["timeout", "signal"]));
    const timeoutMs = options.timeout === undefined ? Infinity : timerMs(options.timeout, "timeout");
    return (await this.#results.wait(idOf(job), timeoutMs, options.signal)) as Result;
  }

  /** Cancel one job. False when it had ended already. */
  async cancel(job: JobId | Pick<Enqueued, "id">, options: TxOptions & { readonly because?: string } = {}): Promise<boolean> {
    return (await this.engine.cancel([idOf(job)], options.because, callOf(options, ["because"]))) === 1;
  }

  /** Give a failed or expired job one more attempt (or several). False when it is in neither state, or discarded. */
  async retry(job: JobId | Pick<Enqueued, "id">, options: TxOptions & DecisionNote & { readonly attempts?: number } = {}): Promise<boolean> {
    const call = callOf(options, ["attempts", "by", "because"]);
    return (await this.engine.addRetries(options.attempts ?? 1, { ids: [idOf(job)], ...noteOf(options) }, call)) === 1;
  }

  /** A worker on this database. Give it handlers, then start it. */
  worker(options: WorkerOptions = {}): Worker {
    const worker = new Worker(options, { engine: this.engine, pool: this.#pool, metrics: this.#metrics, tracing: this.#options.tracing });
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
    await this.#wakeUp.close();
    if (this.#ownsPool) await this.#pool.end();
  }

  /** The same as `close`, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/** Looking at jobs, and changing many. */
export class Jobs {
  constructor(
    /** The verbs below this class, one per SQL function. */
    readonly engine: Engine,
  ) {}

  /** One job with its attempts and progress; null when there is none. */
  async get(id: JobId, options: TxOptions = {}): Promise<JobDetails | null> {
    return this.engine.get(id, callOf(options));
  }

  /** Jobs that match every filter given, newest first. */
  async list(filter: ListFilter = {}, options: TxOptions = {}): Promise<JobRecord[]> {
    return this.engine.list(filter, callOf(options));
  }

  /**
   * How many jobs that match every filter given are in each state; at least one filter. A tenant's are found quickly, others by looking at all.
   *
   * @example
   * ```ts
   * const { ready, running, failed } = await mill.jobs.count({ tenant: "acme" });
   * ```
   */
  async count(filter: CountFilter, options: TxOptions = {}): Promise<JobCounts> {
    return this.engine.count(filter, callOf(options));
  }

  /**
   * How many runs ended within each window up to now, and how long they took: one entry per type and window.
   *
   * @example
   * ```ts
   * for (const { windowSeconds, runs, averageSeconds } of await mill.jobs.durations({ type: "resize", windows: ["1h", "1d"] }))
   *   console.log(`${runs} in ${windowSeconds} s, ${averageSeconds} s each`);
   * ```
   */
  async durations(filter: DurationsFilter = {}, options: TxOptions = {}): Promise<RunStats[]> {
    checkKeys(filter, new Set(["type", "queue", "windows"]));
    const { windows, ...rest } = filter;
    const windowsSeconds = windows?.map((window) => durationSeconds(window, "windows"));
    return this.engine.runStats({ ...rest, ...(windowsSeconds === undefined ? {} : { windowsSeconds }) }, callOf(options));
  }

  /** The jobs that are next in line. */
  async peek(queue = "default", limit = 10, options: TxOptions = {}): Promise<JobRecord[]> {
    return this.engine.peek(queue, limit, callOf(options));
  }

  /** Cancel all live jobs that match every filter given. Returns how many. */
  async cancel(filter: CancelFilter, options: TxOptions = {}): Promise<number> {
    return this.engine.cancelWhere(filter, callOf(options));
  }

  /** Give failed and expired jobs more attempts: the given ids, or all of a type. Discarded ones are left alone. Returns how many. */
  async retry(
    which: ({ readonly ids: readonly JobId[] } | { readonly type: string; readonly queue?: string }) & DecisionNote,
    attempts = 1,
    options: TxOptions = {},
  ): Promise<number> {
    return this.engine.addRetries(attempts, which, callOf(options));
  }

  /**
   * Decide that nobody will retry a failed or expired job. It keeps its state, but is no longer listed with `undecided`, and can no longer be retried.
   * False when it is in neither state, or was discarded before.
   *
   * @example
   * ```ts
   * for (const job of await mill.jobs.list({ undecided: true })) await mill.jobs.discard(job, { by: "ann", because: "the customer has left" });
   * ```
   */
  async discard(job: JobId | Pick<Enqueued, "id">, options: TxOptions & DecisionNote = {}): Promise<boolean> {
    return (await this.engine.discard([idOf(job)], noteOf(options), callOf(options, ["by", "because"]))) === 1;
  }

  /** Who retried or discarded a job, when and why; oldest first. Kept as long as the job. */
  async decisions(job: JobId | Pick<Enqueued, "id">, options: TxOptions = {}): Promise<DecisionRecord[]> {
    return this.engine.decisions(idOf(job), callOf(options));
  }

  /** What a running job has left for others to see; null when nothing. */
  async progress(id: JobId, options: TxOptions = {}): Promise<{ value: Json; updatedAt: Date } | null> {
    return this.engine.progressGet(id, callOf(options));
  }
}

/** Queues as a whole. */
export class Queues {
  constructor(
    /** The verbs below this class, one per SQL function. */
    readonly engine: Engine,
  ) {}

  /** Create a queue, or change its defaults. */
  async put(name: string, defaults: Defaults = {}, options: TxOptions = {}): Promise<void> {
    await this.engine.queuePut(name, defaults, callOf(options));
  }

  /** All queues with their state and counts. */
  async list(options: TxOptions = {}): Promise<QueueRecord[]> {
    return this.engine.queueList(callOf(options));
  }

  /**
   * Hand out no more jobs of a queue, or only of a type or a group of it, in any process, until that is resumed. Running ones go on.
   *
   * ```ts
   * await mill.queues.pause("mail", { group: "acme", because: "they asked for it", by: "ann" });
   * await mill.queues.resume("mail", { group: "acme" });
   * ```
   */
  async pause(name: string, why: QueuePart & { readonly by?: string; readonly because?: string } = {}, options: TxOptions = {}): Promise<void> {
    return this.engine.queuePause(name, why, callOf(options));
  }

  /** Hand out jobs of a paused queue, or of the part of it that was paused, again. */
  async resume(name: string, part: QueuePart = {}, options: TxOptions = {}): Promise<void> {
    return this.engine.queueResume(name, part, callOf(options));
  }

  /** What is paused, by whom and why: whole queues, and types and groups of them. */
  async pauses(options: TxOptions = {}): Promise<PauseRecord[]> {
    return this.engine.pauses(callOf(options));
  }

  /**
   * Set how a group is treated: a weight of 3 gives it three jobs for every one of a group with weight 1, while both have work.
   *
   * ```ts
   * await mill.queues.setGroup("mail", "acme", { weight: 3 });
   * ```
   */
  async setGroup(name: string, group: string, how: GroupOptions, options: TxOptions = {}): Promise<void> {
    await this.engine.groupPut(name, group, how, callOf(options));
  }

  /** Drop all waiting jobs, whatever their number, at the same cost. Returns how many. */
  async purge(name: string, options: TxOptions = {}): Promise<number> {
    return this.engine.purge(name, callOf(options));
  }

  /**
   * Drop the waiting jobs, or only those of a type or a group, that were enqueued before a time. The cost does not depend on how many are ready.
   * They are cancelled at once. Returns how many have left the depth already; beyond 100,000, and those of groups, do as they are passed over.
   *
   * ```ts
   * await mill.queues.shed("mail", new Date(Date.now() - 3_600_000));
   * ```
   */
  async shed(name: string, before: Date, part: QueuePart = {}, options: TxOptions = {}): Promise<number> {
    return this.engine.queueShed(name, before, part, callOf(options));
  }

  /**
   * Set what waits aside: jobs that come from now on go first, the others are handed out when there are no such jobs, oldest first.
   * The cost does not depend on how much it is. Returns how many jobs now wait set aside. Not for queues whose jobs have groups.
   *
   * ```ts
   * await mill.queues.setAside("mail", { type: "newsletter" });
   * ```
   */
  async setAside(name: string, part: Pick<QueuePart, "type"> = {}, options: TxOptions = {}): Promise<number> {
    return this.engine.queueSetAside(name, part, callOf(options));
  }

  /** Move waiting dead letters back to where they came from, or to `target`. Returns how many. */
  async redrive(name: string, how: { readonly target?: string; readonly limit?: number } = {}, options: TxOptions = {}): Promise<number> {
    return this.engine.redrive(name, how, callOf(options));
  }

  /** How much waits and runs, at constant cost. */
  async depth(name = "default", options: TxOptions = {}): Promise<Depth> {
    return this.engine.depth(name, callOf(options));
  }

  /** How much waits, is delayed and runs for each group, the one with the most waiting first. Costs more the longer the backlog is. */
  async groups(name = "default", limit = 100, options: TxOptions = {}): Promise<GroupDepth[]> {
    return this.engine.queueGroups(name, limit, callOf(options));
  }
}

/** The transaction of a call. An option nobody knows is refused: a misspelt `tx` would commit by itself. */
function callOf(options: { readonly tx?: Transaction | undefined }, others: readonly string[] = []): { tx: Transaction } | undefined {
  checkKeys(options, new Set(["tx", ...others]));
  return options.tx === undefined ? undefined : { tx: options.tx };
}

function noteOf({ by, because }: DecisionNote): DecisionNote {
  return { ...(by === undefined ? {} : { by }), ...(because === undefined ? {} : { because }) };
}

const idOf = (job: JobId | Pick<Enqueued, "id">): JobId => (typeof job === "string" ? job : job.id);

function isPool(connection: string | pg.PoolConfig | pg.Pool): connection is pg.Pool {
  return typeof connection === "object" && "connect" in connection && typeof connection.connect === "function";
}

function newPool(connection: string | pg.PoolConfig): pg.Pool {
  const config = typeof connection === "string" ? { connectionString: connection } : connection;
  try {
    void new pg.Client(config); // reads the options, and does not connect
  } catch (error) {
    throw new InvalidArgumentError("the connection string cannot be read", "correct DATABASE_URL, or the connection passed in", error);
  }
  // A process that has nothing else to do ends, without waiting for idle connections.
  // A new connection plans every statement again, so that idle ones are kept for longer than the ten seconds of pg.
  const pool = new pg.Pool({ allowExitOnIdle: true, idleTimeoutMillis: 300_000, ...config });
  pool.on("error", () => {}); // an idle connection that dies is replaced; the next call tells when that fails
  // One that dies in the moment it is handed out is heard by nobody yet: its greeting and its end may come in one packet.
  pool.on("connect", (client) => client.on("error", () => {}));
  return pool;
}

/** An option that is undefined was not given: the definition's default holds. */
function given<Options extends object>(options: Options): { [Key in keyof Options]: Exclude<Options[Key], undefined> } {
  return (Object.values(options).includes(undefined) ? Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) : options) as {
    [Key in keyof Options]: Exclude<Options[Key], undefined>;
  };
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
