import type { Database } from "../db/foreign.js";
import { JobFailedError, StepFailedError } from "../db/errors.js";
import type { JobId } from "../db/types.js";
import type { AnyJobDefinition } from "../job/define-job.js";
import type { Duration } from "../job/duration.js";
import type { ChildOptions, Step, StepContext, StepOptions, TokenOptions, WaitOptions } from "../steps/step.js";
import { Waiting } from "../steps/waiting.js";
import type { Context, Handler } from "../worker/handler.js";

/** No step of a handler is called this. */
const crashName = "the crash of a test";

const never = (): Promise<never> => new Promise(() => {});

/** What is seen of a handler's steps, over all calls of it in one run. */
export class StepLog {
  /** Steps that have ended, in the order in which they did so first. */
  readonly ended = new Set<string>();
  /** How often the work of each step was called. */
  readonly calls: Record<string, number> = {};
  /** The crash has happened. */
  hasCrashed = false;

  /** `crashAfter`: the step after which the process is to crash; null for none. */
  constructor(readonly crashAfter: string | null) {}

  called(key: string): void {
    this.calls[key] = (this.calls[key] ?? 0) + 1;
  }
}

/**
 * A handler that is watched, and whose call is abandoned after a step: nothing that it awaits there comes any more, no
 * error is thrown into it, its signal does not fire, and what it returns counts for nothing.
 */
export function crashing<In, Out>(handler: Handler<In, Out>, log: StepLog): Handler<In, Out> {
  return async (job, context) => {
    const call = new Call(context, log);
    try {
      const value = await handler(job, {
        signal: call.signal,
        progress: (value) => context.progress(value),
        lastProgress: () => context.lastProgress(),
        log: (message) => context.log(message),
        step: new CrashSteps(call),
      });
      if (!call.isDead) return value;
    } catch (error) {
      if (!call.isDead) throw error;
    }
    return never();
  };
}

/** One call of the handler, until it crashes. */
class Call {
  readonly step: Step;
  readonly #controller = new AbortController();
  isDead = false;

  constructor(
    context: Context,
    readonly log: StepLog,
  ) {
    this.step = context.step;
    const { signal } = context;
    signal.addEventListener("abort", () => {
      if (!this.isDead) this.#controller.abort(signal.reason);
    });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** A step has ended for good. Whether the handler hears of it. */
  ended(key: string): boolean {
    if (this.isDead) return false;
    this.log.ended.add(key);
    if (this.log.hasCrashed || this.log.crashAfter !== key) return true;
    this.isDead = true;
    this.log.hasCrashed = true;
    // a step that is never done keeps the call from being suspended: a process that is gone suspends nothing
    void this.step.run(crashName, never);
    return false;
  }
}

/** The steps of one call, watched. What is awaited of them is awaited of those inside, and nothing else. */
class CrashSteps implements Step {
  readonly #call: Call;
  readonly #uses = new Map<string, number>();

  constructor(call: Call) {
    this.#call = call;
  }

  get key(): string {
    return this.#call.step.key;
  }

  run<T>(name: string, work: (context: StepContext) => T | PromiseLike<T>, options: StepOptions<T> = {}): Promise<T> {
    const { step, log, signal } = this.#call;
    const { undo, maxAttempts = 1 } = options;
    const counted = (key: string): StepOptions<T> => ({
      ...options,
      ...(undo && {
        undo: (value: T, context: StepContext) => {
          log.called(`undo ${key}`);
          return undo(value, { ...context, signal });
        },
      }),
    });
    return this.#watch(
      name,
      (key) => step.run(name, this.#counted(key, work), counted(key)),
      (error) => error instanceof StepFailedError && maxAttempts > 1,
    );
  }

  transaction<T>(
    name: string,
    db: Database,
    work: (tx: never, context: StepContext) => T | PromiseLike<T>,
  ): Promise<T> {
    const { step, log, signal } = this.#call;
    return this.#watch(name, (key) =>
      step.transaction(name, db, (tx, context) => {
        log.called(key);
        return work(tx as never, { ...context, signal });
      }),
    );
  }

  sleep(name: string, duration: Duration): Promise<void> {
    return this.#watch(name, () => this.#call.step.sleep(name, duration));
  }

  sleepUntil(name: string, time: Date): Promise<void> {
    return this.#watch(name, () => this.#call.step.sleepUntil(name, time));
  }

  waitFor(names: string | readonly string[], options: WaitOptions = {}): Promise<never> {
    const name = typeof names === "string" ? names : names.join("|");
    return this.#watch(name, () => this.#call.step.waitFor(names as string, options)) as Promise<never>;
  }

  token(name: string, options?: TokenOptions): Promise<string> {
    return this.#watch(`token ${name}`, () => this.#call.step.token(name, options));
  }

  call(name: string, definition: AnyJobDefinition | string, input: unknown, options?: ChildOptions): Promise<never> {
    return this.#watch(name, () => this.#call.step.call(name, definition, input, options)) as Promise<never>;
  }

  map(
    name: string,
    definition: AnyJobDefinition | string,
    inputs: readonly unknown[],
    options?: ChildOptions,
  ): Promise<never> {
    return this.#watch(name, () => this.#call.step.map(name, definition, inputs, options)) as Promise<never>;
  }

  mapSettled(
    name: string,
    definition: AnyJobDefinition | string,
    inputs: readonly unknown[],
    options?: ChildOptions,
  ): Promise<never> {
    return this.#watch(name, () => this.#call.step.mapSettled(name, definition, inputs, options)) as Promise<never>;
  }

  start(name: string, definition: AnyJobDefinition | string, input: unknown, options?: ChildOptions): Promise<JobId> {
    return this.#watch(name, () => this.#call.step.start(name, definition, input, options));
  }

  #counted<T>(key: string, work: (context: StepContext) => T): (context: StepContext) => T {
    const { log, signal } = this.#call;
    return (context) => {
      log.called(key);
      return work({ ...context, signal });
    };
  }

  /** A step, numbered as the run numbers it. */
  #watch<T>(name: string, begin: (key: string) => Promise<T>, isStored = isOfChild): Promise<T> {
    const call = this.#call;
    if (call.isDead) return never();
    const uses = (this.#uses.get(name) ?? 0) + 1;
    this.#uses.set(name, uses);
    const key = uses === 1 ? name : `${name}#${uses}`;
    const inner = begin(key);
    let isAwaited = false;
    const outer = new Waiting<T>(() => {
      if (isAwaited) return;
      isAwaited = true;
      inner.then(
        (value) => {
          if (call.ended(key)) outer.resolve(value);
        },
        (error: unknown) => {
          if (isStored(error) ? call.ended(key) : !call.isDead) outer.reject(error);
        },
      );
    });
    return outer;
  }
}

/** A failure that is the step's end, as that of a step with tries of its own: it is told again after a crash. */
const isOfChild = (error: unknown): boolean => error instanceof JobFailedError;
