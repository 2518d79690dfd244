import { spawn } from "node:child_process";
import { Worker as Thread } from "node:worker_threads";
import { type Duration, timerMs } from "../job/duration.js";
import { checkKeys } from "../db/encode.js";
import { InvalidArgumentError } from "../db/errors.js";
import type { Context, Job } from "./handler.js";
import type { FromHost, ToHost } from "./isolate-messages.js";
import { IsolateSteps, rebuild } from "./isolate-steps.js";
import { decisionOf } from "./outcome.js";
import { isolateHost } from "./threads.generated.js";

/** Options of `inThreads` and `inProcesses`. */
export interface IsolateOptions {
  /** How many threads or processes to keep. Each runs one job at a time; more wait. Default 1. */
  readonly size?: number;
  /**
   * How long a handler may go on after its signal fired before its thread or process is ended. Default 5 s.
   */
  readonly killAfter?: Duration;
}

/** A handler that runs elsewhere, whatever its types. Close it after the worker has stopped. */
export interface IsolatedHandler {
  // oxlint-disable-next-line typescript/no-explicit-any -- the module's types are not known here
  (job: Job<any, any>, context: Context): Promise<any>;
  close(): Promise<void>;
}

/**
 * Run a handler in worker threads: a module whose default export is the handler. For work that computes, so that it
 * does not hold up the event loop, and can really be stopped when it takes too long. Its job has no `complete`, and its
 * context no `lastProgress`. Its `step` has neither `transaction` nor `undo`; errors of steps have the `name` and
 * `code` that they have elsewhere, and are no instances of their classes.
 *
 * @example
 * ```ts
 * worker.handle(render, inThreads(new URL("./render.js", import.meta.url), { size: 4 }), { concurrency: 4 });
 * ```
 */
export function inThreads(module: URL, options: IsolateOptions = {}): IsolatedHandler {
  return isolate(module, options, () => {
    const thread = new Thread(isolateHost, { eval: true, workerData: module.href, execArgv: [] });
    return {
      send: (message) => thread.postMessage(message),
      on: (event, listener) => void thread.on(event, listener),
      kill: () => void thread.terminate(),
    };
  });
}

/** The same in child processes: for handlers that may crash, leak, or load native code. */
export function inProcesses(module: URL, options: IsolateOptions = {}): IsolatedHandler {
  return isolate(module, options, () => {
    const child = spawn(process.execPath, ["--eval", isolateHost, module.href], {
      stdio: ["inherit", "inherit", "inherit", "ipc"],
      serialization: "advanced",
    });
    return {
      send: (message) => void child.send(message),
      on: (event, listener) => void child.on(event, listener),
      kill: () => void child.kill("SIGKILL"),
    };
  });
}

interface Channel {
  send(message: ToHost): void;
  on(event: "message", listener: (message: FromHost) => void): void;
  on(event: "exit" | "error", listener: (detail: unknown) => void): void;
  kill(): void;
}

function isolate(module: URL, options: IsolateOptions, open: () => Channel): IsolatedHandler {
  checkKeys(options, new Set(["size", "killAfter"]));
  const { size = 1 } = options;
  const killAfterMs = timerMs(options.killAfter ?? "5s", "killAfter");
  if (!(module instanceof URL))
    throw new InvalidArgumentError(
      "an isolated handler is a module's URL",
      'give new URL("./handler.js", import.meta.url)',
    );
  if (!Number.isInteger(size) || size < 1 || size > 1000)
    throw new InvalidArgumentError(`size cannot be ${size}`, "give 1 to 1000");
  const hosts = new Set<Host>();
  const waiting: (() => void)[] = [];
  const idleHost = (): Host | undefined => {
    for (const host of hosts) if (host.isIdle) return host;
    if (hosts.size >= size) return undefined;
    const host: Host = new Host(open(), () => hosts.delete(host));
    hosts.add(host);
    return host;
  };
  /** Taken in the turn in which it is found: others may look in the same one. */
  const take = async (): Promise<Host> => {
    for (;;) {
      const host = idleHost();
      if (host) {
        host.isIdle = false;
        return host;
      }
      await new Promise<void>((resolve) => waiting.push(resolve));
    }
  };
  const handler = async (job: Job, context: Context): Promise<unknown> => {
    const host = await take();
    try {
      const value = await host.run(job, context, killAfterMs);
      if (value !== abandoned) return value;
    } finally {
      host.isIdle = true;
      waiting.shift()?.();
    }
    return new Promise(() => {}); // its run goes on elsewhere, from the top
  };
  return Object.assign(handler, {
    close: async () => {
      for (const host of hosts) host.kill();
    },
  });
}

/** Instead of a value: the run was suspended, and what its handler still does there counts for nothing. */
const abandoned = Symbol("abandoned");

/** The job that a host has. */
interface Current {
  readonly run: number;
  readonly context: Context;
  /** Made when the handler asks for a step. */
  steps?: IsolateSteps;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** One thread or process. */
class Host {
  readonly #channel: Channel;
  #runs = 0;
  #progress: Promise<void> = Promise.resolve();
  #current: Current | undefined;
  #ended: Error | undefined;
  /** Why it was ended here. */
  #killedFor: unknown;
  /** Nobody has it; whoever takes it says so. */
  isIdle = true;

  constructor(channel: Channel, onExit: () => void) {
    this.#channel = channel;
    channel.on("message", (message) => this.#hear(message));
    const ended = (detail: unknown): void => {
      if (this.#ended) return; // an error is followed by the exit
      onExit();
      const why = detail instanceof Error ? detail.message : `exit ${String(detail)}`;
      this.#ended = new Error(`the handler's thread or process ended: ${why}`, { cause: this.#killedFor });
      this.#current?.reject(this.#ended);
    };
    channel.on("error", ended);
    channel.on("exit", ended);
  }

  async run(job: Job, context: Context, killAfterMs: number): Promise<unknown> {
    let killing: NodeJS.Timeout | undefined;
    const onAbort = (): void => {
      this.#channel.send({
        kind: "abort",
        reason: String((context.signal.reason as Error | undefined)?.message ?? context.signal.reason),
      });
      killing = setTimeout(() => {
        this.#killedFor = context.signal.reason;
        this.kill();
      }, killAfterMs);
    };
    try {
      if (this.#ended) throw this.#ended;
      return await new Promise((resolve, reject) => {
        const run = (this.#runs += 1);
        this.#current = { run, context, resolve, reject };
        this.#channel.send({ kind: "run", run, job: { ...job } });
        if (context.signal.aborted) onAbort();
        else context.signal.addEventListener("abort", onAbort, { once: true });
      });
    } finally {
      clearTimeout(killing);
      context.signal.removeEventListener("abort", onAbort);
      this.#current = undefined;
    }
  }

  #hear(message: FromHost): void {
    const current = this.#current;
    if (!current || !("run" in message) || message.run !== current.run) return;
    // The job must not end before the progress it left has arrived.
    if (message.kind === "returned") void this.#progress.then(() => current.resolve(message.value));
    else if (message.kind === "decided") void this.#progress.then(() => current.resolve(decisionOf(message.outcome)));
    else if (message.kind === "threw")
      void this.#progress.then(() => current.reject(rebuild(message.error, current.context.signal)));
    else if (message.kind === "progress")
      this.#progress = current.context.progress(message.value).catch(current.reject);
    else if (message.kind === "log") current.context.log(message.message);
    else this.#step(current, message);
  }

  #step(current: Current, message: Parameters<IsolateSteps["hear"]>[0]): void {
    const { run, context, resolve, reject } = current;
    try {
      current.steps ??= new IsolateSteps(
        context.step,
        context.signal,
        (sent) => {
          if (this.#current === current) this.#channel.send({ ...sent, run });
        },
        () => resolve(abandoned),
      );
      current.steps.hear(message);
    } catch (error) {
      reject(error);
    }
  }

  kill(): void {
    this.#channel.kill();
  }
}
