import type { AnyJobDefinition, JobDefinition } from "../job/define-job.js";
import type { Transaction } from "../db/foreign.js";
import type { ClaimedJob, Json } from "../db/types.js";
import type { Step } from "../steps/step.js";
import type { Decision } from "./outcome.js";

/** Optional fields may be undefined. */
type Loose<T> = { readonly [K in keyof T]: undefined extends T[K] ? T[K] | undefined : T[K] };

/** Options of `job.complete`. */
export interface CompleteOptions {
  /** Your transaction. */
  readonly tx: Transaction;
  /** On Citus: an anchor of the tenant that the job is near to. Default: where the connection is. */
  readonly near?: string;
}

/** A job as its handler sees it. */
export interface Job<Input = unknown, Result = unknown> extends Loose<Omit<ClaimedJob, "input">> {
  readonly input: Input;
  /** No attempt will follow this one. */
  readonly isLastAttempt: boolean;
  /**
   * Complete the job inside your own transaction: your writes and the job's end become visible together, or not at all.
   * Throws LeaseLostError when the job was given to somebody else meanwhile; let that roll your transaction back.
   * Resolves to the result, for the handler to return.
   *
   * @example
   * ```ts
   * worker.handle(charge, async (job) => {
   *   return db.transaction(async (tx) => {
   *     await tx.insert(charges).values({ id: job.input.id });
   *     return job.complete({ ok: true }, { tx });
   *   });
   * });
   * ```
   */
  complete(result: Result, options: CompleteOptions): Promise<Result>;
  /**
   * The results of the jobs that this one waited for in a flow, those of one type if a definition is given; of those
   * that succeeded.
   */
  parents<Parent = Json>(definition?: JobDefinition<unknown, unknown, unknown, Parent> | string): Promise<Parent[]>;
  /** The job's bytes, in pieces, read when asked for. */
  payloadStream(): AsyncIterable<Uint8Array>;
  /** All of the job's bytes; null when it has none. */
  payloadBytes(): Promise<Uint8Array | null>;
}

/** What a handler gets beside its job. */
export interface Context {
  /**
   * Fires when the job is cancelled, its lease is lost, its attempt timeout or deadline passes, or the worker must
   * stop.
   */
  readonly signal: AbortSignal;
  /**
   * Leave a value for others to see, and for the next attempt. Resolves when it, or a newer one, is stored: while one
   * is on its way, only the newest of the others waits, so that it may be called as often as one likes.
   */
  readonly progress: (value: unknown) => Promise<void>;
  /** What this or an earlier attempt left as progress; null when nothing. */
  readonly lastProgress: () => Promise<unknown>;
  /** Durable steps: what was done stays done, and what has to wait holds nothing meanwhile. See docs/steps.md. */
  readonly step: Step;
  /**
   * Note something about this attempt; the last hundred notes are stored with it. While it runs the last fifty can be
   * followed, a second late (`mill.jobs.log`).
   */
  readonly log: (message: string) => void;
}

/**
 * Runs one job. What it returns is the job's result, unless it is `retryLater(…)` or `release()`; throwing fails the
 * attempt. A definition that says nothing of its result, or `void`, needs none.
 */
export type Handler<Input = unknown, Result = unknown> = (
  job: Job<Input, Result>,
  context: Context,
) => Promise<NoInfer<Result> | Decision> | NoInfer<Result> | Decision;

/**
 * Returns one outcome per job, in the same order: a result, `failed(error)`, `retryLater(…)` or `release()`. Throwing
 * fails them all. Where no result is needed it may return nothing.
 */
export type BatchHandler<Input = unknown, Result = unknown> = (
  jobs: readonly Job<Input, Result>[],
  context: Context,
) => Promise<BatchOutcomes<NoInfer<Result>>> | BatchOutcomes<NoInfer<Result>>;

type BatchOutcomes<Result> = readonly (Result | Decision)[] | (undefined extends Result ? void : never);

/** Options of `worker.handle`. */
export interface HandlerOptions {
  /** How many of this type may run at once in this worker. Default the worker's `concurrency`. */
  readonly concurrency?: number;
  /**
   * The version whose runs it handles: those that have begun, with their steps, under that version, and get their input
   * as it was stored. Default the definition's own version, which all others begin with.
   */
  readonly version?: number;
}

/** Options of `worker.handleBatch`. */
export interface BatchHandlerOptions {
  /** The most jobs in one call. Default 100. */
  readonly size?: number;
  /** How many calls may run at once. Default 1. */
  readonly concurrency?: number;
}

// oxlint-disable-next-line typescript/no-explicit-any -- the registry holds handlers of all types
type AnyHandler = Handler<any, any>;
// oxlint-disable-next-line typescript/no-explicit-any -- the registry holds handlers of all types
type AnyBatchHandler = BatchHandler<any, any>;

/** A type and what runs its jobs. */
export interface Registration {
  readonly definition: AnyJobDefinition;
  readonly run: { readonly one: AnyHandler } | { readonly many: AnyBatchHandler };
  /** Jobs in one call; 1 unless it is a batch handler. */
  readonly size: number;
  /** Handlers of runs that began with an older version. */
  readonly older?: ReadonlyMap<number, AnyHandler>;
  /** Calls at once; undefined when only the worker's own limit holds. */
  concurrency: number | undefined;
}
