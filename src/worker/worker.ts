import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { checkKeys } from "../db/encode.js";
import { InvalidArgumentError, NotGrantedError } from "../db/errors.js";
import type { ClaimedJob, JobId, ObeyedOrder, Settlement } from "../db/types.js";
import type { AnyJobDefinition, JobDefinition } from "../job/define-job.js";
import { Maintainer } from "../maintenance/maintainer.js";
import { noticeMetrics } from "../observe/metrics.js";
import { Scheduler } from "../schedule/scheduler.js";
import { Deliverer } from "../steps/deliverer.js";
import { Announcer } from "./announcer.js";
import { AnsweringPool, upkeepAnswerMs } from "../db/answer-time.js";
import { BacklogGauges } from "./backlog-gauges.js";
import { Dispatcher, byToken } from "./dispatcher.js";
import { Fetcher } from "./fetcher.js";
import type { BatchHandler, BatchHandlerOptions, Handler, HandlerOptions } from "./handler.js";
import { Handlers } from "./handlers.js";
import { Heartbeat } from "./heartbeat.js";
import { KeptConnection } from "./kept-connection.js";
import { ObservedSteps } from "./observed-steps.js";
import { Orders } from "./orders.js";
import { type Outcome, isReported } from "./outcome.js";
import { type Member, Roster } from "./roster.js";
import { catchStrayErrors } from "./stray-errors.js";
import { typedEmitter } from "./typed-emitter.js";
import { type Look, Watch } from "./watch.js";
import type { WorkerEvents } from "./worker-events.js";
import { type WorkerOptions, type WorkerSettings, checkConcurrency, checkWorkerOptions } from "./worker-options.js";
import type { WorkerParts } from "./worker-parts.js";

/** The longest that a timer of Node can be set to. */
const longestTimerMs = 2 ** 31 - 1;
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
  readonly #announcer: Announcer;
  readonly #dispatcher: Dispatcher;
  readonly #handlers: Handlers;
  readonly #fetcher: Fetcher;
  readonly #kept: KeptConnection | undefined;
  readonly #heartbeat: Heartbeat;
  readonly #maintainer: Maintainer;
  readonly #scheduler: Scheduler;
  readonly #watch = new Watch();
  /** Jobs of schedules whose outcome is on its way to the database. */
  readonly #ended = new Set<JobId>();
  #roster: Roster | undefined;
  readonly #orders: Orders;
  readonly #member: Member;
  readonly #backlog: BacklogGauges;
  readonly #deliverer: Deliverer;
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
    this.#announcer = new Announcer(this.settings.name, this, parts.logger, parts.metrics);
    const onError = (error: unknown): void => this.#announcer.error(error);
    const steps = new ObservedSteps(this.settings.name, parts.metrics, parts.tracing, {
      onStep: (job, end) => this.#announcer.tell("step", job, end),
      onResumed: (job) => this.#announcer.tell("resumed", job),
    });
    const hooks = {
      onStart: (job: ClaimedJob) => this.#announcer.tell("start", job),
      onOutcome: (job: ClaimedJob, outcome: Outcome, seconds: number) => this.#onOutcome(job, outcome, seconds),
      onAbandoned: (run: { readonly jobs: readonly ClaimedJob[] }) => this.#announcer.abandoned(run.jobs),
      onChange: () => {
        this.#fetcher.changed();
        this.#orders.noteDrained();
      },
    };
    this.#dispatcher = new Dispatcher(
      this.settings,
      parts.engine,
      parts.metrics,
      parts.tracing,
      hooks,
      steps,
      parts.middlewares,
      parts.cell?.slots,
    );
    this.#handlers = new Handlers(this.#dispatcher, () => this.#phase === "new");
    this.#orders = new Orders(this.settings.concurrency, this.#dispatcher, this.#announcer, {
      onRoom: () => this.#fetcher.wake(),
      onChange: () => this.#roster?.changed(),
    });
    this.#kept = KeptConnection.fits(parts.pool) ? new KeptConnection(parts.pool) : undefined;
    const reporting = parts.engine.withPool(new AnsweringPool(parts.pool));
    const claiming = this.#kept ? parts.engine.withPool(this.#kept) : reporting;
    this.#fetcher = new Fetcher(
      reporting,
      claiming,
      this.#dispatcher,
      this.settings,
      parts.metrics,
      this.#watch,
      {
        onClaimed: (jobs) => this.#heartbeat.add(byToken(jobs)),
        onRefused: (ids) => this.#announcer.refused(ids),
        onReported: (settlements, delivered) => this.#onReported(settlements, delivered),
        onError,
      },
      parts.cell?.queues,
    );
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
      onOrders: (orders) => this.#roster?.obey(orders),
      onError,
    });
    const upkeep = parts.engine.withPool(new AnsweringPool(parts.pool, upkeepAnswerMs));
    this.#maintainer = new Maintainer({ engine: upkeep, interval: "5s", onError }, this.#watch);
    this.#scheduler = new Scheduler({ engine: reporting, onError }, this.#watch);
    this.#deliverer = new Deliverer(reporting, onError, noticeMetrics(parts.metrics));
    const queuesHere = parts.cell?.queues ?? (() => this.settings.queues);
    this.#backlog = new BacklogGauges(reporting, queuesHere, this.settings.backlogMs, parts.metrics, onError);
  }

  #newMember(): Member {
    const dispatcher = this.#dispatcher;
    const { name, queues } = this.settings;
    const orders = this.#orders;
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
      get held() {
        return orders.heldAs;
      },
      obey: (order) => orders.obey(order),
      tell: () => this.#heartbeat.tell(),
      onShared: (inSeconds) => {
        if (this.#watch.shared(inSeconds)) this.#heartbeat.rest(inSeconds);
      },
    } as Member;
  }

  /** Register what runs the jobs of a type. Before `start()`, and once per type. */
  handle<Parsed, Out>(
    definition: JobDefinition<unknown, Parsed, Out, unknown>,
    handler: Handler<Parsed, Out>,
    options?: HandlerOptions,
  ): this;
  handle(definition: AnyJobDefinition, handler: Handler, options: HandlerOptions = {}): this {
    this.#handlers.add(definition, handler, options);
    return this;
  }

  /** Register what runs the jobs of a type many at a time. */
  handleBatch<Parsed, Out>(
    definition: JobDefinition<unknown, Parsed, Out, unknown>,
    handler: BatchHandler<Parsed, Out>,
    options?: BatchHandlerOptions,
  ): this;
  handleBatch(definition: AnyJobDefinition, handler: BatchHandler, options: BatchHandlerOptions = {}): this {
    this.#handlers.addBatch(definition, handler, options);
    return this;
  }

  /**
   * How many handlers may run at once. May be changed while the worker runs. What was ordered from afar
   * (`mill.workers.concurrency`) counts as long as that order stands.
   */
  get concurrency(): number {
    return this.#dispatcher.concurrency;
  }

  set concurrency(concurrency: number) {
    checkConcurrency(concurrency);
    this.#orders.setConcurrency(concurrency);
  }

  /** What it was ordered to do from afar; undefined when nothing was. */
  get order(): ObeyedOrder | undefined {
    return this.#orders.current;
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
    this.#handlers.check();
    this.#phase = "starting";
    try {
      await this.#parts.engine.check();
      if (!this.#parts.cell) await this.#parts.engine.queuesCheck(this.settings.queues);
    } catch (error) {
      this.#phase = "new";
      throw error;
    }
    await this.#declare();
    const { pool, engine, release } = this.#parts;
    this.#roster = Roster.join(this.#member, pool, engine.schema, release);
    await this.#askOrders();
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
    this.#announcer.tell("started");
    if (this.settings.schedules) void this.#tellUndeclared();
  }

  /** What the code knows of its types, for producers that do not have it. Nothing depends on it here. */
  async #declare(): Promise<void> {
    const { engine, release } = this.#parts;
    try {
      const older = await engine.typeDeclare(this.#handlers.declared(), release ?? this.settings.name);
      if (older.length > 0)
        this.#announcer.log("warn", { types: older }, `newer versions are declared by others: ${older.join(", ")}`);
    } catch (error) {
      // a role of an older release may not, and an older database cannot
      if (!(error instanceof NotGrantedError)) this.#announcer.error(error);
    }
  }

  /** Whoever is ordered to hold takes no job before the first beat. A role of an older release may not ask. */
  async #askOrders(): Promise<void> {
    const { id, facts, state } = this.#roster!.all();
    const told = await this.#parts.engine.workerBeat(id, facts, state).catch(() => undefined);
    if (told?.orders) this.#roster!.obey(told.orders);
  }

  async #tellUndeclared(): Promise<void> {
    const names = await this.#parts.undeclared().catch(() => []);
    if (names.length === 0) return;
    this.#announcer.undeclared(names);
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
    this.#abortAll(this.#isForced ? 0 : this.#parts.cell?.isLeft() ? longestTimerMs : this.settings.graceMs);
    await this.#fetcher.stop();
    this.#kept?.end();
    await Promise.all([
      this.#heartbeat.stop(this.#roster?.leave(this.#member) ? this.#roster.id : undefined),
      this.#maintainer.stop(),
      this.#scheduler.stop(),
      this.#backlog.stop(),
      this.#deliverer.stop(),
    ]);
    this.#dispatcher.slots.leave(this.#dispatcher);
    this.#forgetStrayErrors?.();
    this.#phase = "stopped";
    this.#announcer.tell("stopped");
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
    if (look.keeps) this.#roster?.shared(this.#member, look.inSeconds);
    if (look.upkeep && this.settings.maintenance) this.#maintainer.wake();
    if (look.schedules && this.settings.schedules) this.#scheduler.wake();
    if (look.notices) this.#deliverer.ask();
    if (!look.kept) this.#fetcher.changed();
  }

  #onLost(ids: ReadonlySet<JobId>): void {
    for (const job of this.#dispatcher.lose(ids)) this.#announcer.lost(job);
  }

  /** What waits for the end of a schedule's run goes on now, not when the next look finds it. */
  #onReported(settlements: readonly Settlement[], delivered: boolean): void {
    this.#orders.noteDrained();
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

  #onOutcome(job: ClaimedJob, outcome: Outcome, seconds: number): void {
    if (job.schedule !== undefined && this.settings.schedules && isReported(outcome)) this.#ended.add(job.id);
    if (outcome.kind === "suspended" || job.parent !== undefined) {
      if (isReported(outcome)) this.#news.add(job.id);
      else this.#deliverer.ask();
    }
    this.#announcer.outcome(job, outcome, seconds);
    // whoever does the upkeep closes a job whose deadline has passed, so that is done now
    if (outcome.kind === "expired")
      void this.#parts.engine.maintain().catch((error: unknown) => this.#announcer.error(error));
  }
}
