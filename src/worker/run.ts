import { storedVersion } from "../job/define-job.js";
import { toJson } from "../db/encode.js";
import { bounds } from "../db/limits.js";
import type { Engine } from "../db/engine.js";
import { idIn } from "../db/handle.js";
import { InvalidArgumentError, LeaseLostError, RunLimitError, TimeoutError } from "../db/errors.js";
import type { ClaimedJob, JobError, Json, RunRead, RunningLog } from "../db/types.js";
import type { Middlewares } from "../job/middleware.js";
import { type Tracing, traceHeader } from "../observe/tracing.js";
import type { Journal } from "../steps/journal.js";
import type { StepObserver } from "../steps/observer.js";
import { attemptTimeoutMs, ran, ranBeforeMs } from "../steps/running-time.js";
import { RunSteps, type StepOwner } from "../steps/run-steps.js";
import { hasBegun, unhandled, versionOf } from "../steps/version.js";
import type { Step } from "../steps/step.js";
import { HandledJob, type JobOwner } from "./handled-job.js";
import type { CompleteOptions, Context, Handler, Job, Registration } from "./handler.js";
import { LatestProgress } from "./latest-progress.js";
import type { LiveLogs } from "./live-logs.js";
import {
  type Outcome,
  describeError,
  isCausedBy,
  isPermanent,
  outcomeOfError,
  outcomeOfReturn,
  storableText,
} from "./outcome.js";
import { runInProgress } from "./run-in-progress.js";

const newerVersionDelaySeconds = 60;
/** So long may the work of a step go on after its attempt has timed out, before its job is undone without it. */
const obeyMs = 5000;
const maxNotes = 100;
/** Of one note. All of them together stay below what a log may have, whatever is written in them. */
const maxNoteCharacters = 1500;
/** Of what is told while it runs: it is told again with each change. */
const maxLiveNotes = 50;
const maxLiveCharacters = 500;
/** A timer may fire a little early, and the database closes a job only when its own clock has passed the deadline. */
const lateMs = 5;
const never = new Promise<void>(() => {});
/** What a traced call gives instead of a value when it is suspended. */
const isSuspended = Symbol("suspended");
/** Node fires a timer that is longer at once. */
const longestTimerMs = 2 ** 31 - 1;

/** Whoever started a run, and is told of it. */
export interface RunObserver {
  onOutcome(run: Run, job: ClaimedJob, outcome: Outcome): void;
  /** The handler itself has ended, however late. */
  onEnded(run: Run): void;
}

/**
 * One call of a handler, with one job or a batch. It has ended when every job has an outcome; the handler may go on
 * longer. What need not wait is done at once, without promises of our own: there may be a hundred thousand runs a
 * second.
 */
export class Run implements JobOwner {
  readonly startedAt = performance.now();
  #controller: AbortController | undefined;
  #abortReason: unknown;
  /**
   * Completed in a transaction of the handler's own: unless the handler throws, which undoes that, nothing is left to
   * report.
   */
  #completed: Set<string> | undefined;
  readonly #open: Map<string, ClaimedJob>;
  readonly #notes: string[] = [];
  readonly #timers: NodeJS.Timeout[] = [];
  /** The attempt timeout: what happens then. Of a run with steps, which has one job. */
  #timeout:
    | { readonly ms: number; readonly timeOut: () => void; readonly timer: NodeJS.Timeout | undefined }
    | undefined;
  #progress: LatestProgress | undefined;
  #steps: RunSteps | undefined;
  #read: Promise<RunRead> | undefined;
  #version: number | undefined;
  /** Its steps are being undone, or have been: the job fails for good, whatever its handler does. */
  #undoing: "no" | "now" | "over" = "no";
  /** Of what undoes: the handler's own may have fired, because its time has passed. */
  #undoController: AbortController | undefined;
  /** The handler has ended while its steps are being undone. */
  #endsLater = false;
  #isOutOfTime: Promise<void> = never;
  #outOfTime: () => void = () => {};
  #suspendCall: () => void = () => {};
  /** Of the version that the run began with. */
  #handler: Handler | undefined;
  #waitedMs = 0;
  /** The handler itself has ended; what remains is to record its outcomes. */
  hasReturned = false;

  constructor(
    readonly registration: Registration,
    readonly jobs: readonly ClaimedJob[],
    readonly engine: Engine,
    readonly observer: RunObserver,
    readonly journal: Journal,
    readonly stepObserver?: StepObserver,
    readonly middlewares?: Middlewares,
    readonly liveLogs?: LiveLogs,
  ) {
    this.#open = new Map();
    for (const job of jobs) this.#open.set(job.id, job);
  }

  /** Call the handler. `waitedMs`: how long the jobs have been here. */
  start(tracing: Tracing | undefined, waitedMs: number): void {
    this.#waitedMs = waitedMs;
    for (const job of this.jobs) this.#limit(job, waitedMs);
    runInProgress.run(this, () =>
      follow(
        () => (this.#isVersioned ? this.#pin() : this.#readInputs()),
        (ready) => this.#call(ready, tracing),
        (error) => this.#ended(error),
      ),
    );
  }

  /**
   * Whether a run of an older version may be met here. One of a newer version is found when the handler asks for its
   * first step: to look for it before would cost all handlers without steps a read.
   */
  get #isVersioned(): boolean {
    const { definition, older, run } = this.registration;
    return "one" in run && (definition.version > 1 || (older?.size ?? 0) > 0);
  }

  /** A run that has begun ends with the version that it began with. Without a handler for it, it is left to others. */
  async #pin(): Promise<Job[]> {
    const [job] = this.jobs;
    const { definition, older } = this.registration;
    const { records } = await this.#remembered(job!);
    this.#version = hasBegun(records) ? versionOf(records) : definition.version;
    if (this.#version === definition.version) return this.#readInputs();
    this.#handler = older?.get(this.#version);
    if (this.#handler) return [new HandledJob(job!, await this.#readStored(job!), this)];
    await this.#leave(job!, this.#version);
    return [];
  }

  async #leave(job: ClaimedJob, version: number): Promise<void> {
    await this.journal.put(job, [unhandled(version)], this.signal);
    this.end(job, { kind: "released", delaySeconds: newerVersionDelaySeconds });
  }

  /** What the run remembers, read once. */
  #remembered(job: ClaimedJob): Promise<RunRead> {
    this.#read ??= this.journal.read(job.id, this.#stepSignal).then((read) => {
      this.#countIn(ranBeforeMs(read.records, job));
      return read;
    });
    return this.#read;
  }

  /** The attempt timeout and the deadline, whichever comes first for each job. */
  #limit(job: ClaimedJob, waitedMs: number): void {
    const timeoutMs = attemptTimeoutMs(job);
    if (timeoutMs !== undefined) {
      const timeout = new TimeoutError(`the attempt took longer than ${timeoutMs} ms`);
      const timeOut = (): void => {
        this.end(
          job,
          { kind: "retryLater", error: { ...describeError(timeout), timeout: true }, thrown: timeout },
          timeout,
        );
        if (this.#undoing === "now") this.#after(obeyMs, () => this.#outOfTime());
      };
      this.#timeout = { ms: timeoutMs, timeOut, timer: this.#after(timeoutMs, timeOut) };
    }
    if (job.deadline !== undefined) {
      const passed = new TimeoutError(`the job's deadline ${job.deadline.toISOString()} has passed`);
      this.#after(job.deadline.getTime() - job.claimedAt.getTime() - waitedMs + lateMs, () =>
        this.end(job, { kind: "expired" }, passed),
      );
    }
  }

  /** Earlier calls of the handler ran so long in this attempt: there is as much less time left for this one. */
  #countIn(ranMs: number): void {
    if (ranMs === 0 || !this.#timeout || this.hasReturned || this.#undoing !== "no") return;
    const { ms, timeOut, timer } = this.#timeout;
    clearTimeout(timer);
    this.#after(ms - ranMs - this.#ranMs, timeOut);
  }

  /** How long this call has been running. */
  get #ranMs(): number {
    return performance.now() - this.startedAt;
  }

  #after(ms: number, then: () => void): NodeJS.Timeout | undefined {
    if (ms > longestTimerMs) return undefined;
    const timer = setTimeout(then, Math.max(0, ms));
    this.#timers.push(timer);
    return timer;
  }

  /** Jobs whose input fits; the others get their outcome here. */
  #readInputs(): Job[] | Promise<Job[]> {
    const inputs = this.jobs.map((job) => this.#readInput(job));
    if (inputs.some((input) => input instanceof Promise))
      return Promise.all(inputs.map(async (input) => input)).then(thoseThatFit);
    return thoseThatFit(inputs as (Job | undefined)[]);
  }

  #readInput(job: ClaimedJob): Job | undefined | Promise<Job | undefined> {
    const { definition } = this.registration;
    if (storedVersion(job) > definition.version) {
      // Written by a newer release than this one: leave it to a worker that knows that version.
      this.end(job, { kind: "released", delaySeconds: newerVersionDelaySeconds });
      return undefined;
    }
    const unfit = (error: unknown): undefined => {
      this.end(job, outcomeOfError(error));
    };
    try {
      const input = this.middlewares?.hasCodec ? this.#decoded(job) : definition.readInput(job);
      return input instanceof Promise
        ? input.then((value) => new HandledJob(job, value, this), unfit)
        : new HandledJob(job, input, this);
    } catch (error) {
      return unfit(error);
    }
  }

  async #readStored(job: ClaimedJob): Promise<unknown> {
    return this.middlewares?.hasCodec ? this.middlewares.read(job.input, "input") : job.input;
  }

  async #decoded(job: ClaimedJob): Promise<unknown> {
    const input = (await this.#readStored(job)) as Json;
    return this.registration.definition.readInput({ ...job, input });
  }

  #call(jobs: readonly Job[], tracing: Tracing | undefined): void {
    const [first] = jobs;
    if (!first) return this.#ended();
    follow(
      () =>
        tracing
          ? tracing.run(
              {
                name: `run ${first.type}`,
                parent: first.headers?.[traceHeader] as string | undefined,
                attributes: {
                  "messaging.system": "millrace",
                  "messaging.destination.name": first.queue,
                  "messaging.message.id": first.id,
                },
              },
              // a suspended call never returns; its span ends all the same
              () => Promise.race([this.#suspended, (async () => this.#invoke(jobs))()]),
            )
          : this.#invoke(jobs),
      (value) => {
        if (value !== isSuspended) this.#afterProgress(() => this.#returned(jobs, value));
      },
      (error) => this.#afterProgress(() => this.#ended(error)),
    );
  }

  /** Resolves when the call is suspended, with a mark of its own. */
  get #suspended(): Promise<symbol> {
    return new Promise((resolve) => (this.#suspendCall = () => resolve(isSuspended)));
  }

  /** A job that has ended takes no progress any more, so what the handler did not wait for is stored first. */
  #afterProgress(then: () => void): void {
    const writing = this.#progress?.writing;
    if (writing) {
      follow(
        () => writing,
        () => this.#afterProgress(then),
        (error) => this.#ended(error),
      );
    } else then();
  }

  #invoke(jobs: readonly Job[]): unknown {
    const context = new RunContext(this);
    if (!this.middlewares?.isForRuns) return this.#handle(jobs, context);
    const { signal, log } = context;
    return this.middlewares.running({ jobs, signal, log }, () => this.#handle(jobs, context));
  }

  #handle(jobs: readonly Job[], context: Context): unknown {
    const { run } = this.registration;
    return "one" in run ? (this.#handler ?? run.one)(jobs[0]!, context) : run.many(jobs, context);
  }

  #returned(jobs: readonly Job[], value: unknown): void {
    this.hasReturned = true;
    const { definition, run } = this.registration;
    const values = "one" in run ? [value] : value === undefined ? [] : (value as readonly unknown[]);
    if ("many" in run && value !== undefined && (!Array.isArray(value) || value.length !== jobs.length)) {
      throw new TypeError(
        `the batch handler of "${definition.type}" must return ${jobs.length} outcomes, one per job, or nothing`,
      );
    }
    const checks = jobs
      .map(({ id }, i) => this.#take(idIn(this.engine.cell, id), values[i]))
      .filter((check) => check !== undefined);
    if (checks.length === 0) this.#ended();
    else void Promise.all(checks).then(() => this.#ended());
  }

  /** What the handler returned for a job. A promise while its result is being checked. */
  #take(id: string, value: unknown): Promise<void> | undefined {
    const job = this.#open.get(id);
    if (!job) return undefined;
    const outcome: Outcome = this.#completed?.has(id) ? { kind: "settled" } : outcomeOfReturn(value);
    const refuse = (error: unknown): void => this.end(job, outcomeOfError(error));
    if (outcome.kind !== "succeeded") {
      this.end(job, outcome);
      return undefined;
    }
    try {
      const checked = this.registration.definition.checkResult(outcome.result);
      const result = this.middlewares?.hasCodec ? this.#encoded(checked) : checked;
      if (result instanceof Promise)
        return result.then((ready: unknown) => this.end(job, { kind: "succeeded", result: ready }), refuse);
      this.end(job, { kind: "succeeded", result });
    } catch (error) {
      refuse(error);
    }
    return undefined;
  }

  async #encoded(result: unknown): Promise<unknown> {
    return this.middlewares!.write(await result, "result");
  }

  /** A result of another job, as its handler gave it. */
  async readResult(result: unknown): Promise<unknown> {
    return this.middlewares?.hasCodec ? this.middlewares.read(result, "result") : result;
  }

  /**
   * A job that fails for good has what its steps have done undone first, however it has failed. Whether that is so is
   * asked of all outcomes of a run that has asked for steps.
   */
  #mustUndo(job: ClaimedJob, outcome: Outcome): boolean {
    const steps = this.#steps;
    if (!steps || this.#undoing === "over") return false;
    if (outcome.kind === "failed" || (outcome.kind === "retryLater" && job.attempt >= job.maxAttempts)) return true;
    const isEnd = outcome.kind === "succeeded" || outcome.kind === "retryLater";
    return isEnd && (this.#undoing === "now" || steps.isFailing); // part of it was undone already
  }

  #undo(steps: RunSteps, job: ClaimedJob, outcome: Outcome): void {
    if (this.#undoing !== "no") return;
    this.#undoing = "now";
    this.#isOutOfTime = new Promise((resolve) => (this.#outOfTime = resolve));
    steps.close();
    const { error, thrown }: { readonly error: JobError; readonly thrown?: unknown } =
      "error" in outcome ? outcome : { error: { message: "the job failed before" } };
    const over = (told: Outcome): void => {
      this.#undoing = "over";
      this.end(job, told);
      if (this.#endsLater) this.#ended();
    };
    const undoAll = async (): Promise<Outcome> => {
      if (!(await steps.hasUndos())) return outcome;
      const { error: first, notUndone } = await steps.undo(error);
      return { kind: "failed", error: notUndone.length === 0 ? first : { ...first, notUndone }, thrown };
    };
    undoAll().then(
      (told) => over(told),
      (reason) => {
        if (reason instanceof LeaseLostError) over({ kind: "lost" });
        // what is too much to be read is so for everybody: nothing of it can be undone
        else if (reason instanceof RunLimitError) over(outcome);
        // the rest is left to whoever has the job next
        else over({ kind: "released" });
      },
    );
  }

  /** Nothing more will come from the handler. */
  #ended(error?: unknown): void {
    this.hasReturned = true;
    if (this.#open.size > 0) this.fail(error);
    this.#endsLater = this.#undoing === "now"; // which may have begun here
    if (this.#endsLater) return;
    for (const timer of this.#timers) clearTimeout(timer);
    if (this.#notes.length > 0) this.liveLogs?.ended(this);
    this.observer.onEnded(this);
  }

  /** Whatever was thrown, in the handler or around it, ends all jobs that are still open. */
  fail(error: unknown): void {
    if (this.#undoing === "now") return; // what the handler does counts no more
    const outcome = this.#outcomeOf(error);
    for (const job of this.#open.values()) this.end(job, outcome, error);
  }

  /** A handler that obeys when it is told to stop has not failed. */
  #outcomeOf(error: unknown): Outcome {
    if (error instanceof LeaseLostError) return { kind: "lost" };
    if (this.#abortReason !== undefined && isCausedBy(error, this.#abortReason)) return { kind: "released" };
    return outcomeOfError(error);
  }

  /** The job has an outcome; the first one counts. */
  end(job: ClaimedJob, outcome: Outcome, abortReason?: unknown): void {
    if (!this.#open.has(job.id)) return;
    if (this.#mustUndo(job, outcome)) {
      if (abortReason !== undefined && this.#undoing === "no") this.abort(abortReason);
      this.#undo(this.#steps!, job, outcome);
      return;
    }
    this.#open.delete(job.id);
    const noted = this.#notes.length > 0 ? withLog(outcome, this.#notes) : outcome;
    if (abortReason !== undefined && this.#open.size === 0) this.abort(abortReason);
    this.observer.onOutcome(this, job, noted);
  }

  /** Tell the handler to stop. What becomes of its jobs is decided by what it does then, or by whoever asked. */
  abort(reason: unknown): void {
    this.#abortReason ??= reason;
    this.#controller?.abort(this.#abortReason);
    if (this.#undoing === "now") (this.#undoController ??= new AbortController()).abort(reason);
  }

  get openJobs(): readonly ClaimedJob[] {
    return [...this.#open.values()];
  }

  async complete(job: ClaimedJob, result: unknown, { tx, near }: CompleteOptions): Promise<void> {
    const checked = this.registration.definition.checkResult(result);
    const told = await (this.middlewares?.hasCodec ? this.#encoded(checked) : checked);
    await this.engine.complete(job, told, near === undefined ? { tx } : { tx, near });
    (this.#completed ??= new Set()).add(job.id);
  }

  /** Leave a value for others to see, for all jobs that are still open. */
  async putProgress(value: unknown): Promise<void> {
    // what cannot be stored is told to who gave it, and does not take the place of what can
    toJson(value, "progress", bounds.progressBytes);
    if (this.#open.size === 0) throw this.#lost();
    this.#progress ??= new LatestProgress(async (newest) => {
      if (this.#open.size === 0) throw this.#lost();
      for (const job of this.#open.values()) await this.engine.progressPut(job, newest);
    });
    await this.#progress.put(value);
  }

  /** Its durable steps; made when somebody asks for them. */
  get steps(): Step {
    const [job] = this.jobs;
    if (!job || "many" in this.registration.run)
      throw new InvalidArgumentError("a batch handler has no steps", "handle jobs with steps one by one");
    this.#steps ??= new RunSteps(this.#stepOwner(job));
    return this.#steps;
  }

  #stepOwner(job: ClaimedJob): StepOwner {
    // oxlint-disable-next-line typescript/no-this-alias -- the getters below are not the run's
    const run = this;
    return {
      job,
      engine: this.engine,
      journal: this.journal,
      observer: this.stepObserver,
      middlewares: this.middlewares,
      version: this.#version ?? this.registration.definition.version,
      read: () => this.#remembered(job),
      get signal() {
        return run.#stepSignal;
      },
      undoTimeoutMs: attemptTimeoutMs(job),
      get outOfTime() {
        return run.#isOutOfTime;
      },
      get isOpen() {
        return run.#open.has(job.id) && !run.hasReturned;
      },
      get now() {
        return job.claimedAt.getTime() + run.#waitedMs + run.#ranMs;
      },
      suspend: (waits, steps) => {
        this.end(job, { kind: "suspended", waits, steps: [...steps, ...ran(job, this.#ranMs)] });
        this.#ended();
        this.#suspendCall();
      },
      leave: async (version) => {
        await this.#leave(job, version);
        this.#undoing = "over";
        this.#ended();
        this.#suspendCall();
      },
      lost: (error) => this.end(job, { kind: "lost" }, error),
      failAgain: (error, thrown) => {
        this.end(job, { kind: "failed", error, thrown });
        this.#ended();
        this.#suspendCall();
      },
      isStop: (error, signal) => signal.aborted && isCausedBy(error, signal.reason),
      isPermanent,
      describe: describeError,
    };
  }

  #lost(): LeaseLostError {
    return new LeaseLostError(this.jobs.map((job) => job.id));
  }

  hasCompleted(job: ClaimedJob): boolean {
    return this.#completed?.has(job.id) ?? false;
  }

  note(message: string): void {
    if (this.#notes.push(`${new Date().toISOString()} ${storableText(message, maxNoteCharacters)}`) > maxNotes)
      this.#notes.shift();
    this.liveLogs?.noted(this);
  }

  get runningLogs(): RunningLog[] {
    const lines = this.#notes.slice(-maxLiveNotes).map((line) => storableText(line, maxLiveCharacters));
    return [...this.#open.values()].map(({ id, token }) => ({ id, token, lines }));
  }

  get #stepSignal(): AbortSignal {
    return this.#undoing === "now" ? (this.#undoController ??= new AbortController()).signal : this.signal;
  }

  /** Made when somebody asks for it: most quick handlers never do. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#abortReason !== undefined) this.#controller.abort(this.#abortReason);
    return this.#controller.signal;
  }
}

/** What a handler gets beside its job. Functions are made when asked for: most quick handlers never do. */
class RunContext implements Context {
  readonly #run: Run;

  constructor(run: Run) {
    this.#run = run;
  }

  get signal(): AbortSignal {
    return this.#run.signal;
  }

  get progress(): Context["progress"] {
    return (value) => this.#run.putProgress(value);
  }

  get lastProgress(): Context["lastProgress"] {
    return async () => {
      const [first] = this.#run.jobs;
      return first ? ((await this.#run.engine.progress(first.id))?.value ?? null) : null;
    };
  }

  get step(): Step {
    return this.#run.steps;
  }

  get log(): Context["log"] {
    return (message) => this.#run.note(message);
  }
}

function withLog(outcome: Outcome, log: readonly string[]): Outcome {
  if (outcome.kind === "succeeded") return { ...outcome, log };
  return outcome.kind === "retryLater" || outcome.kind === "failed"
    ? { ...outcome, error: { ...outcome.error, log } }
    : outcome;
}

const thoseThatFit = (jobs: readonly (Job | undefined)[]): Job[] => jobs.filter((job) => job !== undefined);

/** Go on with what `work` returns: at once if it is there, else when it comes. */
function follow<T>(
  work: () => T | PromiseLike<T>,
  then: (value: T) => void,
  otherwise: (error: unknown) => void,
): void {
  const goOn = (value: T): void => {
    try {
      then(value);
    } catch (error) {
      otherwise(error);
    }
  };
  try {
    const value = work();
    if (isThenable(value)) void Promise.resolve(value).then(goOn, otherwise);
    else goOn(value);
  } catch (error) {
    otherwise(error);
  }
}

function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof (value as PromiseLike<T> | null | undefined)?.then === "function";
}
