import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type pg from "pg";
import type { AnyJobDefinition, JobDefinition } from "../job/define-job.js";
import type { Middlewares } from "../job/middleware.js";
import { checkKeys } from "../db/encode.js";
import type { Engine } from "../db/engine.js";
import { errorOf } from "../db/stored-error.js";
import { InvalidArgumentError, NotGrantedError } from "../db/errors.js";
import { toEngineOptions } from "../job/job-options.js";
import type { ClaimedJob, DeclaredType, JobId, Settlement } from "../db/types.js";
import { Maintainer } from "../maintenance/maintainer.js";
import { type Logger, errorLine, withName } from "../observe/logger.js";
import { type Metrics, metricNames, noticeMetrics } from "../observe/metrics.js";
import type { Tracing } from "../observe/tracing.js";
import { warn } from "../observe/warning.js";
import { Scheduler } from "../schedule/scheduler.js";
import { Deliverer } from "../steps/deliverer.js";
import type { StepEnd } from "../steps/observer.js";
import { AnsweringPool, upkeepAnswerMs } from "./answer-time.js";
import { BacklogGauges } from "./backlog-gauges.js";
import { Dispatcher, byToken } from "./dispatcher.js";
import { Fetcher } from "./fetcher.js";
import { KeptConnection } from "./kept-connection.js";
import type { BatchHandler, BatchHandlerOptions, Handler, HandlerOptions } from "./handler.js";
import { Heartbeat } from "./heartbeat.js";
import { type Outcome, isReported } from "./outcome.js";
import { ObservedSteps } from "./observed-steps.js";
import { type Member, Roster } from "./roster.js";
import { catchStrayErrors } from "./stray-errors.js";
import { typedEmitter } from "./typed-emitter.js";
import { type Look, Watch } from "./watch.js";
import { type WorkerOptions, type WorkerSettings, checkConcurrency, checkWorkerOptions } from "./worker-options.js";

/** What a worker tells, each with the job it is about. Listed in docs/observability.md; a test compares. */
export interface WorkerEvents {
  /** A handler is about to be called. */
  start: [job: ClaimedJob];
  /** A handler returned; the success is about to be recorded. */
  success: [job: ClaimedJob, durationMs: number];
  /** An attempt failed; `final` when the handler said that no other will follow. */
  failure: [job: ClaimedJob, error: unknown, final: boolean];
  /** The handler gave the job back. */
  released: [job: ClaimedJob];
  /** The handler waits for time, a signal or other jobs: it goes on when that has come, here or elsewhere. */
  suspended: [job: ClaimedJob, durationMs: number];
  /** A handler goes on with a run that began before. */
  resumed: [job: ClaimedJob];
  /** A try of a step has ended: it is done, has failed, or will be tried again. */
  step: [job: ClaimedJob, end: StepEnd];
  /** The job was taken away: cancelled, expired, or its lease ended. */
  lost: [job: ClaimedJob];
  /** A report came too late and changed nothing. */
  refused: [ids: readonly JobId[]];
  /** A handler went on after its jobs had ended; its slot was given to others. */
  abandoned: [jobs: readonly ClaimedJob[]];
  /**
   * Schedules of this application that are in the database, and were declared by others than this process: perhaps they
   * are not in the code any more.
   */
  undeclared: [schedules: readonly string[]];
  /** Something failed around the handlers, such as the connection. The worker goes on. */
  error: [error: unknown];
  started: [];
  stopped: [];
}

export const workerEventNames = [
  "start",
  "success",
  "failure",
  "released",
  "suspended",
  "resumed",
  "step",
  "lost",
  "refused",
  "abandoned",
  "undeclared",
  "error",
  "started",
  "stopped",
] as const satisfies readonly (keyof WorkerEvents)[];

export interface WorkerParts {
  readonly engine: Engine;
  readonly pool: pg.Pool;
  readonly metrics: Metrics | undefined;
  readonly tracing: Tracing | undefined;
  /** Where failures and troubles are told. */
  readonly logger: Logger | undefined;
  /** What happens around runs. */
  readonly middlewares: Middlewares;
  /** The release of the application. */
  readonly release: string | null;
  /** Schedules that may not be in the code any more. */
  readonly undeclared: () => Promise<readonly string[]>;
}

/** How long handlers may take to end once their signal has fired. */
const obeyMs = 1000;

type Phase = "new" | "starting" | "running" | "stopping" | "stopped";

/**
 * Runs jobs. One fetcher feeds all handlers of the process.
 *
 * @example
 * ```ts
 * const worker = mill.worker({ concurrency: 50 });
 * worker.handle(resize, async (job, { signal, progress }) => {
 *   await progress({ done: 0.5 });
 *   return { width: 100, height: 50 };
 * });
 * await worker.start();
 * // …
 * await worker.stop();
 * ```
 */
export class Worker extends typedEmitter<WorkerEvents>() {
  /** Its options, checked, with their defaults. */
  readonly settings: WorkerSettings;
  readonly #parts: WorkerParts;
  readonly #dispatcher: Dispatcher;
  readonly #fetcher: Fetcher;
  readonly #kept: KeptConnection | undefined;
  readonly #heartbeat: Heartbeat;
  readonly #maintainer: Maintainer;
  readonly #scheduler: Scheduler;
  readonly #watch = new Watch();
  /** Jobs of schedules whose outcome is on its way to the database. */
  readonly #ended = new Set<JobId>();
  #roster: Roster | undefined;
  readonly #member: Member;
  readonly #backlog: BacklogGauges;
  readonly #deliverer: Deliverer;
  /** By type, the handlers of runs that began with an older version. */
  readonly #older = new Map<string, Map<number, Handler>>();
  /** Jobs that ended, or began to wait, which may let others go on, and whose outcome is on its way to the database. */
  readonly #news = new Set<JobId>();
  #phase: Phase = "new";
  #starting: Promise<void> | undefined;
  #stopping: Promise<void> | undefined;
  #isForced = false;
  #forgetStrayErrors: (() => void) | undefined;

  constructor(options: WorkerOptions, parts: WorkerParts) {
    super();
    this.settings = checkWorkerOptions(options, `${hostname()}:${process.pid}`);
    this.#parts = parts;
    const onError = (error: unknown): void => this.#tellError(error);
    const steps = new ObservedSteps(this.settings.name, parts.metrics, parts.tracing, {
      onStep: (job, end) => this.#tell("step", job, end),
      onResumed: (job) => this.#tell("resumed", job),
    });
    const hooks = {
      onStart: (job: ClaimedJob) => this.#tell("start", job),
      onOutcome: (job: ClaimedJob, outcome: Outcome, durationMs: number) => this.#tellOutcome(job, outcome, durationMs),
      onAbandoned: (run: { readonly jobs: readonly ClaimedJob[] }) => this.#tellAbandoned(run.jobs),
      onChange: () => this.#fetcher.changed(),
    };
    this.#dispatcher = new Dispatcher(
      this.settings,
      parts.engine,
      parts.metrics,
      parts.tracing,
      hooks,
      steps,
      parts.middlewares,
    );
    this.#kept = KeptConnection.fits(parts.pool) ? new KeptConnection(parts.pool) : undefined;
    const reporting = parts.engine.withPool(new AnsweringPool(parts.pool));
    const claiming = this.#kept ? parts.engine.withPool(this.#kept) : reporting;
    this.#fetcher = new Fetcher(reporting, claiming, this.#dispatcher, this.settings, parts.metrics, this.#watch, {
      onClaimed: (jobs) => this.#heartbeat.add(byToken(jobs)),
      onRefused: (ids) => this.#onRefused(ids),
      onReported: (settlements, delivered) => this.#onReported(settlements, delivered),
      onError,
    });
    const place = `${hostname()}:${process.pid}`;
    const watching = Watch.optionsFor(this.settings, place, `${place}:${randomUUID()}`);
    this.#member = this.#newMember();
    this.#heartbeat = new Heartbeat(parts.engine, parts.pool, this.settings, watching, {
      held: () => this.#dispatcher.tokens(),
      onProlonged: (tokens, leaseMs, askedAt) => this.#dispatcher.prolonged(tokens, leaseMs, askedAt),
      onLost: (ids) => this.#onLost(ids),
      onWake: () => this.#fetcher.wake(),
      onLook: (look) => this.#onLook(look),
      onDeaf: () => {
        this.#watch.end();
        this.#fetcher.changed();
      },
      process: () => this.#roster?.beat(this.#member),
      onError,
    });
    const upkeep = parts.engine.withPool(new AnsweringPool(parts.pool, upkeepAnswerMs));
    this.#maintainer = new Maintainer({ engine: upkeep, intervalMs: 5000, onError }, this.#watch);
    this.#scheduler = new Scheduler({ engine: reporting, onError }, this.#watch);
    this.#deliverer = new Deliverer(reporting, onError, noticeMetrics(parts.metrics));
    this.#backlog = new BacklogGauges(reporting, this.settings.queues, this.settings.backlogMs, parts.metrics, onError);
  }

  #newMember(): Member {
    const dispatcher = this.#dispatcher;
    const { name, queues } = this.settings;
    return {
      name,
      queues,
      get types() {
        return dispatcher.types;
      },
      get concurrency() {
        return dispatcher.concurrency;
      },
      get running() {
        return dispatcher.runs.size;
      },
    };
  }

  /** Register what runs the jobs of a type. Before `start()`, and once per type. */
  handle<Parsed, Out>(
    definition: JobDefinition<unknown, Parsed, Out, unknown>,
    handler: Handler<Parsed, Out>,
    options?: HandlerOptions,
  ): this;
  handle(definition: AnyJobDefinition, handler: Handler, options: HandlerOptions = {}): this {
    checkKeys(options, new Set(["concurrency", "version"]));
    if (options.concurrency !== undefined) checkConcurrency(options.concurrency);
    const { version } = options;
    if (version !== undefined && version !== definition?.version) this.#handleOlder(definition, handler, version);
    else {
      this.#register(definition, handler);
      const older = this.#olderOf(definition.type);
      this.#dispatcher.register({
        definition,
        run: { one: handler },
        older,
        size: 1,
        concurrency: options.concurrency,
      });
    }
    return this;
  }

  /** Register what runs the jobs of a type many at a time. */
  handleBatch<Parsed, Out>(
    definition: JobDefinition<unknown, Parsed, Out, unknown>,
    handler: BatchHandler<Parsed, Out>,
    options?: BatchHandlerOptions,
  ): this;
  handleBatch(definition: AnyJobDefinition, handler: BatchHandler, options: BatchHandlerOptions = {}): this {
    checkKeys(options, new Set(["size", "concurrency"]));
    const { size = 100, concurrency = 1 } = options;
    checkConcurrency(concurrency);
    if (!Number.isInteger(size) || size < 1 || size > 10_000)
      throw new InvalidArgumentError(`a batch of ${size} is not possible`, "give 1 to 10,000");
    this.#register(definition, handler);
    this.#dispatcher.register({ definition, run: { many: handler }, size, concurrency });
    return this;
  }

  #olderOf(type: string): Map<number, Handler> {
    let older = this.#older.get(type);
    if (!older) this.#older.set(type, (older = new Map()));
    return older;
  }

  #handleOlder(definition: AnyJobDefinition, handler: Handler, version: number): void {
    checkHandler(definition, handler);
    if (!Number.isInteger(version) || version < 1 || version > definition.version)
      throw new InvalidArgumentError(
        `version ${version} of "${definition.type}" is not possible`,
        `the definition has version ${definition.version}`,
      );
    const older = this.#olderOf(definition.type);
    if (older.has(version))
      throw new InvalidArgumentError(`version ${version} of "${definition.type}" has a handler already`);
    this.#mustBeNew();
    older.set(version, handler);
  }

  #mustBeNew(): void {
    if (this.#phase !== "new")
      throw new InvalidArgumentError("the worker has been started", "register handlers before start()");
  }

  #register(definition: AnyJobDefinition, handler: unknown): void {
    checkHandler(definition, handler);
    if (this.#dispatcher.has(definition.type))
      throw new InvalidArgumentError(
        `"${definition.type}" has a handler already`,
        "register each type once per worker",
      );
    this.#mustBeNew();
  }

  /** How many handlers may run at once. May be changed while the worker runs. */
  get concurrency(): number {
    return this.#dispatcher.concurrency;
  }

  set concurrency(concurrency: number) {
    checkConcurrency(concurrency);
    this.#dispatcher.concurrency = concurrency;
    this.#dispatcher.startWaiting();
    this.#fetcher.wake();
  }

  /** The types it has handlers for. */
  get types(): readonly string[] {
    return this.#dispatcher.types;
  }

  /** It has been started, and not been told to stop. */
  get isRunning(): boolean {
    return this.#phase === "running";
  }

  /** Jobs held by this worker now, started or not. */
  get held(): number {
    return this.#dispatcher.held;
  }

  /**
   * Check the database, then take jobs. Rejects, having started nothing, when something is wrong; then it can be tried
   * again. A second call is harmless.
   */
  async start(): Promise<void> {
    if (this.#stopping) throw new InvalidArgumentError("the worker has been stopped", "make a new one");
    if (this.#phase === "new") this.#starting = this.#start();
    await this.#starting;
  }

  async #start(): Promise<void> {
    if (this.#dispatcher.types.length === 0)
      throw new InvalidArgumentError("the worker has no handlers", "add one with worker.handle(definition, handler)");
    for (const [type, older] of this.#older)
      if (older.size > 0 && !this.#dispatcher.has(type))
        throw new InvalidArgumentError(
          `"${type}" has handlers of older versions only`,
          "add one of the present version: new runs begin with it",
        );
    this.#phase = "starting";
    try {
      await this.#parts.engine.check();
      await this.#parts.engine.queuesCheck(this.settings.queues);
    } catch (error) {
      this.#phase = "new";
      throw error;
    }
    await this.#declare();
    const { pool, engine, release } = this.#parts;
    this.#roster = Roster.join(this.#member, pool, engine.schema, release);
    // The thread of the heartbeat takes a while to start.
    await Promise.all([this.#heartbeat.start(), this.#kept && this.#fetcher.warmUp()]);
    this.#phase = "running";
    this.#forgetStrayErrors = catchStrayErrors();
    if (this.settings.handleSignals) this.#onSignals();
    if (this.settings.maintenance) this.#maintainer.start();
    if (this.settings.schedules) this.#scheduler.start();
    this.#backlog.start();
    this.#deliverer.start(this.#watch);
    this.#fetcher.start();
    this.#tell("started");
    if (this.settings.schedules) void this.#tellUndeclared();
  }

  /** What the code knows of its types, for producers that do not have it. Nothing depends on it here. */
  async #declare(): Promise<void> {
    const { engine, release } = this.#parts;
    try {
      const older = await engine.typeDeclare(this.#dispatcher.definitions.map(declared), release ?? this.settings.name);
      if (older.length > 0)
        this.#log("warn", { types: older }, `newer versions are declared by others: ${older.join(", ")}`);
    } catch (error) {
      // a role of an older release may not, and an older database cannot
      if (!(error instanceof NotGrantedError)) this.#tellError(error);
    }
  }

  async #tellUndeclared(): Promise<void> {
    const names = await this.#parts.undeclared().catch(() => []);
    if (names.length === 0) return;
    this.#log(
      "warn",
      { schedules: names },
      `schedules that this process does not declare: ${names.join(", ")}; remove them with mill.schedules.remove, or declare them`,
    );
    this.#tell("undeclared", names);
  }

  /** Look for due schedules now. */
  wakeScheduler(): void {
    this.#scheduler.wake();
  }

  /** Look for jobs now, without waiting for a wake-up or the next poll. */
  wake(): void {
    this.#fetcher.wake();
  }

  /**
   * Take no more jobs, give back those that have not started, let running ones end within the grace period, then tell
   * them to stop; resolves when everything has been reported. A database that is gone is waited for as long as the
   * grace period again. With `force`, at once or in a second call, neither handlers nor an absent database are waited
   * for.
   */
  async stop(options: { readonly force?: boolean } = {}): Promise<void> {
    checkKeys(options, new Set(["force"]));
    if (options.force && !this.#isForced) {
      this.#isForced = true;
      this.#fetcher.giveUp();
      this.#abortAll(0);
    }
    this.#stopping ??= this.#stop();
    await this.#stopping;
  }

  async #stop(): Promise<void> {
    await this.#starting?.catch(() => {}); // whoever called start() is told
    if (this.#phase === "new") {
      this.#phase = "stopped";
      return;
    }
    this.#phase = "stopping";
    this.#dispatcher.stop();
    this.#abortAll(this.#isForced ? 0 : this.settings.graceMs);
    await this.#fetcher.stop();
    this.#kept?.end();
    await Promise.all([
      this.#heartbeat.stop(this.#roster?.leave(this.#member) ? this.#roster.id : undefined),
      this.#maintainer.stop(),
      this.#scheduler.stop(),
      this.#backlog.stop(),
      this.#deliverer.stop(),
    ]);
    this.#forgetStrayErrors?.();
    this.#phase = "stopped";
    this.#tell("stopped");
  }

  /**
   * After the grace period handlers are told to stop; those that do not are left behind, and their jobs go back
   * unharmed.
   */
  #abortAll(graceMs: number): void {
    const timer = setTimeout(() => {
      const reason = new Error("the worker is stopping");
      for (const run of this.#dispatcher.runs) run.abort(reason);
      setTimeout(() => this.#leaveBehind(), graceMs === 0 ? 0 : obeyMs).unref();
    }, graceMs);
    timer.unref();
    this.once("stopped", () => clearTimeout(timer));
  }

  #leaveBehind(): void {
    setTimeout(() => this.#fetcher.giveUp(), this.settings.graceMs).unref();
    for (const run of this.#dispatcher.runs) {
      for (const job of run.openJobs) run.end(job, { kind: "released" });
      this.#dispatcher.abandon(run);
    }
  }

  #onSignals(): void {
    let received = 0;
    const onSignal = (): void => {
      received += 1;
      if (received === 1) void this.stop();
      else void this.stop({ force: true });
    };
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      process.on(signal, onSignal);
      this.once("stopped", () => process.off(signal, onSignal));
    }
  }

  /** Who looks does what was found to be left undone; the others leave it to that one. */
  #onLook(look: Look): void {
    this.#watch.looked(look);
    if (look.upkeep && this.settings.maintenance) this.#maintainer.wake();
    if (look.schedules && this.settings.schedules) this.#scheduler.wake();
    if (look.notices) this.#deliverer.ask();
    if (!look.kept) this.#fetcher.changed();
  }

  #onLost(ids: ReadonlySet<JobId>): void {
    for (const job of this.#dispatcher.lose(ids)) this.#tellLost(job);
  }

  /** What waits for the end of a schedule's run goes on now, not when the next look finds it. */
  #onReported(settlements: readonly Settlement[], delivered: boolean): void {
    // by their ids: what ended while this report was on its way is told by the next one
    if (this.#news.size > 0) {
      const told = settlements.flatMap(({ jobs }) => jobs.filter((id) => this.#news.delete(id)));
      if (told.length > 0 && delivered) this.#deliverer.onDelivered(told.length, 0);
      else if (told.length > 0) this.#deliverer.ask();
    }
    if (this.#ended.size === 0) return;
    const ended = settlements.flatMap(({ jobs }) => jobs.filter((id) => this.#ended.delete(id)));
    if (ended.length > 0) void this.#scheduler.ended(ended);
  }

  #onRefused(ids: readonly JobId[]): void {
    this.#parts.metrics?.count(metricNames.leasesLost, { worker: this.settings.name }, ids.length);
    this.#log("warn", { jobs: ids }, `a report came too late and changed nothing: job ${ids.join(", ")}`);
    this.#tell("refused", ids);
  }

  #tellAbandoned(jobs: readonly ClaimedJob[]): void {
    for (const job of jobs)
      this.#log("warn", this.#fieldsOf(job), `the handler of ${job.type} ${job.id} goes on after its job has ended`);
    this.#tell("abandoned", jobs);
  }

  #tellLost(job: ClaimedJob): void {
    this.#parts.metrics?.count(metricNames.leasesLost, { worker: this.settings.name });
    this.#log(
      "warn",
      this.#fieldsOf(job),
      `${job.type} ${job.id} was taken away: cancelled, expired, or its lease ended`,
    );
    this.#tell("lost", job);
  }

  #tellOutcome(job: ClaimedJob, outcome: Outcome, durationMs: number): void {
    if (job.schedule !== undefined && this.settings.schedules && isReported(outcome)) this.#ended.add(job.id);
    if (outcome.kind === "suspended" || job.parent !== undefined) {
      if (isReported(outcome)) this.#news.add(job.id);
      else this.#deliverer.ask();
    }
    if (outcome.kind === "succeeded" || outcome.kind === "settled") this.#tell("success", job, durationMs);
    else if (outcome.kind === "released") this.#tell("released", job);
    else if (outcome.kind === "suspended") this.#tell("suspended", job, durationMs);
    else if (outcome.kind === "lost") this.#tellLost(job);
    else if (outcome.kind === "expired") this.#expire(job);
    else this.#tellFailure(job, outcome);
  }

  /** The real error, with its class and fields, where there was one. */
  #tellFailure(job: ClaimedJob, outcome: Extract<Outcome, { readonly kind: "failed" | "retry" }>): void {
    const isFinal = outcome.kind === "failed" || job.attempt >= job.maxAttempts;
    const error = "thrown" in outcome ? outcome.thrown : errorOf(outcome.error);
    const most = job.maxAttempts === Infinity ? "" : ` of ${job.maxAttempts}`;
    this.#log(
      isFinal ? "error" : "warn",
      { ...this.#fieldsOf(job), attempt: job.attempt, maxAttempts: job.maxAttempts, final: isFinal, err: error },
      `${job.type} ${job.id} failed${isFinal ? " for good" : ""} (attempt ${job.attempt}${most}): ${withName(outcome.error.name, outcome.error.message)}`,
    );
    this.#tell("failure", job, error, isFinal);
  }

  #fieldsOf({ id, type, queue }: ClaimedJob): object {
    return { job: id, type, queue };
  }

  #log(level: keyof Logger, fields: object, message: string): void {
    this.#parts.logger?.[level]({ worker: this.settings.name, ...fields }, message);
  }

  /** Its deadline has passed: whoever does the upkeep closes it, so that is done now. */
  #expire(job: ClaimedJob): void {
    this.#tellLost(job);
    void this.#parts.engine.maintain().catch((error: unknown) => this.#tellError(error));
  }

  /** A listener that throws must not end what it was told of. */
  #tell<Name extends keyof WorkerEvents>(name: Name, ...details: WorkerEvents[Name]): void {
    if (this.listenerCount(name) === 0) return;
    try {
      this.emit(name, ...details);
    } catch (error) {
      if (name === "error") warn("MILLRACE_WORKER", error);
      else this.#tellError(error);
    }
  }

  /** An error nobody listens for must not end the process. */
  #tellError(error: unknown): void {
    this.#log("error", { err: error }, errorLine(error));
    this.#tell("error", error);
  }
}

/** A definition as the database knows it. A time that is computed from other options is left to those who have them. */
function declared({ type, version, defaults, inputSchema }: AnyJobDefinition): DeclaredType {
  const { queue, ttlSeconds, ...rest } = toEngineOptions(defaults);
  const schema = inputSchema();
  return {
    type,
    version,
    ...(queue === undefined ? {} : { queue }),
    defaults: { ...rest, ...(typeof ttlSeconds === "number" ? { ttlSeconds } : {}) },
    ...(schema === undefined ? {} : { inputSchema: schema }),
  };
}

function checkHandler(definition: AnyJobDefinition, handler: unknown): void {
  if (typeof definition?.readInput !== "function")
    throw new InvalidArgumentError("this is not a job definition", "make one with defineJob");
  if (typeof handler !== "function")
    throw new InvalidArgumentError(`the handler of "${definition.type}" is not a function`);
}
