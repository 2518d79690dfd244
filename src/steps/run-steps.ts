import { AsyncLocalStorage } from "node:async_hooks";
import type { Engine } from "../db/engine.js";
import { handleIn } from "../db/handle.js";
import {
  DatabaseUnavailableError,
  InvalidArgumentError,
  JobFailedError,
  LeaseLostError,
  RunLimitError,
  StepFailedError,
  translateError,
} from "../db/errors.js";
import { checkKeys } from "../db/encode.js";
import { errorText } from "../db/error-text.js";
import { causeOf, errorOf } from "../db/stored-error.js";
import { type Database, type Transaction, inTransactionOf } from "../db/foreign.js";
import { checkTime } from "../db/check-options.js";
import { bounds, minTime } from "../db/limits.js";
import type { ClaimedJob, JobError, JobId, NewStep, RunRead, StepRecord, Wait } from "../db/types.js";
import type { AnyJobDefinition } from "../job/define-job.js";
import { type Duration, durationSeconds } from "../job/duration.js";
import type { Middlewares } from "../job/middleware.js";
import { type EngineJob, newJob } from "../job/new-job.js";
import { retryDelaySeconds } from "../job/retry-delay.js";
import { validate } from "../job/standard-schema.js";
import { History, undoMark } from "./history.js";
import { insideMessage, insideRemedy } from "./inside.js";
import type { Journal } from "./journal.js";
import type { StepEnd, StepObserver, StepTry } from "./observer.js";
import type { ChildOptions, Step, StepContext, StepOptions, TokenOptions, WaitOptions } from "./step.js";
import { RunSize } from "./run-size.js";
import { stepName, stepValue } from "./step-values.js";
import { type Undo, Undos } from "./undos.js";
import { began, hasBegun, versionOf } from "./version.js";
import { within } from "./within.js";
import { Waiting } from "./waiting.js";

/** The run that steps belong to. */
export interface StepOwner {
  readonly job: ClaimedJob;
  readonly engine: Engine;
  readonly journal: Journal;
  /** Who is told of the steps. */
  readonly observer?: StepObserver | undefined;
  /** What happens to the jobs that it starts, and to their results. */
  readonly middlewares?: Middlewares | undefined;
  readonly signal: AbortSignal;
  /** The version of the handler. */
  readonly version: number;
  /** What the run remembers. */
  read(): Promise<RunRead>;
  /** Nobody has taken the job away, and it has no outcome. */
  readonly isOpen: boolean;
  /** What the database's clock shows, about. */
  readonly now: number;
  /** Give the job back until something of this happens. Nothing of the handler is waited for any more. */
  suspend(waits: readonly Wait[], steps: readonly NewStep[]): void;
  /** The job has failed before, and its steps are being undone. */
  failAgain(error: JobError, thrown: Error): void;
  /** The run began with another version of the handler: leave it to others. */
  leave(version: number): Promise<void>;
  /** The job is somebody else's by now. */
  lost(error: LeaseLostError): void;
  /** Whoever got this signal was told to stop, and this error tells nothing else. */
  isStop(error: unknown, signal: AbortSignal): boolean;
  /** How long the work of a step that is undone may take: as long as an attempt. Absent: without an end. */
  readonly undoTimeoutMs: number | undefined;
  /** Resolves when work that does not obey is not waited for any more; never where an attempt may last. */
  readonly outOfTime: Promise<void>;
  /** Trying again would not help. */
  isPermanent(error: unknown): boolean;
  /** An error as it is stored. */
  describe(error: unknown): JobError;
}

/** The step that notes that the job has failed for good, and that its steps are being undone. */
const failingKey = "#failing";

/** Tokens have keys of their own, beside those of waits for the same signal. No step of a handler begins like this. */
const tokenPrefix = "#token ";
const usualExpiry: Duration = "7d";

/**
 * The step whose work is being done, with the run that it belongs to: what the work sets off, such as the run of
 * another job, may be called from inside of it too.
 */
const workInProgress = new AsyncLocalStorage<{ readonly key: string; readonly of: RunSteps }>();

interface Pending {
  readonly wait: Wait;
  readonly waiting: { readonly isAwaited: boolean; reject(reason: unknown): void };
}

/** Thrown where a call of the handler goes no further: it shows what is to be undone, and does nothing new. */
const isBlocked = Symbol("blocked");

/** What a look at a wait found: a value, or that it is still to be waited for. */
type Look<T> = { readonly value: T } | { readonly wait: Wait };

/**
 * The steps of one call of a handler. A step that has ended before gives what it gave then; a new one is done, and
 * written down before the handler goes on. When the handler waits for nothing but time, signals and other jobs, its job
 * is suspended, and this call of it never goes on: the next one will, from the top.
 */
export class RunSteps implements Step {
  readonly #owner: StepOwner;
  readonly #uses = new Map<string, number>();
  /** Names of steps that have begun and not ended. */
  readonly #busy = new Set<string>();
  readonly #pending = new Map<string, Pending>();
  /** What has failed, and counts as long as this attempt lasts; goes with the next that is written down. */
  #survived: NewStep[] = [];
  #reading: Promise<History> | undefined;
  /** Steps that are being done, read or written down. */
  #active = 0;
  #isLookedAt = false;
  readonly #undos = new Undos();
  #isSuspended = false;
  /** Something new was to be done in a call that only shows what is to be undone. */
  #isBlocked = false;
  /** Nothing new begins: the job is about to end. */
  #isClosed = false;
  /** What is still being done then counts no more. */
  #isOver = false;
  /** Some step that was called has something to undo it. */
  #hasUndo = false;
  /** Steps that are being looked at or done, with whether they have something to undo them. */
  readonly #looks = new Map<object, { readonly key: () => string | undefined; readonly hasUndo: boolean }>();
  #whenDone: (() => void) | undefined;
  /** The handler runs in a thread or process, where nothing can be undone and nobody is waited for. */
  #isElsewhere = false;
  #known: History | undefined;
  /** Known with the history. */
  #size: RunSize | undefined;

  /** Told when this call of the handler is given up: nothing of it goes on. */
  onAbandoned: () => void = () => {};

  constructor(owner: StepOwner) {
    this.#owner = owner;
  }

  /** Keep the run from being suspended while its handler, which runs elsewhere, may go on. Returns what ends that. */
  hold(): () => void {
    this.#isElsewhere = true;
    this.#active += 1;
    return () => {
      this.#active -= 1;
      this.#mayBeIdle();
    };
  }

  get key(): string {
    const work = workInProgress.getStore();
    if (work?.of !== this)
      throw new InvalidArgumentError("there is no step here", "read step.key inside the work of a step");
    return work.key;
  }

  /** Do the work of a step, which knows its key, and begins no other step. */
  #within<T>(key: string, work: () => T): T {
    return workInProgress.run({ key, of: this }, work);
  }

  run<T>(name: string, work: (context: StepContext) => T | PromiseLike<T>, options: StepOptions<T> = {}): Promise<T> {
    if (typeof work !== "function")
      return Promise.reject(new InvalidArgumentError(`the work of step "${name}" is not a function`));
    const hasUndo = typeof options.undo === "function";
    if (hasUndo) this.#hasUndo = true;
    const look = async (key: string, history: History): Promise<Look<T>> => {
      const found = await this.#run(name, key, history, work, options);
      if ("value" in found && hasUndo) this.#undos.add(key, options.undo as Undo, found.value, history.done(key));
      return found;
    };
    return this.#wait(name, look, "", hasUndo);
  }

  transaction<T>(
    name: string,
    db: Database,
    work: (tx: never, context: StepContext) => T | PromiseLike<T>,
  ): Promise<T> {
    return this.#wait(name, async (key, history) => {
      const done = history.done(key);
      if (done) return { value: done.value as T };
      const { engine, job, signal } = this.#owner;
      const failed = this.#failedNow(key, history);
      if (failed) throw failureOf(key, job.attempt, failed);
      this.#mayBegin(history);
      const beganAt = performance.now();
      const one: StepTry = { step: key, kind: "transaction", attempt: job.attempt };
      let sent: readonly NewStep[] = [];
      let step: NewStep | undefined;
      let isWritten = false;
      const inside = async (tx: Transaction): Promise<unknown> => {
        const context: StepContext = { key: `${handleIn(engine.cell, job.id)}:${key}`, attempt: job.attempt, signal };
        isWritten = false; // a library may do it again
        const given = stepValue(await this.#within(context.key, () => work(tx as never, context)), name);
        this.#size!.checkValue(given.json);
        step = doneStep(key, given.json, performance.now() - beganAt);
        sent = this.#survived;
        const refused = await engine.stepsPut([{ token: job.token, job: job.id, steps: [...sent, step] }], { tx });
        if (refused.length > 0) throw this.#lost();
        isWritten = true;
        return given.value;
      };
      let value: unknown;
      try {
        value = await this.#observed(one, () => inTransactionOf(db, inside));
      } catch (error) {
        const committed = isWritten ? await this.#committed(key) : undefined;
        if (!committed) {
          // it may be on its way: that it has failed is not certain, and not remembered
          if (!this.#isFailure(error, signal) || (isWritten && isAway(error))) throw this.#stopped(one, beganAt, error);
          return this.#failed(one, error, beganAt, 1, undefined);
        }
        value = committed.value;
      }
      this.#tellEnd(one, "done", beganAt);
      this.#size!.add([step!]);
      this.#survived = this.#survived.filter((one) => !sent.includes(one));
      return { value: value as T };
    });
  }

  /** What a transaction has left whose commit was not answered. */
  async #committed(key: string): Promise<StepRecord | undefined> {
    const { journal, job, signal } = this.#owner;
    const { records } = await this.#held(journal.read(job.id, signal));
    return records.find((one) => one.key === key && one.kind === "done");
  }

  sleep(name: string, duration: Duration): Promise<void> {
    return this.#wait(name, (key, history) => {
      const seconds = durationSeconds(duration);
      return seconds === 0 ? { value: undefined } : this.#look(history.due(key), { key, seconds }, undefined);
    });
  }

  sleepUntil(name: string, time: Date): Promise<void> {
    return this.#wait(name, (key, history) => {
      if (!(time instanceof Date) || Number.isNaN(time.getTime()))
        throw new InvalidArgumentError(`step "${name}" cannot sleep until that`, "give a Date");
      const noted = history.due(key);
      if (noted) return this.#look(noted, { key }, undefined);
      // the first time that was given counts: the handler may give a later one each time it is called
      const until = checkTime(new Date(Math.max(time.getTime(), minTime)), `the time of step "${name}"`);
      this.#mayBegin(history);
      this.#survive({ key, kind: "due", until });
      return this.#look(time, { key, until }, undefined);
    });
  }

  waitFor(names: string | readonly string[], options: WaitOptions = {}): Promise<never> {
    const signals = typeof names === "string" ? [names] : names;
    return this.#wait(typeof names === "string" ? names : signals.join("|"), async (key, history) => {
      if (signals.length === 0) throw new InvalidArgumentError("no signal to wait for", "give a name");
      for (const name of signals) stepName(name);
      const heard = async (got: StepRecord): Promise<Look<never>> => {
        const value: unknown = options.schema
          ? await validate(options.schema, got.value, `the signal "${got.key}"`)
          : (got.value ?? null);
        return { value: (typeof names === "string" ? value : { name: got.key, value }) as never };
      };
      const got = history.got(key);
      if (got) return heard(got);
      const seconds = options.timeout === undefined ? undefined : durationSeconds(options.timeout, "timeout");
      const due = history.due(key);
      const found = this.#look(due, { key, signals, ...(seconds === undefined ? {} : { seconds }) }, null);
      if ("value" in found && !history.done(key)) {
        // it came in time, when nobody was there to deliver it, or while the run waited for something else
        const late = due && history.take(signals, due);
        if (late) {
          this.#mayGoOn(history);
          await this.#write([gotStep(key, late)]);
          return heard(late);
        }
        // on record, for who looks: the signal may yet come, and is kept for the next wait
        this.#survive({ key, kind: "done", about: "timeout" });
      }
      return found as Look<never>;
    });
  }

  token(name: string, options: TokenOptions = {}): Promise<string> {
    return this.#wait(
      name,
      async (key, history) => {
        checkKeys(options, new Set(["expires"]));
        const seconds = durationSeconds(options.expires ?? usualExpiry, "expires");
        const isNew = !history.done(key);
        if (isNew) this.#mayBegin(history);
        if (this.#survived.length > 0) await this.#write([]);
        const { journal, job, signal } = this.#owner;
        const value = await this.#held(journal.token(job, key, name, seconds, signal));
        if (isNew) this.#size!.addChildren(key, 0);
        return { value };
      },
      tokenPrefix,
    );
  }

  call(
    name: string,
    definition: AnyJobDefinition | string,
    input: unknown,
    options: ChildOptions = {},
  ): Promise<never> {
    return this.#wait(name, async (key, history) => {
      const found = await this.#children(key, history, definition, [input], options);
      return "wait" in found ? found : { value: resultOf(found.value[0]!) as never };
    });
  }

  map(
    name: string,
    definition: AnyJobDefinition | string,
    inputs: readonly unknown[],
    options: ChildOptions = {},
  ): Promise<never> {
    return this.#map(name, definition, inputs, options, resultOf);
  }

  mapSettled(
    name: string,
    definition: AnyJobDefinition | string,
    inputs: readonly unknown[],
    options: ChildOptions = {},
  ): Promise<never> {
    return this.#map(name, definition, inputs, options, settledOf);
  }

  #map(
    name: string,
    definition: AnyJobDefinition | string,
    inputs: readonly unknown[],
    options: ChildOptions,
    told: (record: StepRecord) => unknown,
  ): Promise<never> {
    return this.#wait(name, async (key, history) => {
      if (!Array.isArray(inputs)) throw new InvalidArgumentError("inputs are not an array", "give one input per job");
      const found = await this.#children(key, history, definition, inputs, options);
      return "wait" in found ? found : { value: found.value.map((record) => told(record)) as never };
    });
  }

  start(
    name: string,
    definition: AnyJobDefinition | string,
    input: unknown,
    options: ChildOptions = {},
  ): Promise<JobId> {
    return this.#wait(name, async (key, history) => {
      const [id] = history.started(key) ?? (await this.#enqueue(key, history, definition, [input], options, true));
      return { value: id! };
    });
  }

  #lost(): LeaseLostError {
    const error = new LeaseLostError([this.#owner.job.id]);
    this.#owner.lost(error);
    return error;
  }

  /** Nothing of this call goes on any more. */
  #never(): Promise<never> {
    return new Promise(() => {});
  }

  /**
   * A step: it is looked at, which may take a while, and ends, or is waited for. It counts in the order of calls,
   * before anything is waited for.
   */
  #wait<T>(
    name: string,
    look: (key: string, history: History) => Look<T> | Promise<Look<T>>,
    prefix = "",
    hasUndo = false,
  ): Promise<T> {
    if (this.#isSuspended) return this.#never();
    if (workInProgress.getStore()?.of === this)
      return Promise.reject(new InvalidArgumentError(insideMessage(name), insideRemedy));
    const waiting = new Waiting<T>(() => this.#mayBeIdle());
    void this.#begin(name, look, waiting, prefix, hasUndo);
    return waiting;
  }

  async #begin<T>(
    name: string,
    look: (key: string, history: History) => Look<T> | Promise<Look<T>>,
    waiting: Waiting<T>,
    prefix: string,
    hasUndo: boolean,
  ): Promise<void> {
    this.#active += 1;
    const named = prefix + name;
    let isBusy = false;
    let key: string | undefined;
    this.#looks.set(waiting, { key: () => key, hasUndo });
    try {
      stepName(name);
      if (!this.#owner.isOpen || this.#isClosed) throw new LeaseLostError([this.#owner.job.id]);
      if (this.#busy.has(named)) {
        throw new InvalidArgumentError(
          `step "${name}" is used again while it is being done`,
          "give steps that run at the same time names of their own",
        );
      }
      this.#busy.add(named);
      isBusy = true;
      const step = this.#stepOf(named);
      const history = await this.#history();
      key = history.keyFor(step);
      const found = await look(key, history);
      if ("wait" in found) {
        if (isNew(found.wait)) this.#mayBegin(history);
        else this.#mayGoOn(history);
      }
      if ("value" in found) {
        waiting.resolve(found.value);
        this.#busy.delete(named);
      } else {
        this.#pending.set(key, { wait: found.wait, waiting });
      }
    } catch (error) {
      if (error === isBlocked) {
        this.#isBlocked = true;
      } else {
        if (isBusy) this.#busy.delete(named);
        waiting.reject(error);
      }
    } finally {
      this.#active -= 1;
      this.#looks.delete(waiting);
      if (this.#looks.size === 0) this.#whenDone?.();
      this.#mayBeIdle();
    }
  }

  #stepOf(name: string): string {
    const uses = (this.#uses.get(name) ?? 0) + 1;
    this.#uses.set(name, uses);
    return uses === 1 ? name : `${name}#${uses}`;
  }

  #history(): Promise<History> {
    this.#reading ??= this.#owner.read().then(async (read) => {
      const { records } = read;
      this.#size = new RunSize(read);
      if (!hasBegun(records)) {
        // absent is version 1
        if (this.#owner.version > 1) this.#survived.push(began(this.#owner.version));
      } else if (versionOf(records) === this.#owner.version) {
        this.#owner.observer?.onResumed(this.#owner.job);
      } else {
        await this.#owner.leave(versionOf(records));
        this.onAbandoned();
        await this.#never();
      }
      this.#known = new History(records);
      return this.#known;
    });
    return this.#reading;
  }

  /**
   * Whether something new may be done. Not while what was done before the job failed is being undone: the handler shows
   * what that is, and goes no further. All of its steps are heard before that is taken for all.
   */
  #mayGoOn(history: History): void {
    if (failingOf(history)) throw isBlocked;
    if (this.#isClosed) throw new LeaseLostError([this.#owner.job.id]);
  }

  /** The same where it will be written down: only as long as there is room for that. */
  #mayBegin(history: History): void {
    this.#mayGoOn(history);
    this.#size!.check();
  }

  /** The job has failed for good before this call of the handler, as far as is known by now. */
  get isFailing(): boolean {
    return this.#known !== undefined && failingOf(this.#known) !== undefined;
  }

  /** The job is about to fail for good: nothing new begins. */
  close(): void {
    this.#isClosed = true;
  }

  /** Steps have something to undo them, or some of it was begun before. */
  async hasUndos(): Promise<boolean> {
    const history = await this.#history();
    return this.#hasUndo || failingOf(history) !== undefined || history.undoable.length > 0;
  }

  /**
   * The job fails for good: undo what its steps have done, newest first. First that is noted, so that whoever has the
   * job next goes on with it. Returns the error that counts, and the steps that could not be undone.
   */
  async undo(error: JobError): Promise<{ readonly error: JobError; readonly notUndone: readonly string[] }> {
    const history = await this.#history();
    const known = failingOf(history);
    const told = known?.error ?? error;
    if (!known) await this.#write([{ key: history.keyFor(failingKey), kind: "done", error: told }]);
    const notUndone = await this.#workDone();
    for (const { key, undo, value } of this.#undos.newestFirst()) {
      const undoKey = `#undo ${key}`;
      const done = history.done(undoKey) ?? (await this.#undoOne(key, undoKey, undo, value));
      if (done.error) notUndone.push(key);
    }
    for (const key of history.undoable) {
      const done = history.done(`#undo ${key}`);
      if (!this.#undos.has(key) && (!done || done.error)) notUndone.push(key); // this call has not come to it
    }
    return { error: told, notUndone };
  }

  /**
   * Work that was begun beside what has failed may have its effect yet, and is waited for. Returns the steps that could
   * be undone, and did not end in time.
   */
  async #workDone(): Promise<string[]> {
    if (this.#looks.size > 0 && !this.#isElsewhere)
      await Promise.race([new Promise<void>((resolve) => (this.#whenDone = resolve)), this.#owner.outOfTime]);
    this.#isOver = true;
    return [...this.#looks.values()].flatMap(({ key, hasUndo }) => (hasUndo ? (key() ?? []) : []));
  }

  async #undoOne(key: string, undoKey: string, undo: Undo, value: unknown): Promise<{ readonly error?: JobError }> {
    const { engine, job, signal, undoTimeoutMs } = this.#owner;
    signal.throwIfAborted();
    const idempotencyKey = `${handleIn(engine.cell, job.id)}:${undoKey}`;
    const one: StepTry = { step: key, kind: "undo", attempt: job.attempt };
    const beganAt = performance.now();
    let failed: { readonly error?: JobError } = {};
    try {
      await this.#observed(one, () =>
        within(undoTimeoutMs, signal, (its) =>
          this.#within(idempotencyKey, () => undo(value, { key: idempotencyKey, attempt: job.attempt, signal: its })),
        ),
      );
    } catch (error) {
      if (this.#owner.isStop(error, signal)) throw this.#stopped(one, beganAt, error);
      failed = { error: this.#owner.describe(error) };
    }
    await this.#write([{ key: undoKey, kind: "done", ms: performance.now() - beganAt, about: key, ...failed }]);
    this.#tellEnd(one, failed.error ? "failed" : "done", beganAt, failed.error);
    return failed;
  }

  /** Whether a time has come. */
  #look<T>(until: Date | undefined, wait: Wait, value: T): Look<T> {
    if (until && this.#owner.now >= until.getTime()) return { value };
    if (!until) return { wait };
    const { seconds: _, ...rest } = wait;
    return { wait: { ...rest, until: until.toISOString() } };
  }

  async #run<T>(
    name: string,
    key: string,
    history: History,
    work: (context: StepContext) => T | PromiseLike<T>,
    { maxAttempts = 1, retryDelay, undo }: StepOptions<T>,
  ): Promise<Look<T>> {
    if (!Number.isInteger(maxAttempts) || maxAttempts < 1)
      throw new InvalidArgumentError(`maxAttempts of step "${name}" cannot be ${maxAttempts}`, "give 1 or more");
    const { job, signal } = this.#owner;
    const done = history.done(key);
    const tries = history.tries(key);
    if (done?.error) throw failureOf(key, tries.length + 1, done.error);
    if (done) return { value: done.value as T };
    const last = tries.at(-1);
    if (maxAttempts === 1) {
      const failed = this.#failedNow(key, history);
      if (failed) throw failureOf(key, job.attempt, failed);
    } else if (last?.until && this.#owner.now < last.until.getTime()) {
      return { wait: { key, until: last.until.toISOString(), retry: true } };
    }
    this.#mayBegin(history);
    const attempt = maxAttempts === 1 ? job.attempt : tries.length + 1;
    const one: StepTry = { step: key, kind: "run", attempt };
    const beganAt = performance.now();
    let value: { readonly json?: string; readonly value: unknown };
    try {
      const idempotencyKey = `${handleIn(this.#owner.engine.cell, job.id)}:${key}`;
      const context: StepContext = { key: idempotencyKey, attempt, signal };
      value = stepValue(await this.#observed(one, () => this.#within(idempotencyKey, () => work(context))), name);
      this.#size!.checkValue(value.json);
    } catch (error) {
      if (!this.#isFailure(error, signal)) throw this.#stopped(one, beganAt, error);
      return this.#failed(one, error, beganAt, maxAttempts, retryDelay);
    }
    if (this.#isOver) throw new LeaseLostError([job.id]); // it is told of as not undone
    const about = undo ? undoMark : undefined;
    await this.#write([doneStep(key, value.json, performance.now() - beganAt, about)]);
    this.#tellEnd(one, "done", beganAt);
    return { value: value.value as T };
  }

  /** What a step without retries of its own has failed with in this attempt of the job, in an earlier call. */
  #failedNow(key: string, history: History): JobError | undefined {
    return history.tries(key).find(({ n }) => Number(n) === this.#owner.job.attempt)?.error;
  }

  /** Work that obeyed when it was told to stop, or that is nobody's by now, has not failed. */
  #isFailure(error: unknown, signal: AbortSignal): boolean {
    const { job, isOpen } = this.#owner;
    return (
      isOpen &&
      !this.#owner.isStop(error, signal) &&
      !(error instanceof LeaseLostError && error.jobIds.includes(job.id))
    );
  }

  /** Nothing of it is remembered, and it is done again. */
  #stopped(one: StepTry, beganAt: number, error: unknown): unknown {
    this.#tellEnd(one, "failed", beganAt, error);
    return error;
  }

  async #failed(
    one: StepTry,
    error: unknown,
    beganAt: number,
    maxAttempts: number,
    retryDelay: StepOptions["retryDelay"],
  ): Promise<{ wait: Wait }> {
    const { step: key, attempt } = one;
    const ms = performance.now() - beganAt;
    const told = this.#owner.describe(error);
    const isLast = attempt >= maxAttempts || this.#owner.isPermanent(error);
    this.#tellEnd(one, isLast ? "failed" : "retried", beganAt, error);
    if (maxAttempts === 1) {
      this.#survive({ key, kind: "try", n: attempt, error: told, ms });
    } else if (isLast) {
      await this.#write([{ key, kind: "done", error: told, ms }]);
    } else {
      const seconds = retryDelaySeconds(retryDelay, attempt);
      this.#survive({ key, kind: "try", n: attempt, error: told, ms, seconds });
      return { wait: { key, seconds, retry: true } };
    }
    throw failureOf(key, attempt, told);
  }

  /** The work of a try, in the sight of whoever observes steps. */
  #observed<T>(one: StepTry, work: () => T | PromiseLike<T>): T | PromiseLike<T> {
    const { observer, job } = this.#owner;
    return observer ? observer.during(job, one, work) : work();
  }

  #tellEnd(one: StepTry, outcome: StepEnd["outcome"], beganAt: number, error?: unknown): void {
    const { observer, job } = this.#owner;
    observer?.onEnd(job, {
      ...one,
      outcome,
      durationSeconds: (performance.now() - beganAt) / 1000,
      ...(error === undefined ? {} : { error }),
    });
  }

  /** To be written down with the next that is. */
  #survive(step: NewStep): void {
    this.#survived.push(step);
    this.#size!.add([step]);
  }

  async #write(steps: readonly NewStep[]): Promise<void> {
    const { journal, job, signal } = this.#owner;
    this.#size!.add(steps);
    const survived = this.#survived;
    this.#survived = [];
    await this.#held(journal.put(job, [...survived, ...steps], signal));
  }

  /** What is written down, as long as the job is this run's. */
  async #held<T>(writing: Promise<T>): Promise<T> {
    const written = await writing.catch((error: unknown) => {
      if (error instanceof LeaseLostError) this.#owner.lost(error);
      throw error;
    });
    return this.#isSuspended ? this.#never() : written;
  }

  /** Children of a step: they are started, once, and waited for, all of them. */
  async #children(
    key: string,
    history: History,
    definition: AnyJobDefinition | string,
    inputs: readonly unknown[],
    options: ChildOptions,
  ): Promise<Look<readonly StepRecord[]>> {
    const started = history.started(key) ?? (await this.#enqueue(key, history, definition, inputs, options, false));
    const ended = history.ended(key);
    if (ended.length >= started.length)
      return { value: this.#owner.middlewares?.hasCodec ? await this.#read(ended) : ended };
    return { wait: { key, children: started.length } };
  }

  /** The ends of children, with their results as their handlers gave them. */
  async #read(ended: readonly StepRecord[]): Promise<readonly StepRecord[]> {
    const { middlewares } = this.#owner;
    return Promise.all(
      ended.map(async (one) => ({ ...one, value: (await middlewares!.read(one.value, "result")) as never })),
    );
  }

  async #enqueue(
    key: string,
    history: History,
    definition: AnyJobDefinition | string,
    inputs: readonly unknown[],
    options: ChildOptions,
    detached: boolean,
  ): Promise<readonly JobId[]> {
    const failed = this.#failedNow(key, history);
    if (failed) throw errorOf(failed);
    this.#mayBegin(history);
    const one: StepTry = { step: key, kind: "start", attempt: this.#owner.job.attempt };
    const beganAt = performance.now();
    const { signal } = this.#owner;
    try {
      const ids = await this.#observed(one, () => this.#enqueueNow(key, definition, inputs, options, detached));
      this.#tellEnd(one, "done", beganAt);
      this.#size!.addChildren(key, ids.length);
      return ids;
    } catch (error) {
      // the database was away for longer than the run may last: nothing was refused
      if (!this.#isFailure(error, signal) || isAway(error)) throw this.#stopped(one, beganAt, error);
      const told = this.#owner.describe(error);
      this.#survive({ key, kind: "try", n: one.attempt, error: told, ms: performance.now() - beganAt });
      this.#tellEnd(one, "failed", beganAt, error);
      throw errorOf(told);
    }
  }

  async #enqueueNow(
    key: string,
    definition: AnyJobDefinition | string,
    inputs: readonly unknown[],
    options: ChildOptions,
    detached: boolean,
  ): Promise<readonly JobId[]> {
    const { journal, job, signal, observer, middlewares } = this.#owner;
    const traced = observer?.traced(options) ?? options;
    const made = (input: unknown): Promise<EngineJob> => newJob(definition, input, traced);
    const children = await Promise.all(
      inputs.map(async (input) => (middlewares?.isForJobs ? middlewares.ready(await made(input)) : made(input))),
    );
    if (children.length > bounds.children)
      throw new RunLimitError(
        `${children.length} children are more than the limit of ${bounds.children}`,
        "start a child that starts others",
      );
    if (this.#survived.length > 0) await this.#write([]);
    return this.#held(journal.start(job, key, children, detached, signal));
  }

  /** Look, when the handler has gone on as far as it can, whether there is nothing left but to wait. */
  #mayBeIdle(): void {
    if (this.#isLookedAt || this.#active > 0 || (this.#pending.size === 0 && !this.#isBlocked)) return;
    this.#isLookedAt = true;
    setImmediate(() => {
      this.#isLookedAt = false;
      if (this.#active > 0 || this.#isSuspended) return;
      if (!this.#owner.isOpen || this.#isClosed) this.#giveUp();
      else if (this.#isBlocked) this.#failAgain();
      else this.#suspend();
    });
  }

  /** The job has an outcome, and nothing is waited for any more: a handler that goes on hears of it. */
  #giveUp(): void {
    for (const { waiting } of this.#pending.values()) waiting.reject(new LeaseLostError([this.#owner.job.id]));
    this.#pending.clear();
  }

  /** The handler has shown what was done before its job failed, and would do something new now. */
  #failAgain(): void {
    const { error = { message: "the job failed before" } } = failingOf(this.#known!)!;
    this.#owner.failAgain(error, errorOf(error));
    this.onAbandoned();
  }

  #suspend(): void {
    const all = [...this.#pending.values()];
    const waits = all.filter(({ waiting }) => waiting.isAwaited).map(({ wait }) => wait);
    if (waits.length === 0) return;
    this.#isSuspended = true;
    this.#owner.observer?.onSuspended(this.#owner.job, waits);
    // the time of what is not awaited yet counts from now all the same
    const begun = all
      .filter(({ wait, waiting }) => !waiting.isAwaited && wait.seconds !== undefined && !wait.retry)
      .map(({ wait: { key, seconds } }): NewStep => ({ key, kind: "due", seconds: seconds! }));
    this.#owner.suspend(waits, [...this.#survived, ...begun]);
    this.onAbandoned();
  }
}

/** Nothing is noted of it yet. The next try of a step is, and children are. */
const isNew = ({ until, retry, children }: Wait): boolean => until === undefined && !retry && children === undefined;

/** That the job has failed for good, if it has. */
function failingOf(history: History): StepRecord | undefined {
  return history.done(history.keyFor(failingKey));
}

/** The database is away, or was when it should have answered; libraries may put that into an error of their own. */
function isAway(error: unknown): boolean {
  let one = error;
  for (let depth = 0; one instanceof Error && depth < 20; depth += 1, one = one.cause)
    if (translateError(one) instanceof DatabaseUnavailableError) return true;
  return false;
}

function gotStep(key: string, { key: name, n, value }: StepRecord): NewStep {
  const json = value === undefined ? {} : { json: JSON.stringify(value) };
  return { key: name, kind: "got", n: n!, about: key, ...json };
}

function doneStep(key: string, json: string | undefined, ms: number, about?: string): NewStep {
  return { key, kind: "done", ms, ...(json === undefined ? {} : { json }), ...(about === undefined ? {} : { about }) };
}

/**
 * A step that has failed, as each call of the handler is told of it: the first one too gets the error that is read from
 * what is stored, or it would take another way than those that follow.
 */
function failureOf(key: string, attempts: number, error: JobError): StepFailedError {
  return new StepFailedError(key, attempts, errorText(error), errorOf(error));
}

function resultOf({ about: state, error, other, value }: StepRecord): unknown {
  if (state === "succeeded") return value ?? null;
  throw new JobFailedError(other!, state ?? "failed", errorText(error) || "no message", causeOf(error));
}

function settledOf(record: StepRecord): PromiseSettledResult<unknown> {
  try {
    return { status: "fulfilled", value: resultOf(record) };
  } catch (reason) {
    return { status: "rejected", reason };
  }
}
