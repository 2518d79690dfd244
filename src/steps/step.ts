import type { Database } from "../db/foreign.js";
import type { JobId, Json } from "../db/types.js";
import type { JobDefinition } from "../job/define-job.js";
import type { Duration } from "../job/duration.js";
import type { JobOptions, RetryDelay } from "../job/job-options.js";
import type { StandardSchema, SchemaOutput } from "../job/standard-schema.js";

/** What the work of a step gets. */
export interface StepContext {
  /** The same in every try of this step, and of no other: for an API that takes an idempotency key. */
  readonly key: string;
  /** Which try it is, from 1 on. */
  readonly attempt: number;
  /** Fires when the job is cancelled, its lease is lost, its time has passed, or the worker must stop. */
  readonly signal: AbortSignal;
}

/** Options of `step.run`. */
export interface StepOptions<T = unknown> {
  /**
   * How often the step is tried. Between tries the job is suspended; the last failure is an error that the handler can
   * catch. Default 1: a failure fails the handler, and the job's own retries begin with this step again.
   */
  readonly maxAttempts?: number;
  /** Delay before the next try. Default 1 s doubling up to 1 h, jitter 0.1. */
  readonly retryDelay?: RetryDelay;
  /**
   * What undoes the step, should the job fail for good later: it gets what the step gave. Those of all steps that have
   * ended are called, newest first, each once, as steps of their own. Default nothing.
   */
  readonly undo?: (value: T, context: StepContext) => unknown;
}

/** What a database hands to the work of a transaction. */
export type TransactionOf<Db> = Db extends {
  // both forms of it, because only the last ones are inferred from
  connect: { (): Promise<infer Client>; (callback: never): void };
  totalCount: number;
}
  ? Client
  : Db extends { begin(options: string, work: (tx: infer Tx) => never): unknown; unsafe: unknown }
    ? Tx
    : Db extends { transaction(): { execute(work: (tx: infer Tx) => never): unknown } }
      ? Tx
      : Db extends { $transaction(work: (tx: infer Tx) => never): unknown }
        ? Tx
        : Db extends { transaction(work: (tx: infer Tx) => never): unknown }
          ? Tx
          : never;

/** Options of `step.waitFor`. */
export interface WaitOptions<S extends StandardSchema = StandardSchema> {
  /** What a signal has to look like. Default: anything. */
  readonly schema?: S;
  /** How long to wait. Default forever. */
  readonly timeout?: Duration;
}

/** Options of `step.token`. */
export interface TokenOptions {
  /** How long it may be answered with. Default `"7d"`. */
  readonly expires?: Duration;
}

/** A signal that was waited for. */
export interface Signal<T = Json> {
  readonly name: string;
  readonly value: T;
}

/** Options of a child: those of any job but its uniqueness, which the step itself provides. */
export type ChildOptions = Omit<
  JobOptions,
  "fingerprint" | "fingerprintMode" | "fingerprintFor" | "payload" | "contentType"
>;

/**
 * Durable steps of a handler. What a step gave is stored before the handler goes on, and is given again, without the
 * work, when the handler is called again after a crash, a retry or a wait. Everything between steps simply runs again.
 * Names are the handler's own; one that is used again is numbered in the order of calls.
 *
 * @example
 * ```ts
 * worker.handle(order, async (job, { step }) => {
 *   const paid = await step.run("charge", ({ key }) => psp.charge(job.input, { idempotencyKey: key }), { maxAttempts: 5 });
 *   await step.sleep("cool-off", "3d");
 *   const ok = await step.waitFor("approved", { timeout: "7d" });
 *   if (ok === null) throw new PermanentError("nobody approved");
 *   return step.call("label", printLabel, { id: paid.id });
 * });
 * ```
 */
export interface Step {
  /** Do something once. Its value must be JSON, and is the same in this call and in every later one. */
  run<T>(name: string, work: (context: StepContext) => T | PromiseLike<T>, options?: StepOptions<T>): Promise<T>;
  /**
   * Do something once in a transaction of yours: what it writes and its value are committed together, or not at all.
   * `db` is a `pg` Pool, or the database of any library that `tx` knows; the work gets the transaction that it begins.
   *
   * @example
   * ```ts
   * await step.transaction("book", pool, (tx) => tx.query("insert into bookings values ($1)", [job.id]));
   * ```
   */
  transaction<T, Db extends Database>(
    name: string,
    db: Db,
    work: (tx: TransactionOf<Db>, context: StepContext) => T | PromiseLike<T>,
  ): Promise<T>;
  /** Go on after this time. Meanwhile the job holds nothing: no slot, no lease, no connection. */
  sleep(name: string, duration: Duration): Promise<void>;
  /** Go on at this time. */
  sleepUntil(name: string, time: Date): Promise<void>;
  /** Wait for a signal of this name (`mill.tell`), one that came before included. Null when none came in time. */
  waitFor<S extends StandardSchema>(
    name: string,
    options: WaitOptions<S> & { readonly schema: S },
  ): Promise<SchemaOutput<S> | null>;
  waitFor<T = Json>(name: string, options?: WaitOptions): Promise<T | null>;
  /** Wait for the first signal of several names. */
  waitFor<T = Json>(names: readonly string[], options?: WaitOptions): Promise<Signal<T> | null>;
  /**
   * A callback token for the signal of this name: its owner ends one wait for that signal, once, until it expires,
   * and may do nothing else. With `mill.answer`, or over HTTP without another right (`POST /api/v1/answers/TOKEN`).
   * Each call of the handler gets the same one.
   *
   * @example
   * ```ts
   * const token = await step.token("approved", { expires: "3d" });
   * await step.run("mail", () => mail(job.input.boss, `https://example.com/approve?token=${token}`));
   * const approval = await step.waitFor("approved", { timeout: "3d" });
   * ```
   */
  token(name: string, options?: TokenOptions): Promise<string>;
  /**
   * Have another job do something, and go on with its result. Throws JobFailedError when it does not succeed. Its own
   * handler may run anywhere; this job holds nothing meanwhile.
   */
  call<Result = Json>(name: string, type: string, input: unknown, options?: ChildOptions): Promise<Result>;
  call<In = unknown, Result = Json>(
    name: string,
    definition: JobDefinition<In, unknown, unknown, Result> | string,
    input: NoInfer<In>,
    options?: ChildOptions,
  ): Promise<Result>;
  /**
   * The same for many inputs, at the same time. Their results are in the order of the inputs. Throws what the first of
   * them failed with, when all have ended.
   */
  map<Result = Json>(name: string, type: string, inputs: readonly unknown[], options?: ChildOptions): Promise<Result[]>;
  map<In = unknown, Result = Json>(
    name: string,
    definition: JobDefinition<In, unknown, unknown, Result> | string,
    inputs: readonly NoInfer<In>[],
    options?: ChildOptions,
  ): Promise<Result[]>;
  /**
   * As `map`, and fails with none of them: how each has ended, in the order of the inputs, as `Promise.allSettled`
   * tells it. What a job failed with is a JobFailedError, as its `reason`.
   *
   * @example
   * ```ts
   * const sent = await step.mapSettled("send", sendMail, recipients);
   * const failed = sent.filter(({ status }) => status === "rejected").length;
   * ```
   */
  mapSettled<Result = Json>(
    name: string,
    type: string,
    inputs: readonly unknown[],
    options?: ChildOptions,
  ): Promise<PromiseSettledResult<Result>[]>;
  mapSettled<In = unknown, Result = Json>(
    name: string,
    definition: JobDefinition<In, unknown, unknown, Result> | string,
    inputs: readonly NoInfer<In>[],
    options?: ChildOptions,
  ): Promise<PromiseSettledResult<Result>[]>;
  /** Start another job, once, and wait for nothing. It goes on whatever becomes of this one. */
  start<In = unknown>(
    name: string,
    definition: JobDefinition<In, unknown> | string,
    input: NoInfer<In>,
    options?: ChildOptions,
  ): Promise<JobId>;
  /** Inside the work of a step: a key that is the same in every try of it, and of no other step or job. */
  readonly key: string;
}
