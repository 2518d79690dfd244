import { Worker as Thread } from "node:worker_threads";
import type pg from "pg";
import type { Engine } from "../db/engine.js";
import type { JobId, ObeyedOrder } from "../db/types.js";
import type { HeldClaim } from "./dispatcher.js";
import { type ProcessBeat, factsOf } from "./process-beat.js";
import { heartbeatThread } from "./threads.generated.js";
import type { Look, WatchOptions } from "./watch.js";
import type { WorkerSettings } from "./worker-options.js";

export interface HeartbeatHooks {
  /** What everybody holds, by token. */
  readonly held: () => ReadonlyMap<string, HeldClaim>;
  /** Leases of this length were prolonged, asked for at this time of `performance.now()`. */
  readonly onProlonged: (tokens: Iterable<string>, leaseMs: number, askedAt: number) => void;
  readonly onLost: (ids: ReadonlySet<JobId>) => void;
  /** Somebody enqueued something in one of our queues. */
  readonly onWake: () => void;
  /** The thread looked for what nobody told of. */
  readonly onLook: (look: Look) => void;
  /** Nothing can be heard, until the next look. */
  readonly onDeaf: () => void;
  /** What is told of this process; undefined when another of its workers does. */
  readonly process: () => ProcessBeat | undefined;
  /** What the workers of this process have to obey; told when that has changed. */
  readonly onOrders: (orders: readonly ObeyedOrder[]) => void;
  readonly onError: (error: unknown) => void;
}

/** Tokens by the length of their lease in milliseconds; usually there is but one. */
export type TokensByLease = ReadonlyMap<number, readonly string[]>;

/** What the thread tells. */
export type FromThread =
  | {
      readonly kind: "extended";
      readonly held: readonly (readonly [token: string, ids: readonly JobId[]])[];
      readonly asked: readonly string[];
      readonly leaseMs: number;
      /** In nanoseconds of the monotonic clock, which is the same in all threads. */
      readonly askedAt: bigint;
    }
  | { readonly kind: "wake" }
  /** Send this to all who listen, on another connection than that of the thread, so that it learns whether it hears. */
  | { readonly kind: "probe"; readonly payload: string }
  | { readonly kind: "look"; readonly look: Look }
  | { readonly kind: "deaf" }
  | { readonly kind: "orders"; readonly orders: readonly ObeyedOrder[] }
  | { readonly kind: "error"; readonly message: string };

/** What the thread is told. */
export type ToThread =
  | { readonly kind: "add"; readonly tokens: TokensByLease; readonly everyMs: number }
  | {
      readonly kind: "set";
      readonly tokens: TokensByLease;
      readonly everyMs: number;
      readonly process: ProcessBeat | undefined;
    }
  /** Somebody else of this process keeps the watch: no look is needed for so long. */
  | { readonly kind: "rest"; readonly ms: number }
  | { readonly kind: "stop"; readonly left: string | undefined };

export interface ThreadData {
  readonly connection: pg.ClientConfig;
  readonly schema: string;
  readonly queues: readonly string[];
  readonly stallMs: number;
  readonly watch: WatchOptions | undefined;
  /** One number: when the event loop last turned, in nanoseconds of the monotonic clock. */
  readonly pulse: SharedArrayBuffer;
}

const pulseMs = 200;
/** How long the thread may take to connect, before jobs are taken all the same. */
const greetingMs = 5000;
/** How long it may take to say goodbye. */
const farewellMs = 1000;
const longestPauseMs = 5000;
/** How often the thread is told that somebody else of this process keeps the watch; and how late that one may be. */
const [restEveryMs, restLateMs] = [5000, 1000];

/** How often to prolong leases: four times within the shortest, so that three beats may fail. */
const beatMs = (tokens: TokensByLease): number =>
  Math.max(30, Math.min(longestPauseMs, ...[...tokens.keys()].map((leaseMs) => leaseMs / 4)));

/**
 * Keeps leases alive, and hears wake-ups. In a thread with its own connection, so that a handler that blocks the event
 * loop keeps its lease; but not for longer than `stallTimeout`, because a process that hangs must lose it. Without the
 * thread, from the event loop itself.
 */
export class Heartbeat {
  #thread: Thread | undefined;
  #pulse: NodeJS.Timeout | undefined;
  #timer: NodeJS.Timeout | undefined;
  #pauseMs = longestPauseMs;
  #beating: Promise<unknown> | undefined;
  #toldAt = 0;
  #facts: string | undefined;
  /** What the workers were told last. The first answer is told always: they asked before, too. */
  #orders: string | undefined;
  #restedAt = -Infinity;
  #stopped = false;

  constructor(
    readonly engine: Engine,
    readonly pool: pg.Pool,
    readonly settings: WorkerSettings,
    readonly watch: WatchOptions | undefined,
    readonly hooks: HeartbeatHooks,
  ) {}

  /** Resolves when leases can be kept: jobs are taken only then, because the first handler may block the event loop. */
  async start(): Promise<void> {
    if (this.settings.heartbeatThread && !this.#startThread())
      this.hooks.onError(
        new Error("the connection's options cannot be given to a thread; leases are kept from the event loop"),
      );
    const thread = this.#thread;
    if (thread) {
      await new Promise((resolve) => {
        const timer = setTimeout(resolve, greetingMs);
        thread.once("message", () => (clearTimeout(timer), resolve(undefined)));
      });
    }
    if (!this.#stopped) this.#beat();
  }

  /** Newly claimed: told at once, because the next handler may block the event loop. */
  add(claims: ReadonlyMap<string, HeldClaim>): void {
    const tokens = byLease(claims);
    const everyMs = beatMs(tokens);
    this.#thread?.postMessage({ kind: "add", tokens, everyMs } satisfies ToThread);
    if (everyMs < this.#pauseMs) this.#beatAfter(everyMs);
  }

  /** What is told of the process has changed: tell it now. */
  tell(): void {
    if (this.#stopped || this.#timer === undefined) return;
    this.#toldAt = 0;
    this.#beatAfter(0);
  }

  /** Another worker of this process keeps the watch, and looks again so soon. */
  rest(inSeconds: number): void {
    const now = performance.now();
    if (now - this.#restedAt < restEveryMs) return;
    this.#restedAt = now;
    const ms = restEveryMs + inSeconds * 1000 + restLateMs;
    this.#thread?.postMessage({ kind: "rest", ms } satisfies ToThread);
  }

  #beatAfter(ms: number): void {
    clearTimeout(this.#timer);
    this.#pauseMs = ms;
    if (!this.#stopped) this.#timer = setTimeout(() => this.#beat(), ms);
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
      stallMs: this.settings.stallMs,
      watch: this.watch,
      pulse,
    };
    try {
      this.#thread = new Thread(heartbeatThread, { eval: true, workerData, execArgv: [] });
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
    if (this.#stopped) return;
    this.hooks.onDeaf();
    this.hooks.onError(error);
  }

  #hear(message: FromThread): void {
    if (message.kind === "wake") this.hooks.onWake();
    else if (message.kind === "look") this.hooks.onLook(message.look);
    else if (message.kind === "deaf") this.hooks.onDeaf();
    else if (message.kind === "orders") this.hooks.onOrders(message.orders);
    else if (message.kind === "probe") void this.engine.queueNotify([message.payload]).catch(() => {}); // asked again
    else if (message.kind === "error") this.hooks.onError(new Error(message.message));
    else {
      const agoMs = Number(process.hrtime.bigint() - message.askedAt) / 1e6; // the event loop may have been busy since
      this.#compare(new Map(message.held), { ...message, askedAt: performance.now() - agoMs });
    }
  }

  /** With the thread: tell it what is still held. Without: extend here. */
  #beat(): void {
    const tokens = byLease(this.hooks.held());
    const everyMs = beatMs(tokens);
    this.#beatAfter(everyMs);
    const process = this.hooks.process();
    if (this.#thread) this.#thread.postMessage({ kind: "set", tokens, everyMs, process } satisfies ToThread);
    else
      this.#beating ??= Promise.all([this.#extend(tokens), this.#told(process)]).finally(
        () => (this.#beating = undefined),
      );
  }

  /** What the thread does otherwise. Where it is refused, as for a role of an older release, nothing is missing. */
  async #told(beat: ProcessBeat | undefined): Promise<void> {
    if (!beat || performance.now() < this.#toldAt) return;
    const given = factsOf(beat);
    const facts = JSON.stringify(given);
    this.#toldAt = performance.now() + 60_000;
    try {
      const told = await this.engine.workerBeat(beat.id, facts === this.#facts ? null : given, beat.state);
      this.#facts = told.known ? facts : undefined;
      const orders = JSON.stringify(told.orders ?? []);
      if (told.known && orders !== this.#orders) this.hooks.onOrders(told.orders ?? []);
      if (told.known) this.#orders = orders;
      this.#toldAt = told.known ? performance.now() + told.inSeconds * 1000 : 0;
    } catch {
      // told again later
    }
  }

  async #extend(tokens: TokensByLease): Promise<void> {
    for (const [leaseMs, asked] of tokens) {
      const askedAt = performance.now();
      try {
        const extended = await this.engine.claimExtend(asked, leaseMs / 1000);
        this.#compare(new Map([...extended].map(([token, { jobIds }]) => [token, jobIds])), {
          asked,
          leaseMs,
          askedAt,
        });
      } catch (error) {
        this.hooks.onError(error);
      }
    }
  }

  /** Whatever we hold by a token that was asked for, and the database does not, is lost. */
  #compare(
    inDatabase: ReadonlyMap<string, readonly JobId[]>,
    of: { readonly asked: readonly string[]; readonly leaseMs: number; readonly askedAt: number },
  ): void {
    this.hooks.onProlonged(inDatabase.keys(), of.leaseMs, of.askedAt);
    const asked = new Set(of.asked);
    const lost = new Set<JobId>();
    for (const [token, { ids }] of this.hooks.held()) {
      if (!asked.has(token)) continue;
      const kept = new Set(inDatabase.get(token));
      for (const id of ids) if (!kept.has(id)) lost.add(id);
    }
    if (lost.size > 0) this.hooks.onLost(lost);
  }

  /** `left`: the process that has no workers any more. */
  async stop(left?: string): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    clearInterval(this.#pulse);
    await this.#beating;
    const thread = this.#thread;
    if (!thread) return left === undefined ? undefined : this.#leave(left);
    thread.ref(); // whoever waits for us must not find the process gone
    const timer = setTimeout(() => void thread.terminate(), farewellMs);
    const ended = new Promise((resolve) => thread.once("exit", resolve));
    thread.postMessage({ kind: "stop", left } satisfies ToThread);
    await ended;
    clearTimeout(timer);
  }

  /** A database that is gone learns it by itself. */
  async #leave(id: string): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise((resolve) => (timer = setTimeout(resolve, farewellMs)));
    await Promise.race([this.engine.workerLeave(id).catch(() => {}), late]);
    clearTimeout(timer);
  }
}

function byLease(claims: ReadonlyMap<string, HeldClaim>): TokensByLease {
  const tokens = new Map<number, string[]>();
  for (const [token, { leaseMs }] of claims) {
    const group = tokens.get(leaseMs);
    if (group) group.push(token);
    else tokens.set(leaseMs, [token]);
  }
  return tokens;
}

/** How to connect as the pool does. */
function connectionOf(pool: pg.Pool): pg.ClientConfig {
  const { connectionString, host, port, user, password, database, ssl } = pool.options as pg.ClientConfig;
  return Object.fromEntries(
    Object.entries({ connectionString, host, port, user, password, database, ssl }).filter(
      ([, value]) => value !== undefined,
    ),
  );
}
