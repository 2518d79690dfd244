import { AsyncLocalStorage } from "node:async_hooks";
import { errorOf } from "../db/stored-error.js";
import type { JobError } from "../db/types.js";
import type { AnyJobDefinition } from "../job/define-job.js";
import type { StandardSchema } from "../job/standard-schema.js";
import { insideMessage, insideRemedy } from "../steps/inside.js";
import { Waiting } from "../steps/waiting.js";
import type { FromHost, HostFunction, SentDefinition, SentError, StepMethod, ToHost } from "./isolate-messages.js";

type Told = Extract<ToHost, { readonly seq: number }>;
type SentFailure = Readonly<Record<string, unknown>>;
type Definition = string | AnyJobDefinition;

/** The step whose work is being done, and the call of the handler that it belongs to. */
const workInProgress = new AsyncLocalStorage<{ readonly key: string; readonly of: HostSteps }>();

/**
 * `step` in a handler's own thread or process. Steps are done by the worker; here their work is, and it is known what
 * is awaited. When the handler has gone on as far as it can, the worker is told so: from then on it may suspend the
 * run.
 */
export class HostSteps {
  readonly #run: number;
  readonly #signal: AbortSignal;
  readonly #send: (message: FromHost) => void;
  readonly #describe: (error: unknown) => SentError;
  readonly #calls: Pick<Waiting<unknown>, "resolve" | "reject">[] = [];
  readonly #functions: ((argument: never) => unknown)[] = [];
  #seq = 0;
  #isTelling = false;

  constructor(
    run: number,
    signal: AbortSignal,
    send: (message: FromHost) => void,
    describe: (error: unknown) => SentError,
  ) {
    this.#run = run;
    this.#signal = signal;
    this.#send = send;
    this.#describe = describe;
  }

  get key(): string {
    const work = workInProgress.getStore();
    if (work?.of !== this) throw refusal("there is no step here", "read step.key inside the work of a step");
    return work.key;
  }

  run(name: string, work: (context: object) => unknown, options: Readonly<Record<string, unknown>> = {}): unknown {
    if (typeof work !== "function") return Promise.reject(refusal(`the work of step "${name}" is not a function`));
    if (options.undo !== undefined)
      return Promise.reject(
        refusal("a step in a thread or process cannot be undone", "give undo to a handler of the worker's own process"),
      );
    const inContext = ({ key, ...context }: { readonly key: string }) =>
      workInProgress.run({ key, of: this }, () => work({ ...context, key, signal: this.#signal }));
    return this.#call("run", [name, this.#function(inContext), options]);
  }

  transaction(): unknown {
    return Promise.reject(
      refusal(
        "step.transaction cannot be used in a thread or process, whose database the worker does not know",
        "use step.run with its key, or a handler of the worker's own process",
      ),
    );
  }

  sleep(...args: unknown[]): unknown {
    return this.#call("sleep", args);
  }

  sleepUntil(...args: unknown[]): unknown {
    return this.#call("sleepUntil", args);
  }

  token(...args: unknown[]): unknown {
    return this.#call("token", args);
  }

  waitFor(names: unknown, { schema, ...options }: { readonly schema?: StandardSchema } = {}): unknown {
    const check = schema && { schema: this.#function((value) => schema["~standard"].validate(value)) };
    return this.#call("waitFor", [names, { ...options, ...check }]);
  }

  call(name: unknown, definition: Definition, ...rest: unknown[]): unknown {
    return this.#call("call", [name, this.#definition(definition), ...rest]);
  }

  map(name: unknown, definition: Definition, ...rest: unknown[]): unknown {
    return this.#call("map", [name, this.#definition(definition), ...rest]);
  }

  mapSettled(name: unknown, definition: Definition, ...rest: unknown[]): unknown {
    return this.#call("mapSettled", [name, this.#definition(definition), ...rest], (settled) =>
      (settled as readonly PromiseSettledResult<unknown>[]).map((one) =>
        one.status === "fulfilled" ? one : { ...one, reason: failureOf(one.reason as SentFailure) },
      ),
    );
  }

  start(name: unknown, definition: Definition, ...rest: unknown[]): unknown {
    return this.#call("start", [name, this.#definition(definition), ...rest]);
  }

  hear(message: Told): void {
    this.#seq = message.seq;
    if (message.kind === "stepped") this.#calls[message.call]!.resolve(message.value);
    else if (message.kind === "stepFailed")
      this.#calls[message.call]!.reject(
        // so that the handler's own error tells that it was stopped, also where it only passes this one on
        Object.assign(failureOf(message.error), message.isStop && { cause: this.#signal.reason }),
      );
    else void this.#invoke(message.id, message.fn, message.argument);
    this.#idleSoon();
  }

  async #invoke(id: number, fn: HostFunction, argument: unknown): Promise<void> {
    const run = this.#run;
    try {
      this.#send({ kind: "invoked", run, id, value: await this.#functions[fn]!(argument as never) });
    } catch (error) {
      this.#send({ kind: "invokeFailed", run, id, error: this.#describe(error) });
    }
  }

  #call(
    method: StepMethod,
    args: readonly unknown[],
    read: (value: unknown) => unknown = (value) => value,
  ): Promise<unknown> {
    if (workInProgress.getStore()?.of === this) return Promise.reject(refusal(insideMessage(args[0]), insideRemedy));
    const run = this.#run;
    const call = this.#calls.length;
    let isAwaited = false;
    const waiting = new Waiting<unknown>(() => {
      if (isAwaited) return;
      isAwaited = true;
      this.#send({ kind: "await", run, call });
      this.#idleSoon();
    });
    try {
      this.#send({ kind: "step", run, call, method, args });
    } catch (error) {
      return Promise.reject(error); // what cannot be sent
    }
    this.#calls.push({ resolve: (value) => waiting.resolve(read(value)), reject: waiting.reject });
    this.#idleSoon();
    return waiting;
  }

  /** When all that is ready here has been done, and told: after promises, as in the worker's own process. */
  #idleSoon(): void {
    if (this.#isTelling) return;
    this.#isTelling = true;
    setImmediate(() => {
      this.#isTelling = false;
      this.#send({ kind: "idle", run: this.#run, seq: this.#seq });
    });
  }

  #function(one: (argument: never) => unknown): HostFunction {
    return this.#functions.push(one) - 1;
  }

  #definition(definition: Definition): string | SentDefinition {
    if (typeof definition !== "object" || definition === null) return definition;
    const { type, version, defaults } = definition;
    return {
      type,
      version,
      defaults,
      check: this.#function((input) => definition.checkInput(input)),
    };
  }
}

/** As InvalidArgumentError tells it. */
function refusal(message: string, remedy?: string): Error {
  const error = new Error(remedy === undefined ? message : `${message} (${remedy})`);
  return Object.assign(error, { name: "InvalidArgumentError", code: "MR001", remedy });
}

/** An error of the worker, with what tells programs of it. */
function failureOf(sent: SentFailure): Error {
  const { name: _name, message: _message, stack: _stack, cause: _cause, ...facts } = sent;
  return Object.assign(errorOf(sent as unknown as JobError), facts);
}
