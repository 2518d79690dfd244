import { InvalidArgumentError, StepFailedError } from "../db/errors.js";
import { errorOf } from "../db/stored-error.js";
import type { AnyJobDefinition } from "../job/define-job.js";
import { RunSteps } from "../steps/run-steps.js";
import type { ChildOptions, Step, StepOptions, TokenOptions, WaitOptions } from "../steps/step.js";
import type { Duration } from "../job/duration.js";
import { PermanentError } from "../job/permanent-error.js";
import type { FromHost, HostFunction, SentDefinition, SentError, StepMethod, ToHost } from "./isolate-messages.js";
import { isCausedBy } from "./outcome.js";

type Told = Extract<FromHost, { readonly kind: "step" | "await" | "invoked" | "invokeFailed" | "idle" }>;
/** Each kind by itself without a part, as `Omit` would not do. */
type Without<T, Key extends PropertyKey> = T extends unknown ? Omit<T, Key> : never;
type Sent = Without<Extract<ToHost, { readonly seq: number }>, "seq" | "run">;

/**
 * The steps of a handler that runs in a thread or a process: what it asks for is done here, and what the work of a step
 * does is asked of it. The run is suspended only when the host has said that it has gone on as far as it can since the
 * last it was told: until then it may want more.
 */
export class IsolateSteps {
  readonly #steps: RunSteps;
  readonly #signal: AbortSignal;
  readonly #send: (message: Sent & { readonly seq: number }) => void;
  readonly #calls = new Map<number, { readonly method: StepMethod; readonly promise: Promise<unknown> }>();
  readonly #invocations = new Map<number, { resolve: (value: unknown) => void; reject: (error: unknown) => void }>();
  #seq = 0;
  #invoked = 0;
  /** Ends what keeps the run from being suspended. */
  #release: (() => void) | undefined;

  constructor(
    step: Step,
    signal: AbortSignal,
    send: (message: Sent & { readonly seq: number }) => void,
    onAbandoned: () => void,
  ) {
    if (!(step instanceof RunSteps))
      throw new InvalidArgumentError("steps of a handler elsewhere cannot be watched", "give the handler itself");
    this.#steps = step;
    this.#signal = signal;
    this.#send = send;
    step.onAbandoned = onAbandoned;
  }

  hear(message: Told): void {
    switch (message.kind) {
      case "step":
        this.#hold();
        this.#calls.set(message.call, {
          method: message.method,
          promise: this.#begin(message.method, message.args),
        });
        break;
      case "await":
        this.#hold();
        this.#await(message.call);
        break;
      case "invoked":
        this.#invocations.get(message.id)?.resolve(message.value);
        this.#invocations.delete(message.id);
        break;
      case "invokeFailed":
        this.#invocations.get(message.id)?.reject(rebuild(message.error, this.#signal));
        this.#invocations.delete(message.id);
        break;
      default:
        if (message.seq !== this.#seq) return; // it was told something since
        this.#release?.();
        this.#release = undefined;
    }
  }

  #hold(): void {
    this.#release ??= this.#steps.hold();
  }

  #tell(message: Sent): void {
    this.#hold();
    this.#seq += 1;
    this.#send({ ...message, seq: this.#seq });
  }

  #await(call: number): void {
    const begun = this.#calls.get(call);
    begun?.promise.then(
      (value) => this.#tell({ kind: "stepped", call, value: begun.method === "mapSettled" ? sentAll(value) : value }),
      (error: unknown) =>
        this.#tell({ kind: "stepFailed", call, error: sentError(error), isStop: this.#isStop(error) }),
    );
  }

  #isStop(error: unknown): boolean {
    return this.#signal.aborted && isCausedBy(error, this.#signal.reason);
  }

  /** Have the host call one of its functions. */
  #invoke(fn: HostFunction, argument: unknown): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const id = (this.#invoked += 1);
      this.#invocations.set(id, { resolve, reject });
      this.#tell({ kind: "invoke", id, fn, argument });
    });
  }

  #begin(method: StepMethod, args: readonly unknown[]): Promise<unknown> {
    const steps: Step = this.#steps;
    const [name, second, third, fourth] = args as [string, unknown, unknown, unknown];
    switch (method) {
      case "run":
        return steps.run(
          name,
          ({ key, attempt }) => this.#invoke(second as HostFunction, { key, attempt }),
          third as StepOptions,
        );
      case "sleep":
        return steps.sleep(name, second as Duration);
      case "sleepUntil":
        return steps.sleepUntil(name, second as Date);
      case "token":
        return steps.token(name, second as TokenOptions);
      case "waitFor":
        return steps.waitFor(name, this.#waitOptions(second as { readonly schema?: HostFunction }));
      default:
        return this.#child(method, name, second as string | SentDefinition, third, fourth ?? {});
    }
  }

  #child(
    method: "call" | "map" | "mapSettled" | "start",
    name: string,
    sent: string | SentDefinition,
    input: unknown,
    options: ChildOptions,
  ): Promise<unknown> {
    const definition = this.#definition(sent);
    if (method === "call") return this.#steps.call(name, definition, input, options);
    if (method === "start") return this.#steps.start(name, definition, input, options);
    return this.#steps[method](name, definition, input as readonly unknown[], options);
  }

  #waitOptions({ schema, ...options }: { readonly schema?: HostFunction }): WaitOptions {
    if (schema === undefined) return options;
    const validate = (value: unknown) => this.#invoke(schema, value) as never;
    return { ...options, schema: { "~standard": { version: 1, vendor: "millrace", validate } } };
  }

  /** As the definition where it was made, as far as a child needs it. */
  #definition(sent: string | SentDefinition): AnyJobDefinition | string {
    if (typeof sent === "string") return sent;
    const { check, ...known } = sent;
    return { ...known, checkInput: (input: unknown) => this.#invoke(check, input) } as unknown as AnyJobDefinition;
  }
}

/** An error of the host as one of ours. `signal`: the run's. */
export function rebuild({ permanent, stopped, ...stored }: SentError, signal: AbortSignal): Error {
  const error = errorOf(stored);
  if (stopped && signal.aborted) return new Error(error.message, { cause: signal.reason });
  if (!permanent || error.name === "PermanentError") return error;
  return new PermanentError(error.message, { cause: error });
}

/** What `mapSettled` gives, with errors as they travel. */
function sentAll(settled: unknown): unknown {
  return (settled as readonly PromiseSettledResult<unknown>[]).map((one) =>
    one.status === "fulfilled" ? one : { ...one, reason: sentError(one.reason) },
  );
}

/** An error of ours as the host gets it: with what tells programs of it. */
function sentError(error: unknown): Readonly<Record<string, unknown>> {
  if (!(error instanceof Error)) return { message: String(error) };
  const { name, message, stack, cause } = error;
  const told = Object.fromEntries(
    Object.entries(error).filter(([, value]) => typeof value === "string" || typeof value === "number"),
  );
  return {
    ...told,
    name,
    message,
    stack,
    ...(error instanceof StepFailedError && cause instanceof Error ? { cause: sentError(cause) } : {}),
  };
}
