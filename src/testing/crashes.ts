import { AssertionError } from "node:assert";
import { isDeepStrictEqual } from "node:util";
import type pg from "pg";
import type { EnqueueCallOptions, Millrace } from "../client/millrace.js";
import { errorText } from "../db/error-text.js";
import type { JobId, JobRecord, JobState, Json } from "../db/types.js";
import type { AnyJobDefinition, JobDefinition } from "../job/define-job.js";
import { type Duration, durationMs } from "../job/duration.js";
import type { Handler } from "../worker/handler.js";
import type { Worker } from "../worker/worker.js";
import type { TestClock } from "./clock.js";
import { StepLog, crashing } from "./crash-steps.js";
import { endLeases, jobsLeft, looksUntilIdle, msUntilDue } from "./look.js";

/** Options of `runWithCrashes`. */
export interface CrashOptions {
  /** Signals that each run is sent before it begins; it gets them when it waits for them. Default none. */
  readonly signals?: readonly { readonly name: string; readonly value?: unknown }[];
  /** Runs the jobs that the handler calls, as it would in production. It never crashes. Default none. */
  readonly worker?: Worker;
  /** Called before each run, to put the world back as it was. Default nothing. */
  readonly before?: () => unknown;
  /** What the handler has done to the world: read after each run, and compared. Default nothing. */
  readonly effects?: () => unknown;
  /**
   * Whether a result is the one that the run without a crash had. Needed where steps give times or random ids. Default:
   * deeply equal.
   */
  readonly isSame?: (without: Json, crashed: Json) => boolean;
  /** How long nobody goes on after a crash, by the moved time; a day finds handlers that read the date. Default 0. */
  readonly downtime?: Duration;
  /** Of the job, as for `enqueue`. After a crash it has one attempt more, for the one that is lost. Default none. */
  readonly enqueue?: EnqueueCallOptions;
  /** How long one run may take, in real time. Default `"30s"`. */
  readonly timeout?: Duration;
}

/** One run of a handler in `runWithCrashes`. */
export interface CrashRun {
  /** The step after which the process crashed; null for the run without a crash. */
  readonly crashAfter: string | null;
  /** How the job ended. */
  readonly state: JobState;
  /** What it returned. */
  readonly result: Json;
  /** What it failed with, if it did. */
  readonly error: string | null;
  /** How often the work of each step was called; that of its undo is `undo` and the step's name. */
  readonly calls: Readonly<Record<string, number>>;
  /** What `effects` told afterwards. */
  readonly effects: unknown;
  /** What is not as in the run without a crash, in words. Empty: all is the same. */
  readonly differences: readonly string[];
}

/** What `runWithCrashes` found. */
export interface CrashReport {
  /** The steps of the run without a crash, in the order in which they ended. */
  readonly steps: readonly string[];
  /** The run without a crash. */
  readonly without: CrashRun;
  /** One run for each step, in the same order. */
  readonly crashes: readonly CrashRun[];
  /** All that differs, in words. Empty: the handler survives a crash after each of its steps. */
  readonly differences: readonly string[];
}

const ended: readonly JobState[] = ["succeeded", "failed", "expired", "cancelled"];
const pauseMs = 5;
/** That a job may say; more means that there is no limit. */
const maxAttempts = 999_999_999;
let runs = 0;

/** Runs a handler with a crash after each of its steps. */
export class CrashTest<In, Parsed, Out> {
  readonly #test: { readonly mill: Millrace; readonly pool: pg.Pool; readonly clock: TestClock };
  readonly #definition: JobDefinition<In, Parsed, Out, unknown>;
  readonly #input: In;
  readonly #handler: Handler<Parsed, Out>;
  readonly #options: CrashOptions;

  constructor(
    test: { readonly mill: Millrace; readonly pool: pg.Pool; readonly clock: TestClock },
    definition: JobDefinition<In, Parsed, Out, unknown>,
    input: In,
    handler: Handler<Parsed, Out>,
    options: CrashOptions,
  ) {
    this.#test = test;
    this.#definition = definition;
    this.#input = input;
    this.#handler = handler;
    this.#options = options;
  }

  async run(): Promise<CrashReport> {
    const log = new StepLog(null);
    const { job, ...first } = await this.#once(log);
    const without: CrashRun = { ...first, differences: [] };
    const steps = [...log.ended];
    if (steps.length === 0)
      throw new AssertionError({ message: `"${job.type}" ended no step: there is nothing to crash after` });
    const crashes: CrashRun[] = [];
    for (const step of steps) {
      const crashLog = new StepLog(step);
      const { job: _, ...crashed } = await this.#once(crashLog, job.maxAttempts);
      const differences = crashLog.hasCrashed ? this.#compare(without, crashed) : ["the step was not reached"];
      crashes.push({ ...crashed, differences });
    }
    return {
      steps,
      without,
      crashes,
      differences: crashes.flatMap(({ crashAfter, differences }) =>
        differences.map((difference) => `crash after "${crashAfter}": ${difference}`),
      ),
    };
  }

  #compare(without: Omit<CrashRun, "differences">, crashed: Omit<CrashRun, "differences">): string[] {
    const { isSame = isDeepStrictEqual } = this.#options;
    const differences: string[] = [];
    const differs = (what: string, then: unknown, now: unknown): void =>
      void differences.push(`${what} ${text(now)}, without a crash ${text(then)}`);
    if (crashed.state !== without.state) differs("the job ended as", without.state, crashed.state);
    if (crashed.error !== without.error) differs("its error is", without.error, crashed.error);
    if (!isSame(without.result, crashed.result)) differs("its result is", without.result, crashed.result);
    for (const step of new Set([...Object.keys(without.calls), ...Object.keys(crashed.calls)])) {
      const [then, now] = [without.calls[step] ?? 0, crashed.calls[step] ?? 0];
      if (then !== now) differs(`calls of the work of "${step}":`, then, now);
    }
    if (!isDeepStrictEqual(without.effects, crashed.effects)) differs("effects are", without.effects, crashed.effects);
    return differences;
  }

  /** One run, from its enqueue to its end. */
  async #once(
    log: StepLog,
    usualAttempts?: number,
  ): Promise<Omit<CrashRun, "differences"> & { readonly job: JobRecord }> {
    const { mill } = this.#test;
    const { before, effects, signals = [], enqueue } = this.#options;
    await before?.();
    const queue = `crash-${process.pid}-${(runs += 1)}`;
    await mill.queues.put(queue);
    const { id } = await mill.enqueue(this.#definition as AnyJobDefinition, this.#input, {
      ...enqueue,
      ...(usualAttempts !== undefined && usualAttempts < maxAttempts ? { maxAttempts: usualAttempts + 1 } : {}),
      queue,
    });
    for (const { name, value } of signals) await mill.tell(id, name, value);
    const job = await this.#untilEnded(id, queue, log);
    const { state, result, lastError } = job;
    return {
      job,
      crashAfter: log.crashAfter,
      state,
      result,
      error: state === "succeeded" ? null : errorText(lastError),
      calls: log.calls,
      effects: await effects?.(),
    };
  }

  /** Let workers run, crash when it is time, and move the time when nothing is left but to wait. */
  async #untilEnded(id: JobId, queue: string, log: StepLog): Promise<JobRecord> {
    const { mill, pool, clock } = this.#test;
    const { schema } = mill.engine;
    const { worker: others, timeout = "30s", downtime = 0 } = this.#options;
    const end = performance.now() + durationMs(timeout);
    if (others && !others.isRunning) await others.start();
    let worker = await this.#process(queue, log);
    try {
      for (let idle = 0, hasCrashed = false; ;) {
        if (log.hasCrashed && !hasCrashed) {
          hasCrashed = true;
          while ((await endLeases(pool, schema, queue)) > 0) await mill.engine.maintain();
          await worker.stop({ force: true });
          if (durationMs(downtime) > 0) await clock.advance(durationMs(downtime));
          worker = await this.#process(queue, log);
        }
        await mill.engine.noticesDeliver();
        await mill.engine.maintain();
        const workers = others ? [worker, others] : [worker];
        for (const one of workers) one.wake();
        const { job } = (await mill.jobs.get(id))!;
        const left = await jobsLeft(pool, schema, workers);
        if (ended.includes(job.state) && left === 0) return job; // what it only started has its effects too
        if (performance.now() > end)
          throw new AssertionError({ message: `${told(log)} is still ${job.state} after ${durationMs(timeout)} ms` });
        idle = left === 0 ? idle + 1 : 0;
        if (idle >= looksUntilIdle) {
          idle = 0;
          await this.#moveOn(id, log, workers);
        }
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    } finally {
      await worker.stop({ force: true });
    }
  }

  /** Nothing can run now: go forward to when something can. */
  async #moveOn(id: JobId, log: StepLog, workers: readonly Worker[]): Promise<void> {
    const { mill, pool, clock } = this.#test;
    const ms = await msUntilDue(pool, mill.engine.schema, workers);
    if (ms !== null) return clock.advance(Math.max(0, ms) + 1);
    const job = (await mill.jobs.get(id))?.job;
    if (job?.state !== "suspended") return;
    throw new AssertionError({
      message:
        `${told(log)} is ${job.state}, and waits for something that nobody does: ${text(job.waits)}; ` +
        "send what it waits for with `signals`, and let the jobs that it calls be handled by `worker`",
    });
  }

  /** A worker, as a process of its own would have one. */
  async #process(queue: string, log: StepLog): Promise<Worker> {
    const worker = this.#test.mill.worker({
      queues: [queue],
      concurrency: 1,
      prefetch: 0,
      lease: "1h",
      heartbeatThread: false,
      maintenance: false,
      schedules: false,
    });
    worker.handle(this.#definition, crashing(this.#handler, log));
    await worker.start();
    return worker;
  }
}

function told({ crashAfter }: StepLog): string {
  return crashAfter === null ? "the run without a crash" : `the run with a crash after "${crashAfter}"`;
}

function text(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "nothing");
}
