import { AsyncLocalStorage } from "node:async_hooks";
import { storedVersion } from "../client/define-job.js";
import type { Engine } from "../db/engine.js";
import { LeaseLostError, TimeoutError } from "../db/errors.js";
import type { Transaction } from "../db/foreign.js";
import type { ClaimedJob } from "../db/types.js";
import { type Tracing, traceHeader } from "../observe/tracing.js";
import { HandledJob, type JobOwner } from "./handled-job.js";
import type { Context, Job, Registration } from "./handler.js";
import { type Outcome, describeError, isCausedBy, outcomeOfError, outcomeOfReturn, storableText } from "./outcome.js";

/** Which run an error thrown from a timer or an unheard promise belongs to. */
export const runInProgress = new AsyncLocalStorage<Run>();

const newerVersionDelaySeconds = 60;
const mostNotes = 100;
/** A timer may fire a little early, and the database closes a job only when its own clock has passed the deadline. */
const lateMs = 5;

/** One call of a handler, with one job or a batch. It has ended when every job has an outcome; the handler may go on longer. */
export class Run implements JobOwner {
  readonly startedAt = performance.now();
  #controller: AbortController | undefined;
  #abortReason: unknown;
  /** Completed in a transaction of the handler's own: unless the handler throws, which undoes that, nothing is left to report. */
  readonly #completed = new Set<string>();
  readonly #open: Map<string, ClaimedJob>;
  readonly #notes: string[] = [];
  readonly #timers: NodeJS.Timeout[] = [];
  /** The handler itself has ended; what remains is to record its outcomes. */
  hasReturned = false;
  /** Resolves when the handler itself has returned, however late. */
  handlerEnded: Promise<void> = Promise.resolve();

  constructor(
    readonly registration: Registration,
    readonly jobs: readonly ClaimedJob[],
    readonly engine: Engine,
    readonly onOutcome: (run: Run, job: ClaimedJob, outcome: Outcome) => void,
  ) {
    this.#open = new Map(jobs.map((job) => [job.id, job]));
  }

  /** Call the handler. `waitedMs`: how long the jobs have been here. */
  start(tracing: Tracing | undefined, waitedMs: number): void {
    for (const job of this.jobs) this.#limit(job, waitedMs);
    this.handlerEnded = runInProgress.run(this, () => this.#call(tracing));
  }

  /** The attempt timeout and the deadline, whichever comes first for each job. */
  #limit(job: ClaimedJob, waitedMs: number): void {
    if (job.attemptTimeoutMs !== undefined) {
      const timeout = new TimeoutError(`the attempt took longer than ${job.attemptTimeoutMs} ms`);
      this.#after(job.attemptTimeoutMs, () => this.end(job, { kind: "retry", error: { ...describeError(timeout), timeout: true } }, timeout));
    }
    if (job.deadline !== undefined) {
      const passed = new TimeoutError(`the job's deadline ${job.deadline.toISOString()} has passed`);
      this.#after(job.deadline.getTime() - job.claimedAt.getTime() - waitedMs + lateMs, () => this.end(job, { kind: "expired" }, passed));
    }
  }

  #after(ms: number, then: () => void): void {
    if (ms < 2 ** 31) this.#timers.push(setTimeout(then, Math.max(0, ms)));
  }

  async #call(tracing: Tracing | undefined): Promise<void> {
    try {
      const ready = await this.#readInputs();
      if (ready.length === 0) return;
      const [first] = ready;
      const call = (): Promise<unknown> => this.#invoke(ready);
      const value =
        tracing && first
          ? await tracing.run(
              {
                name: `run ${first.type}`,
                parent: first.headers?.[traceHeader] as string | undefined,
                attributes: { "messaging.system": "millrace", "messaging.destination.name": first.queue, "messaging.message.id": first.id },
              },
              call,
            )
          : await call();
      this.hasReturned = true;
      await this.#take(ready, value);
    } catch (error) {
      this.hasReturned = true;
      this.fail(error);
    } finally {
      for (const timer of this.#timers) clearTimeout(timer);
    }
  }

  /** Jobs whose input fits; the others get their outcome here. */
  async #readInputs(): Promise<Job[]> {
    const { definition } = this.registration;
    const ready: Job[] = [];
    for (const job of this.jobs) {
      if (storedVersion(job) > definition.version) {
        // Written by a newer release than this one: leave it to a worker that knows that version.
        this.end(job, { kind: "released", delaySeconds: newerVersionDelaySeconds });
        continue;
      }
      try {
        const input = definition.readInput(job);
        ready.push(new HandledJob(job, input instanceof Promise ? await input : input, this));
      } catch (error) {
        this.end(job, outcomeOfError(error));
      }
    }
    return ready;
  }

  async #invoke(jobs: readonly Job[]): Promise<unknown> {
    const { run } = this.registration;
    const context = new RunContext(this);
    return "one" in run ? run.one(jobs[0]!, context) : run.many(jobs, context);
  }

  async #take(jobs: readonly Job[], value: unknown): Promise<void> {
    const { definition, run } = this.registration;
    const values = "one" in run ? [value] : value === undefined ? [] : (value as readonly unknown[]);
    if ("many" in run && value !== undefined && (!Array.isArray(value) || value.length !== jobs.length)) {
      throw new TypeError(`the batch handler of "${definition.type}" must return ${jobs.length} outcomes, one per job, or nothing`);
    }
    for (const [i, { id }] of jobs.entries()) {
      const job = this.#open.get(id);
      if (!job) continue;
      const outcome: Outcome = this.#completed.has(id) ? { kind: "settled" } : outcomeOfReturn(values[i]);
      if (outcome.kind !== "succeeded") {
        this.end(job, outcome);
        continue;
      }
      try {
        const checked = definition.checkResult(outcome.result);
        const result: unknown = checked instanceof Promise ? await checked : checked;
        this.end(job, { kind: "succeeded", result });
      } catch (error) {
        this.end(job, outcomeOfError(error));
      }
    }
  }

  /** Whatever was thrown, in the handler or around it, ends all jobs that are still open. */
  fail(error: unknown): void {
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
    if (!this.#open.delete(job.id)) return;
    const noted =
      this.#notes.length > 0 && (outcome.kind === "retry" || outcome.kind === "failed")
        ? { ...outcome, error: { ...outcome.error, log: this.#notes } }
        : outcome;
    if (abortReason !== undefined && this.#open.size === 0) this.abort(abortReason);
    this.onOutcome(this, job, noted);
  }

  /** Tell the handler to stop. What becomes of its jobs is decided by what it does then, or by whoever asked. */
  abort(reason: unknown): void {
    this.#abortReason ??= reason;
    this.#controller?.abort(this.#abortReason);
  }

  get openJobs(): readonly ClaimedJob[] {
    return [...this.#open.values()];
  }

  async complete(job: ClaimedJob, result: unknown, tx: Transaction): Promise<void> {
    await this.engine.complete(job, await this.registration.definition.checkResult(result), { tx });
    this.#completed.add(job.id);
  }

  hasCompleted(job: ClaimedJob): boolean {
    return this.#completed.has(job.id);
  }

  note(message: string): void {
    if (this.#notes.push(`${new Date().toISOString()} ${storableText(message)}`) > mostNotes) this.#notes.shift();
  }

  /** Made when somebody asks for it: most quick handlers never do. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#abortReason !== undefined) this.#controller.abort(this.#abortReason);
    return this.#controller.signal;
  }
}

/** What a handler gets beside its job. */
class RunContext implements Context {
  readonly #run: Run;

  constructor(run: Run) {
    this.#run = run;
    this.progress = this.progress.bind(this);
    this.lastProgress = this.lastProgress.bind(this);
    this.log = this.log.bind(this);
  }

  get signal(): AbortSignal {
    return this.#run.signal;
  }

  async progress(value: unknown): Promise<void> {
    const { openJobs, jobs, engine } = this.#run;
    if (openJobs.length === 0) throw new LeaseLostError(jobs.map((job) => job.id));
    for (const job of openJobs) await engine.progressPut(job, value);
  }

  async lastProgress(): Promise<unknown> {
    const [first] = this.#run.jobs;
    return first ? ((await this.#run.engine.progressGet(first.id))?.value ?? null) : null;
  }

  log(message: string): void {
    this.#run.note(message);
  }
}
