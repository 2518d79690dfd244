import { Worker as Thread } from "node:worker_threads";
import type pg from "pg";
import type { Engine } from "../db/engine.js";
import type { JobId } from "../db/types.js";
import type { WorkerSettings } from "./worker-options.js";

export interface HeartbeatHooks {
  /** What everybody holds: tokens and their jobs. */
  readonly held: () => Map<string, JobId[]>;
  readonly onLost: (ids: ReadonlySet<JobId>) => void;
  /** Somebody enqueued something in one of our queues. */
  readonly onWake: () => void;
  readonly onError: (error: unknown) => void;
}

/** What the thread tells. */
export type FromThread =
  | { readonly kind: "extended"; readonly held: readonly (readonly [token: string, ids: readonly JobId[]])[]; readonly asked: readonly string[] }
  | { readonly kind: "wake" }
  | { readonly kind: "error"; readonly message: string };

/** What the thread is told. */
export type ToThread =
  | { readonly kind: "add"; readonly tokens: readonly string[] }
  | { readonly kind: "set"; readonly tokens: readonly string[] }
  | { readonly kind: "stop" };

export interface ThreadData {
  readonly connection: pg.ClientConfig;
  readonly schema: string;
  readonly queues: readonly string[];
  readonly leaseMs: number;
  readonly everyMs: number;
  readonly stallMs: number;
  /** One number: when the event loop last turned, in nanoseconds of the monotonic clock. */
  readonly pulse: SharedArrayBuffer;
}

const pulseMs = 200;

/**
 * Keeps leases alive, and hears wake-ups. In a thread with its own connection, so that a handler that blocks the event loop keeps its
 * lease; but not for longer than `stallTimeout`, because a process that hangs must lose it. Without the thread, from the event loop itself.
 */
export class Heartbeat {
  readonly #everyMs: number;
  #thread: Thread | undefined;
  #pulse: NodeJS.Timeout | undefined;
  #timer: NodeJS.Timeout | undefined;
  #beating: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(
    readonly engine: Engine,
    readonly pool: pg.Pool,
    readonly settings: WorkerSettings,
    readonly hooks: HeartbeatHooks,
  ) {
    this.#everyMs = Math.max(30, Math.min(settings.leaseMs / 4, 5000));
  }

  start(): void {
    if (this.settings.heartbeatThread && !this.#startThread())
      this.hooks.onError(new Error("the connection's options cannot be given to a thread; leases are kept from the event loop"));
    this.#timer = setInterval(() => this.#beat(), this.#everyMs);
  }

  /** Newly claimed: told at once, because the next handler may block the event loop. */
  add(tokens: readonly string[]): void {
    this.#thread?.postMessage({ kind: "add", tokens } satisfies ToThread);
  }

  #startThread(): boolean {
    const pulse = new SharedArrayBuffer(8);
    const turns = new BigInt64Array(pulse);
    const beat = (): void => void Atomics.store(turns, 0, process.hrtime.bigint());
    beat();
    const workerData: ThreadData = {
      connection: connectionOf(this.pool),
      schema: this.engine.schema,
      queues: this.settings.queues,
      leaseMs: this.settings.leaseMs,
      everyMs: this.#everyMs,
      stallMs: this.settings.stallMs,
      pulse,
    };
    try {
      this.#thread = new Thread(new URL("./heartbeat-thread.mjs", import.meta.url), { workerData, execArgv: [] });
    } catch {
      return false;
    }
    this.#pulse = setInterval(beat, pulseMs);
    this.#thread.on("message", (message: FromThread) => this.#hear(message));
    this.#thread.on("error", (error) => this.#fallBack(error));
    this.#thread.unref();
    return true;
  }

  /** The thread has died: go on from the event loop. */
  #fallBack(error: unknown): void {
    this.#thread = undefined;
    clearInterval(this.#pulse);
    if (!this.#stopped) this.hooks.onError(error);
  }

  #hear(message: FromThread): void {
    if (message.kind === "wake") this.hooks.onWake();
    else if (message.kind === "error") this.hooks.onError(new Error(message.message));
    else this.#compare(new Map(message.held), new Set(message.asked));
  }

  /** With the thread: tell it what is still held. Without: extend here. */
  #beat(): void {
    const held = this.hooks.held();
    if (this.#thread) {
      this.#thread.postMessage({ kind: "set", tokens: [...held.keys()] } satisfies ToThread);
    } else if (held.size > 0) {
      this.#beating = this.#beating.then(() => this.#extend([...held.keys()]));
    }
  }

  async #extend(tokens: readonly string[]): Promise<void> {
    try {
      const extended = await this.engine.extend(tokens, this.settings.leaseMs / 1000);
      this.#compare(new Map([...extended].map(([token, { jobIds }]) => [token, jobIds])), new Set(tokens));
    } catch (error) {
      this.hooks.onError(error);
    }
  }

  /** Whatever we hold by a token that was asked for, and the database does not, is lost. */
  #compare(inDatabase: ReadonlyMap<string, readonly JobId[]>, asked: ReadonlySet<string>): void {
    const lost = new Set<JobId>();
    for (const [token, ids] of this.hooks.held()) {
      if (!asked.has(token)) continue;
      const kept = new Set(inDatabase.get(token));
      for (const id of ids) if (!kept.has(id)) lost.add(id);
    }
    if (lost.size > 0) this.hooks.onLost(lost);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
    clearInterval(this.#pulse);
    await this.#beating;
    const thread = this.#thread;
    if (!thread) return;
    const ended = new Promise((resolve) => thread.once("exit", resolve));
    thread.postMessage({ kind: "stop" } satisfies ToThread);
    await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 1000).unref())]);
    await thread.terminate();
  }
}

/** How to connect as the pool does. */
function connectionOf(pool: pg.Pool): pg.ClientConfig {
  const { connectionString, host, port, user, password, database, ssl } = pool.options as pg.ClientConfig;
  return Object.fromEntries(Object.entries({ connectionString, host, port, user, password, database, ssl }).filter(([, value]) => value !== undefined));
}
