import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { Engine } from "../db/engine.js";
import { DatabaseUnavailableError, InvalidArgumentError, QueueNotFoundError } from "../db/errors.js";
import type { ClaimedJob, HeldCell, JobId } from "../db/types.js";
import type { AnyJobDefinition, JobDefinition } from "../job/define-job.js";
import type { Logger } from "../observe/logger.js";
import type { Metrics } from "../observe/metrics.js";
import { Slots } from "../worker/slots.js";
import type { BatchHandler, BatchHandlerOptions, Handler, HandlerOptions } from "../worker/handler.js";
import type { WorkerOptions } from "../worker/worker-options.js";
import { workerEventNames } from "../worker/worker-events.js";
import { Worker } from "../worker/worker.js";
import type { WorkerParts } from "../worker/worker-parts.js";
import { askOne, patienceMs, within } from "./ask.js";
import type { Cell } from "./cell.js";
import { handleOf } from "./handle.js";
import { promptly } from "./promptly.js";
import type { Router } from "./router.js";
import { withHandles } from "./ways.js";

/** A lease on a cell, and how often it is prolonged: three may fail. */
const leaseSeconds = 10;
const roundMs = 2500;
/** So many cells a worker serves; more when others would have nobody. */
const usual = 4;
/** So long the part for a cell may take to start; then it is tried again. */
const startMs = 30_000;

export interface CellsWorkerParts extends Omit<WorkerParts, "engine" | "pool" | "cell"> {
  readonly router: Router;
}

/** A cell that this worker serves. */
interface Served {
  readonly cell: Cell;
  queues: readonly string[];
  worker: Worker | undefined;
  starting: Promise<void> | undefined;
  /** It is left: running jobs may end, however long they take. */
  isLeft: boolean;
}

/** The part of a worker that is never started has no database. */
const nowhere = {
  options: {},
  query: () => Promise.reject(new Error("this part is never started")),
  connect: () => Promise.reject(new Error("this part is never started")),
} as unknown as pg.Pool;

/**
 * A worker over several cells: one worker for each cell that it serves, and slots that they share. Which cells those
 * are is settled by leases in the cells themselves. What is inherited checks options and handlers, and is never
 * started.
 */
export class CellsWorker extends Worker {
  readonly #cellsParts: CellsWorkerParts;
  readonly #options: WorkerOptions;
  readonly #slots: Slots;
  readonly #id = `${hostname()}:${process.pid}:${randomUUID()}`;
  readonly #registered: ((worker: Worker) => void)[] = [];
  readonly #served = new Map<string, Served>();
  readonly #leaving = new Set<Promise<unknown>>();
  /** All that have not stopped, also those that are just starting and those of cells that are left. */
  readonly #parts = new Set<Worker>();
  #running: Promise<void> | undefined;
  #starting: Promise<void> | undefined;
  #stopping: Promise<void> | undefined;
  #isStopping = false;
  #isForced = false;
  #force = (): void => {};
  readonly #forced = new Promise<void>((resolve) => (this.#force = resolve));
  #wakeUp = (): void => {};

  constructor(options: WorkerOptions, parts: CellsWorkerParts) {
    super(options, { ...parts, engine: new Engine({ pool: nowhere }), pool: nowhere });
    this.#cellsParts = parts;
    this.#options = { ...options, name: this.settings.name, handleSignals: false };
    this.#slots = new Slots(this.settings.concurrency);
  }

  override handle<Parsed, Out>(
    definition: JobDefinition<unknown, Parsed, Out, unknown>,
    handler: Handler<Parsed, Out>,
    options?: HandlerOptions,
  ): this;
  override handle(definition: AnyJobDefinition, handler: Handler, options: HandlerOptions = {}): this {
    this.#mustBeNew();
    super.handle(definition as never, handler, options);
    this.#registered.push((worker) => worker.handle(definition as never, handler, options));
    return this;
  }

  override handleBatch<Parsed, Out>(
    definition: JobDefinition<unknown, Parsed, Out, unknown>,
    handler: BatchHandler<Parsed, Out>,
    options?: BatchHandlerOptions,
  ): this;
  override handleBatch(definition: AnyJobDefinition, handler: BatchHandler, options: BatchHandlerOptions = {}): this {
    this.#mustBeNew();
    super.handleBatch(definition as never, handler, options);
    this.#registered.push((worker) => worker.handleBatch(definition as never, handler, options));
    return this;
  }

  #mustBeNew(): void {
    if (this.#running)
      throw new InvalidArgumentError("the worker has been started", "register handlers before start()");
  }

  override get concurrency(): number {
    return this.#slots.concurrency;
  }

  override set concurrency(concurrency: number) {
    super.concurrency = concurrency; // checks it
    this.#slots.concurrency = concurrency;
    this.wake();
  }

  override get isRunning(): boolean {
    return this.#running !== undefined && !this.#isStopping;
  }

  override get held(): number {
    return this.#workers.reduce((sum, worker) => sum + worker.held, 0);
  }

  /** The cells that it serves now. */
  get cells(): readonly string[] {
    return [...this.#served.values()].filter(({ isLeft }) => !isLeft).map(({ cell }) => cell.name);
  }

  get #workers(): Worker[] {
    return [...this.#served.values()].flatMap(({ worker }) => (worker ? [worker] : []));
  }

  override async start(): Promise<void> {
    if (this.#stopping) throw new InvalidArgumentError("the worker has been stopped", "make a new one");
    this.#starting ??= this.#start().catch((error: unknown) => {
      this.#starting = undefined;
      throw error;
    });
    await this.#starting;
  }

  async #start(): Promise<void> {
    if (this.types.length === 0)
      throw new InvalidArgumentError("the worker has no handlers", "add one with worker.handle(definition, handler)");
    const { router } = this.#cellsParts;
    await router.members(); // what is wrong with the list is told now
    this.#mustGoOn();
    const { known, isComplete, failure } = await this.#round();
    this.#mustGoOn();
    const missing = this.settings.queues.find((queue) => !known.has(queue));
    if (failure !== undefined || (missing !== undefined && isComplete)) {
      await this.#leaveAll();
      throw failure ?? new QueueNotFoundError(`there is no queue "${missing}"`, "create it with mill.queues.put(name)");
    }
    for (const { starting } of this.#served.values()) await starting;
    this.#mustGoOn();
    this.#running = this.#run();
    if (this.settings.handleSignals) this.#onSignals();
    this.emit("started");
  }

  #mustGoOn(): void {
    if (this.#isStopping)
      throw new InvalidArgumentError("the worker was stopped before it had started", "make a new one");
  }

  async #run(): Promise<void> {
    while (!this.#isStopping) {
      await new Promise<void>((resolve) => {
        // not all workers at the same moment
        const timer = setTimeout(resolve, roundMs * (0.8 + Math.random() * 0.4));
        this.#wakeUp = () => (clearTimeout(timer), resolve());
      });
      if (!this.#isStopping) await this.#round().catch((error: unknown) => this.#tellError(error));
    }
  }

  /** Prolong what is held, take what is to be taken, and leave what others serve as well. */
  async #round(): Promise<{ known: Set<string>; isComplete: boolean; failure: unknown }> {
    const all = this.#cellsParts.router.list;
    const looks = new Map<Cell, HeldCell>();
    const failures: unknown[] = [];
    const ask = async (cell: Cell, way: "keep" | "take" | "spare" | "look"): Promise<void> => {
      if (this.#isStopping) return;
      try {
        looks.set(cell, await this.#hold(cell, way));
      } catch (error) {
        failures.push(error);
      }
    };
    const few = all.length <= usual;
    await Promise.all(all.map((cell) => ask(cell, few ? "take" : this.#served.has(cell.name) ? "keep" : "look")));
    if (!few) {
      for (const [cell, { holds, others }] of shuffled([...looks]))
        if (!holds && others === 0) await ask(cell, "spare");
      const byOthers = shuffled([...looks]).toSorted(([, a], [, b]) => a.others - b.others);
      let count = [...looks.values()].filter(({ holds }) => holds).length;
      for (const [cell, { holds }] of byOthers) {
        if (holds || count >= usual) continue;
        await ask(cell, "take");
        count += 1;
      }
    }
    for (const [cell, look] of looks) if (look.holds) this.#serve(cell, look);
    if (!few) await this.#leaveSpared(looks);
    const known = new Set([...looks.values()].flatMap(({ queues }) => queues));
    const isAway =
      failures.length === all.length || failures.some((error) => !(error instanceof DatabaseUnavailableError));
    return { known, isComplete: failures.length === 0, failure: isAway ? failures[0] : undefined };
  }

  /** One that does not answer keeps the leases of the others from being prolonged for a moment only. */
  #hold(cell: Cell, way: "keep" | "take" | "spare" | "look" | "leave"): Promise<HeldCell> {
    const { queues } = this.settings;
    const question = { cells: Math.max(1, this.cells.length), queues, seconds: leaseSeconds };
    return askOne(cell, () => within(patienceMs, cell, promptly(cell.engine).cellHold(this.#id, way, question)));
  }

  #serve(cell: Cell, { queues }: HeldCell): void {
    if (this.#isStopping) return;
    let served = this.#served.get(cell.name);
    if (!served) {
      served = { cell, queues, worker: undefined, starting: undefined, isLeft: false };
      this.#served.set(cell.name, served);
    }
    const hasMore = queues.length > served.queues.length;
    served.queues = queues;
    if (served.worker || served.starting || queues.length === 0) {
      if (hasMore) served.worker?.wake();
      return;
    }
    served.starting = this.#startIn(served).finally(() => (served.starting = undefined));
  }

  /** One that cannot start is tried again with the next round. */
  async #startIn(served: Served): Promise<void> {
    const { cell } = served;
    const { router: _router, metrics, logger, ...parts } = this.#cellsParts;
    const worker = new Worker(this.#options, {
      ...parts,
      engine: cell.engine,
      pool: cell.pool,
      metrics: metrics && labelled(metrics, cell.name),
      logger: logger && named(logger, cell.name),
      cell: {
        name: cell.name,
        slots: this.#slots,
        queues: () => served.queues,
        isLeft: () => served.isLeft,
      },
    });
    for (const register of this.#registered) register(worker);
    this.#listenTo(worker, cell);
    this.#parts.add(worker);
    try {
      await within(startMs, cell, worker.start());
      served.worker = worker;
    } catch (error) {
      this.#tellError(error);
    }
    if (!served.worker) await this.#end(cell, worker, true);
    else if (served.isLeft || this.#isStopping) await this.#end(cell, worker);
  }

  async #end(cell: Cell, worker: Worker, force = this.#isForced): Promise<void> {
    const ended = worker
      .stop({ force })
      .catch((error: unknown) => this.#tellError(error))
      .finally(() => this.#parts.delete(worker));
    await this.#patiently(cell, ended, force);
  }

  /** Wait for what goes on in a cell. Where all is to end at once, that is as long as the cell answers. */
  async #patiently(cell: Cell, work: Promise<unknown> | undefined, force = this.#isForced): Promise<void> {
    let isDone = false;
    const done = Promise.resolve(work).finally(() => (isDone = true));
    const isAway = async (): Promise<void> => {
      if (!force) await this.#forced;
      while (!isDone && (await this.#hold(cell, "leave").then(yes, no)))
        await Promise.race([done, sleep(roundMs, undefined, { ref: false })]);
    };
    await Promise.race([done, isAway()]);
  }

  /** Who serves more cells than usual leaves one that somebody with fewer serves too. */
  async #leaveSpared(looks: ReadonlyMap<Cell, HeldCell>): Promise<void> {
    const spared = [...looks].filter(([cell, look]) => look.spared && this.#served.has(cell.name));
    const tooMany = this.cells.length - usual;
    for (const [cell] of shuffled(spared).slice(0, Math.max(0, tooMany))) {
      const served = this.#served.get(cell.name)!;
      served.isLeft = true;
      served.queues = [];
      this.#served.delete(cell.name);
      await this.#hold(cell, "leave").catch(() => {});
      const left = Promise.resolve(served.starting)
        .then(() => served.worker && this.#end(cell, served.worker))
        .finally(() => this.#leaving.delete(left));
      this.#leaving.add(left);
    }
  }

  async #leaveAll(): Promise<void> {
    const left = [...this.#served.values()];
    this.#served.clear();
    await Promise.all(
      left.map(async (served) => {
        await this.#patiently(served.cell, served.starting);
        await Promise.all([
          served.worker && this.#end(served.cell, served.worker),
          this.#hold(served.cell, "leave").catch(() => {}),
        ]);
      }),
    );
  }

  #listenTo(worker: Worker, cell: Cell): void {
    for (const name of workerEventNames) {
      if (name === "started" || name === "stopped") continue;
      worker.on(name, (...details: unknown[]) => {
        if (this.listenerCount(name) > 0) this.emit(name, ...(details.map((one) => shownOf(cell, one)) as never));
      });
    }
  }

  #tellError(error: unknown): void {
    this.#cellsParts.logger?.error({ worker: this.settings.name, err: error }, String(error));
    if (this.listenerCount("error") > 0) this.emit("error", error);
  }

  override wakeScheduler(): void {
    for (const worker of this.#workers) worker.wakeScheduler();
  }

  override wake(): void {
    this.#wakeUp();
    for (const worker of this.#workers) worker.wake();
  }

  override async stop(options: { readonly force?: boolean } = {}): Promise<void> {
    if (options.force && !this.#isForced) {
      this.#isForced = true;
      this.#force();
      for (const worker of this.#parts) void worker.stop({ force: true }).catch(() => {}); // who ends it is told
    }
    this.#stopping ??= this.#stop();
    await this.#stopping;
  }

  async #stop(): Promise<void> {
    await Promise.race([this.#starting?.catch(() => {}), this.#forced]);
    this.#isStopping = true;
    this.#wakeUp();
    await this.#running;
    await this.#leaveAll();
    await Promise.all(this.#leaving);
    await super.stop();
    this.emit("stopped");
  }

  #onSignals(): void {
    let received = 0;
    const onSignal = (): void => {
      received += 1;
      void this.stop(received === 1 ? {} : { force: true });
    };
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      process.on(signal, onSignal);
      this.once("stopped", () => process.off(signal, onSignal));
    }
  }
}

const yes = (): boolean => true;
const no = (): boolean => false;

/** What an event tells, with handles for ids. */
function shownOf(cell: Cell, detail: unknown): unknown {
  if (Array.isArray(detail))
    return detail.map((one: JobId | ClaimedJob) =>
      typeof one === "string" ? handleIfId(cell, one) : shownOf(cell, one),
    );
  if (typeof detail === "object" && detail !== null && "token" in detail && "id" in detail)
    return withHandles(cell, detail as ClaimedJob, "id", "parent");
  return detail;
}

const handleIfId = (cell: Cell, text: string): string => (/^\d+$/.test(text) ? handleOf(cell.name, text) : text);

function shuffled<T>(list: readonly T[]): T[] {
  return list
    .map((one) => ({ one, place: Math.random() }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ one }) => one);
}

/** Measurements of a cell have its name. */
function labelled(metrics: Metrics, cell: string): Metrics {
  return {
    count: (name, labels, by) => metrics.count(name, { ...labels, cell }, by),
    move: (name, labels, by) => metrics.move(name, { ...labels, cell }, by),
    observe: (name, labels, seconds) => metrics.observe(name, { ...labels, cell }, seconds),
  };
}

function named(logger: Logger, cell: string): Logger {
  return {
    warn: (fields, message) => logger.warn({ cell, ...fields }, message),
    error: (fields, message) => logger.error({ cell, ...fields }, message),
  };
}
