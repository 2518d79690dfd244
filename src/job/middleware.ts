import { InvalidArgumentError } from "../db/errors.js";
import { checkKeys } from "../db/encode.js";
import type { Json } from "../db/types.js";
import type { EngineJob } from "./new-job.js";

/** Jobs of one type that are about to be stored, by one statement. */
export interface EnqueueCall {
  readonly type: string;
  /** Undefined when the default of the type, or `default`, holds. */
  readonly queue: string | undefined;
  /** As they were given, before any codec. */
  readonly inputs: readonly unknown[];
  /** Their headers: what is added here is stored with each of them. */
  readonly headers: { [key: string]: Json };
}

/** A job of a run, as a middleware sees it. */
export interface RunningCallJob {
  readonly id: string;
  readonly type: string;
  readonly queue: string;
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly input: unknown;
  readonly headers?: { readonly [key: string]: Json } | undefined;
  readonly group?: string | undefined;
  readonly tenant?: string | undefined;
}

/** One call of a handler. */
export interface RunCall {
  /** The job; of a batch handler, all of them. */
  readonly jobs: readonly RunningCallJob[];
  readonly signal: AbortSignal;
  /** Note something about the attempt. */
  readonly log: (message: string) => void;
}

/** What a value is of a job. */
export type CodecKind = "input" | "result";

/** How inputs and results are stored. */
export interface Codec {
  /** A value, checked by its schema, as it is stored. */
  write(value: unknown, kind: CodecKind): unknown;
  /**
   * A stored value as it was. Values come here too that were stored without it, by SQL, HTTP or an older release: hand
   * on what is not yours.
   */
  read(value: unknown, kind: CodecKind): unknown;
}

/** What happens around enqueues and runs: `mill.use`. All its parts may be left out. */
export interface Middleware {
  /**
   * Around storing jobs: `enqueue`, and each statement of `enqueueMany`. Jobs of flows and children of steps pass
   * through it too; there `next` resolves when the job is ready to be stored, together with others.
   */
  readonly enqueue?: (call: EnqueueCall, next: () => Promise<void>) => Promise<void>;
  /**
   * Around each call of a handler. `next` resolves to what the handler returned and rejects with what it threw; what
   * this returns is taken as the handler's. A run that begins to wait (`step.sleep` and the like) does not come back
   * from `next`: when it goes on, this is called again.
   */
  readonly run?: (call: RunCall, next: () => Promise<unknown>) => unknown;
  /**
   * How inputs and results are stored, such as encrypted; those of several are applied one after another. Inputs of
   * schedules are stored as they are, because each declaration is compared with the one before.
   */
  readonly codec?: Codec;
}

/** The middleware of a client, in the order in which it was given: the first is the outermost. */
export class Middlewares {
  readonly #enqueue: NonNullable<Middleware["enqueue"]>[] = [];
  readonly #run: NonNullable<Middleware["run"]>[] = [];
  readonly #codecs: Codec[] = [];

  add(middleware: Middleware): void {
    checkKeys(middleware, new Set(["enqueue", "run", "codec"]));
    const { enqueue, run, codec } = middleware;
    for (const [name, part] of Object.entries({ enqueue, run }))
      if (part !== undefined && typeof part !== "function")
        throw new InvalidArgumentError(`the ${name} of a middleware is not a function`);
    if (codec !== undefined && (typeof codec?.read !== "function" || typeof codec.write !== "function"))
      throw new InvalidArgumentError("a codec has no read or no write", "give functions for both");
    if (enqueue) this.#enqueue.push(enqueue);
    if (run) this.#run.push(run);
    if (codec) this.#codecs.push(codec);
  }

  /** Whether anything has to be done for a job that is stored. */
  get isForJobs(): boolean {
    return this.#enqueue.length > 0 || this.#codecs.length > 0;
  }

  get isForRuns(): boolean {
    return this.#run.length > 0;
  }

  get hasCodec(): boolean {
    return this.#codecs.length > 0;
  }

  /** Store jobs of one type, with their headers and inputs as they are to be stored. */
  async storing<Stored>(
    {
      type,
      queue,
      headers,
    }: { type: string; queue?: string | undefined; headers?: EnqueueCall["headers"] | undefined },
    inputs: readonly unknown[],
    store: (inputs: readonly unknown[], headers: EnqueueCall["headers"]) => Promise<Stored>,
  ): Promise<Stored> {
    const call: EnqueueCall = { type, queue, inputs, headers: { ...headers } };
    let stored: { readonly is: Stored } | undefined;
    await around(this.#enqueue, call, async () => {
      const written: unknown[] = [];
      for (const input of inputs) written.push(await this.write(input, "input"));
      stored = { is: await store(written, call.headers) };
    });
    if (stored) return stored.is;
    throw new InvalidArgumentError(
      `a middleware has not stored "${type}"`,
      "call next(), or throw an error that says why not",
    );
  }

  /** A job that is stored together with others. */
  async ready(job: EngineJob): Promise<EngineJob> {
    return this.storing(job, [job.input], async ([input], headers) => ({
      ...job,
      input,
      ...(Object.keys(headers).length > 0 ? { headers } : {}),
    }));
  }

  /** Call a handler. */
  running(call: RunCall, handle: () => unknown): Promise<unknown> {
    return around(this.#run, call, async () => handle());
  }

  /** A value as it is stored. Where there is none, none is stored. */
  async write(value: unknown, kind: CodecKind): Promise<unknown> {
    let written = value;
    if (value !== undefined) for (const codec of this.#codecs) written = await codec.write(written, kind);
    return written;
  }

  async read(value: unknown, kind: CodecKind): Promise<unknown> {
    let read = value;
    if (value !== undefined && value !== null)
      for (const codec of this.#codecs.toReversed()) read = await codec.read(read, kind);
    return read;
  }
}

/** Go through the layers to the innermost, and back. */
async function around<Call, Value>(
  layers: readonly ((call: Call, next: () => Promise<Value>) => unknown)[],
  call: Call,
  innermost: () => Promise<Value>,
): Promise<Value> {
  const step = async (at: number): Promise<Value> => {
    const layer = layers[at];
    if (!layer) return innermost();
    let isCalled = false;
    const next = (): Promise<Value> => {
      if (isCalled) throw new InvalidArgumentError("a middleware has called next() twice", "call it once");
      isCalled = true;
      return step(at + 1);
    };
    return (await layer(call, next)) as Value;
  };
  return step(0);
}
