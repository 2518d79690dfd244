import { AsyncLocalStorage } from "node:async_hooks";
import { storedVersion } from "../client/define-job.js";
import type { Engine } from "../db/engine.js";
import { LeaseLostError, TimeoutError } from "../db/errors.js";
import type { ClaimedJob } from "../db/types.js";
import { type Tracing, traceHeader } from "../observe/tracing.js";
import type { Context, Job, Registration } from "./handler.js";
import { type Outcome, describeError, outcomeOfError, outcomeOfReturn } from "./outcome.js";

/** Which run an error thrown from a timer or an unheard promise belongs to. */
export const runInProgress = new AsyncLocalStorage<Run>();

const newerVersionDelaySeconds = 60;
const mostNotes = 100;

/** One call of a handler, with one job or a batch. It has ended when every job has an outcome; the handler may go on longer. */
export class Run {
  readonly startedAt = performance.now();
  readonly #controller = new AbortController();
  /** Completed in a transaction of the handler's own: unless the handler throws, which undoes that, nothing is left to report. */
  readonly #completed = new Set<string>();
  readonly #open: Map<string, ClaimedJob>;
  readonly #notes: string[] = [];
  readonly #timers: NodeJS.Timeout[] = [];
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

  start(tracing: Tracing | undefined): void {
    for (const job of this.jobs) this.#limit(job);
    this.handlerEnded = runInProgress.run(this, () => this.#call(tracing));
  }

  /** The attempt timeout and the deadline, whichever comes first for each job. */
  #limit(job: ClaimedJob): void {
    if (job.attemptTimeoutMs !== undefined) {
      const timeout = new TimeoutError(`the attempt took longer than ${job.attemptTimeoutMs} ms`);
      this.#after(job.attemptTimeoutMs, () => this.end(job, { kind: "retry", error: { ...describeError(timeout), timeout: true } }, timeout));
    }
    if (job.deadline !== undefined) {
      const passed = new TimeoutError(`the job's deadline ${job.deadline.toISOString()} has passed`);
      this.#after(job.deadline.getTime() - job.claimedAt.getTime(), () => this.end(job, { kind: "lost" }, passed));
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
      await this.#take(ready, value);
    } catch (error) {
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
        ready.push(this.#jobFor(job, input instanceof Promise ? await input : input));
      } catch (error) {
        this.end(job, outcomeOfError(error));
      }
    }
    return ready;
  }

  async #invoke(jobs: readonly Job[]): Promise<unknown> {
    const { run } = this.registration;
    const context = this.#context();
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
    const outcome = error instanceof LeaseLostError ? ({ kind: "lost" } as const) : outcomeOfError(error);
    for (const job of this.#open.values()) this.end(job, outcome, error);
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
    this.#controller.abort(reason);
  }

  get openJobs(): readonly ClaimedJob[] {
    return [...this.#open.values()];
  }

  #jobFor(job: ClaimedJob, input: unknown): Job {
    const { engine } = this;
    return {
      ...job,
      input,
      isLastAttempt: job.attempt >= job.maxAttempts,
      complete: async (result, { tx }) => {
        await engine.complete(job, await this.registration.definition.checkResult(result), { tx });
        this.#completed.add(job.id);
      },
      payloadStream: () => engine.payloadStream(job.id),
      payloadBytes: async () => job.payload ?? concat(engine.payloadStream(job.id), job.payloadSize),
    };
  }

  #context(): Context {
    return {
      signal: this.#controller.signal,
      progress: async (value) => {
        for (const job of this.openJobs) await this.engine.progressPut(job, value);
      },
      lastProgress: async () => (this.jobs[0] ? ((await this.engine.progressGet(this.jobs[0].id))?.value ?? null) : null),
      log: (message) => {
        if (this.#notes.push(`${new Date().toISOString()} ${message}`) > mostNotes) this.#notes.shift();
      },
    };
  }
}

async function concat(pieces: AsyncIterable<Uint8Array>, size: number | undefined): Promise<Uint8Array | null> {
  if (size === undefined) return null;
  const whole = new Uint8Array(size);
  let at = 0;
  for await (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
