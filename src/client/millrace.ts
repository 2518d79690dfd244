import { checkObject, shown } from "../db/check-options.js";
import { checkKeys } from "../db/encode.js";
import type { Cells } from "../cells/cells.js";
import type { Engine } from "../db/engine.js";
import { InvalidArgumentError } from "../db/errors.js";
import type { CallOptions, FollowedCall } from "../db/foreign.js";
import type { Answered, DecisionNote, Enqueued, EnqueueOptions, HistoryPoint, JobId, Json } from "../db/types.js";
import { type Logger, loggerOf } from "../observe/logger.js";
import { type Metrics, guardMetrics, metricNames, noticeMetrics } from "../observe/metrics.js";
import { traceHeader } from "../observe/tracing.js";
import type { RuleInput } from "../schedule/rule.js";
import { Deliverer } from "../steps/deliverer.js";
import { isInHandler } from "../worker/run-in-progress.js";
import type { Worker } from "../worker/worker.js";
import type { WorkerOptions } from "../worker/worker-options.js";
import { type TxOptions, batchSize, callOf, idOf, noteOf } from "./call.js";
import type { AnyJobDefinition, JobDefinition } from "../job/define-job.js";
import { type Duration, durationSeconds, timerMs } from "../job/duration.js";
import type { JobOptions } from "../job/job-options.js";
import { type Middleware, Middlewares } from "../job/middleware.js";
import { type EngineJob, given, newJob } from "../job/new-job.js";
import { Alerts } from "./alerts.js";
import { Flow, type FlowOptions } from "./flow.js";
import { Jobs } from "./jobs.js";
import { Joined } from "./joined.js";
import { Queues } from "./queues.js";
import { ManyCells, openMany } from "./many-cells.js";
import type { MillraceOptions } from "./millrace-options.js";
import { OneCell, connectionOf } from "./one-cell.js";
import type { Place, Told } from "./place.js";
import { Resources } from "./resources.js";
import { Types } from "./types.js";
import { Cell } from "./cell.js";
import { type ScheduleOptions, type Scheduled, Schedules, jobOptionsOf } from "./schedules.js";
import { WakeUp } from "./wake-up.js";
import { Workers } from "./workers.js";
import { type WhenFullOptions, whenThereIsRoom } from "./when-full.js";

const optionKeys = new Set([
  "connection",
  "cells",
  "citus",
  "schema",
  "prepare",
  "metrics",
  "tracing",
  "logger",
  "release",
  "app",
]);

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

/** Options of `mill.history`. */
export interface HistoryOptions extends TxOptions {
  /** Of a queue. Default all of them together. */
  readonly queue?: string;
  /** Of a type of the queue. Default all of it. */
  readonly type?: string;
  /** How far back: by the minute up to a day, by the hour up to thirty days. Default `"1h"`. */
  readonly last?: Duration;
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
  /** Types of jobs, in all queues. */
  readonly types: Types;
  /** What jobs need while they run. */
  readonly resources: Resources;
  /** Recurring work. */
  readonly schedules: Schedules;
  /** Workers of all processes. */
  readonly workers: Workers;
  /** Rules that watch the queue, and whom they notify. */
  readonly alerts: Alerts;
  /** Defaults of all jobs, and how long is kept what has ended. */
  readonly cell: Cell;
  /** The cells, where there are several; undefined with one. */
  readonly cells: Cells | undefined;
  readonly #place: Place;
  readonly #options: MillraceOptions;
  readonly #wakeUp: WakeUp;
  readonly #joined: Joined;
  readonly #deliverer: Deliverer;
  readonly #workers = new Set<Worker>();
  readonly #metrics: Metrics | undefined;
  readonly #logger: Logger | undefined;
  readonly #middlewares = new Middlewares();
  #closing: Promise<void> | undefined;

  constructor(options: MillraceOptions = {}) {
    checkKeys(options, optionKeys);
    this.#options = options;
    this.#logger = loggerOf(options.logger);
    this.#metrics = options.metrics && guardMetrics(options.metrics);
    const parts = { options, logger: this.#logger, tell: (told: Told) => this.#tell(told) };
    const many = openMany(options);
    this.#place = many ? new ManyCells(many, parts) : new OneCell(connectionOf(options), parts);
    this.engine = this.#place.engine;
    this.cells = this.#place.cells;
    this.jobs = new Jobs(this.engine);
    this.queues = new Queues(this.engine);
    this.types = new Types(this.engine);
    this.resources = new Resources(this.engine);
    this.cell = new Cell(this.engine);
    this.schedules = new Schedules(this.engine, options.app ?? "default", () => this.#wakeSchedulers());
    this.workers = new Workers(this.engine);
    this.alerts = new Alerts(this.engine, (options) => this.worker(options));
    this.#wakeUp = new WakeUp(this.engine);
    this.#joined = new Joined(this.engine);
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
    const { tx, near, notify, whenFull, maxWait, ...jobOptions } = options;
    const asked = callOf({ tx, near });
    const job = await this.#newJob(definition, input, jobOptions);
    const store = async (ready: EngineJob): Promise<Enqueued<Result>> => {
      const [enqueued] = await this.#store(ready, 1, asked, notify, async (wake, call) => [
        await whenThereIsRoom(given({ whenFull, maxWait }), tx !== undefined, () =>
          call === undefined ? this.#joined.enqueue(ready, wake) : this.engine.enqueue(ready, call),
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
    const { tx, near, notify, whenFull, maxWait, ...jobOptions } = options;
    const asked = callOf({ tx, near });
    if (jobOptions.payload !== undefined)
      throw new InvalidArgumentError("enqueueMany takes no payload", "give each job its own with enqueue");
    const { type, queue, input: _input, ...shared } = await this.#newJob(definition, undefined, jobOptions, false);
    const put = (batch: readonly unknown[], options: EnqueueOptions): Promise<Enqueued[]> =>
      this.#store({ type, queue }, batch.length, asked, notify, (wake, call) =>
        whenThereIsRoom(given({ whenFull, maxWait }), tx !== undefined, () =>
          this.engine.enqueueMany(type, batch, { ...options, ...(queue === undefined ? {} : { queue }) }, call, wake),
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
          const flow = to === undefined ? target : { flow: idOf(to) };
          return this.#thenTell(
            callOf(txOptions),
            (call) => this.engine.flowEnqueue(jobs, flow, call),
            ({ id }) => ({ queues: [...new Set(jobs.map((job) => job.options?.queue ?? "default"))], job: id }),
          );
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

  /** Something was stored, and committed. */
  #tell({ queues, near, job }: Told): void {
    // On the node of a tenant they find what is there by polling, should this fail; and what was told, they alone.
    if (near !== undefined) return void this.engine.queueNotify(queues, { near }).catch(() => {});
    for (const queue of queues) this.#wakeUp.tell(queue);
    if (job !== undefined) this.#deliverer.ask();
  }

  /** A call, and what follows from it: told at once, or when the caller's transaction has committed. */
  async #thenTell<T>(
    call: CallOptions | undefined,
    act: (call: CallOptions | undefined) => Promise<T>,
    what: (done: T) => Told | undefined,
  ): Promise<T> {
    let xid: string | undefined;
    const followed: FollowedCall | undefined = call && { ...call, follow: (number) => (xid = number) };
    const done = await act(followed);
    const told = what(done);
    if (told && xid !== undefined) this.#place.committing(xid, { ...told, ...given({ near: call?.near }) });
    else if (told && call === undefined) this.#tell(told);
    return done;
  }

  #countEnqueued(type: string, queue = "default", jobs: readonly Enqueued[]): void {
    this.#metrics?.count(metricNames.enqueued, { type, queue }, jobs.filter((job) => !job.duplicate).length);
  }

  /** Store jobs, count them, and wake workers: in the same commit when `store` is given the queue to wake. */
  async #store(
    { type, queue = "default" }: { readonly type: string; readonly queue?: string | undefined },
    jobs: number,
    call: CallOptions | undefined,
    notify: boolean | undefined,
    store: (wake: string | undefined, call: CallOptions | undefined) => Promise<Enqueued[]>,
  ): Promise<Enqueued[]> {
    if (call) return this.#storeIn(call, { type, queue }, notify, store);
    const carried = this.#wakeUp.mayBeCarried(jobs);
    const startedAt = performance.now();
    const made = await store(carried ? queue : undefined, undefined);
    this.#countEnqueued(type, queue, made);
    if (carried) this.#wakeUp.wasCarried(performance.now() - startedAt, jobs);
    else this.#wakeUp.tell(queue);
    return made;
  }

  /** The same in the caller's transaction. */
  async #storeIn(
    call: CallOptions,
    { type, queue }: { readonly type: string; readonly queue: string },
    notify: boolean | undefined,
    store: (wake: undefined, call: CallOptions | undefined) => Promise<Enqueued[]>,
  ): Promise<Enqueued[]> {
    const { tx, near } = call;
    if (near !== undefined && this.cells !== undefined)
      throw new InvalidArgumentError(
        "near is for a Millrace that is connected to the coordinator",
        "make one with connection: the coordinator's URL, for the transactions that have rows of tenants",
      );
    if (notify && near !== undefined)
      throw new InvalidArgumentError(
        "a transaction over several servers cannot notify",
        "leave notify out: workers are woken after the commit",
      );
    const made = notify
      ? await store(undefined, call)
      : await this.#thenTell(
          call,
          (followed) => store(undefined, followed),
          () => ({ queues: [queue] }),
        );
    this.#countEnqueued(type, queue, made);
    if (notify) await this.engine.queueNotify([queue], { tx: tx! });
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
    if (isInHandler() && !options.holdSlot) {
      throw new InvalidArgumentError(
        "a handler that waits for another job keeps its slot meanwhile, which the other may need",
        "use step.call, which waits without a slot, or say holdSlot: true",
      );
    }
    const timeoutMs = options.timeout === undefined ? Infinity : timerMs(options.timeout, "timeout");
    const result = await this.#place.result(idOf(job), timeoutMs, options.signal);
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
    const target = await this.#target(job, call);
    const isNew = await this.#thenTell(
      call,
      (followed) => this.engine.tell(target, name, value, { ...followed, ...given({ id: options.id }) }),
      (done) => (done ? { queues: [], job: target } : undefined),
    );
    this.#metrics?.count(metricNames.signals, { outcome: isNew ? "new" : "known" });
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
    const answered = await this.#thenTell(
      callOf(options),
      (call) => this.engine.answer(token, value, call),
      ({ job }) => ({ queues: [], job }),
    );
    this.#metrics?.count(metricNames.signals, { outcome: "new" });
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
    const id = idOf(job);
    return this.#thenTell(
      call,
      async (followed) => (await this.engine.cancel([id], because, { ...followed, ...given({ by }) })) === 1,
      (isCancelled) => (isCancelled ? { queues: [], job: id } : undefined), // its children end too
    );
  }

  /** Give a failed or expired job one more attempt (or several). False when it is in neither state, or discarded. */
  async retry(
    job: JobId | Pick<Enqueued, "id">,
    options: TxOptions & DecisionNote & { readonly attempts?: number } = {},
  ): Promise<boolean> {
    const call = callOf(options, ["attempts", "by", "because"]);
    return (await this.engine.retry(options.attempts ?? 1, { ids: [idOf(job)], ...noteOf(options) }, call)) === 1;
  }

  /**
   * What it looked like, of all queues, of a queue, or of a type of it: by the minute up to a day, by the hour up to
   * thirty days. Workers and servers write it down while they do the upkeep; where none ran there is no point.
   *
   * ```ts
   * const day = await mill.history({ queue: "mail", last: "24h" });
   * console.log(day.map(({ at, finished, failed }) => [at, finished, failed]));
   * ```
   */
  async history(options: HistoryOptions = {}): Promise<HistoryPoint[]> {
    const call = callOf(options, ["queue", "type", "last"]);
    const { queue, type, last = "1h" } = options;
    return this.engine.historyGet(
      {
        ...(queue === undefined ? {} : { queue }),
        ...(type === undefined ? {} : { type }),
        seconds: durationSeconds(last, "last"),
      },
      call,
    );
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
    const worker = this.#place.worker(options, {
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
    await this.#place.settle();
    await this.#wakeUp.close();
    await this.#deliverer.idle();
    await this.#place.close();
  }

  /** The same as `close`, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
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
