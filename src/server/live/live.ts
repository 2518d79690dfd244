import { setTimeout as sleep } from "node:timers/promises";
import type { Engine } from "../../db/engine.js";
import type { LiveSample, QueueState } from "../../db/types.js";
import type { Log } from "../log.js";
import { History, type Point } from "./history.js";

/** One queue at one moment; rates are per second, null while nothing is known. */
export interface LiveQueue {
  readonly queue: string;
  readonly state: QueueState;
  readonly ready: number;
  readonly delayed: number;
  /** Of the delayed ones. */
  readonly suspended: number;
  readonly running: number;
  readonly oldestReadySeconds: number | null;
  readonly in: number | null;
  readonly out: number | null;
  readonly failed: number | null;
}

/** All queues at one moment. */
export interface Overview {
  readonly at: Date;
  readonly queues: number;
  readonly ready: number;
  readonly delayed: number;
  /** Of the delayed ones. */
  readonly suspended: number;
  readonly running: number;
  readonly failedLastHour: number;
  readonly oldestReadySeconds: number | null;
  readonly rates: {
    readonly enqueuedPerSecond: number | null;
    readonly finishedPerSecond: number | null;
    readonly failedPerSecond: number | null;
  };
  readonly latency: { readonly p50: number | null; readonly p95: number | null };
  readonly workers: number;
  readonly warnings: number;
}

/** What viewers get. */
export interface Moment {
  readonly overview: Overview;
  readonly queues: readonly LiveQueue[];
}

/**
 * Somebody who looks; told of each moment, and with undefined that there is none because the database did not answer.
 */
export type Viewer = (moment: Moment | undefined) => void;

const watchedMs = 1000;
const quietMs = 2000;
const unwatchedMs = 60_000;
/** What costs most is looked up less often; meanwhile ages grow, and failures that are seen are added. */
const agesMs = 5000;
const failuresMs = 60_000;

/**
 * Looks at the database for all who want to see it: one sample a second while anybody does, one a minute for the
 * history while nobody does.
 */
export class Live {
  readonly #viewers = new Set<Viewer>();
  readonly #history = new History();
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  #wake = new AbortController();
  #taking: Promise<Moment> | undefined;
  #before: LiveSample | undefined;
  /** Where the logs ended, at each of the last samples. */
  #ends: { readonly at: number; readonly ends: readonly number[] }[] = [];
  #failures = { at: -Infinity, count: 0 };
  #oldest: { readonly at: number; readonly since: ReadonlyMap<string, Date | null> } = {
    at: -Infinity,
    since: new Map(),
  };
  #latest: { readonly moment: Moment; readonly takenAt: number } | undefined;
  #latency: { p50: number | null; p95: number | null; at: number } = { p50: null, p95: null, at: 0 };

  constructor(
    private readonly engine: Engine,
    private readonly log: Log,
    /** How many things the doctor found wrong when last asked. */
    private readonly warnings: () => number = () => 0,
  ) {}

  /** Start; a second call is harmless. */
  start(): void {
    this.#running ??= this.#run();
  }

  /** Stop, and wait for the sample in progress. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#wake.abort();
    await this.#running;
  }

  get viewers(): number {
    return this.#viewers.size;
  }

  /** Be told of every moment until the returned function is called. */
  watch(viewer: Viewer): () => void {
    this.#viewers.add(viewer);
    this.#wake.abort();
    return () => this.#viewers.delete(viewer);
  }

  /** What it looks like now, at most a second old. Whoever asks at the same time shares the answer. */
  async now(): Promise<Moment> {
    if (this.#latest && performance.now() - this.#latest.takenAt < watchedMs) return this.#latest.moment;
    return this.#sample();
  }

  /** What it looked like when somebody last looked, unless that was too long ago to be shown as now. */
  get last(): Moment | undefined {
    return this.#latest && performance.now() - this.#latest.takenAt < 2 * quietMs ? this.#latest.moment : undefined;
  }

  /** Of one queue, or of all together. */
  history(queue: string | undefined, seconds: number): { readonly step: number; readonly points: readonly Point[] } {
    return this.#history.of(queue ?? "", seconds, this.#latest?.moment.overview.at.getTime() ?? Date.now());
  }

  async #run(): Promise<void> {
    let shown = "";
    while (!this.#stopping.signal.aborted) {
      let isQuiet = true;
      try {
        const moment = await this.#sample();
        const text = JSON.stringify(moment.queues);
        isQuiet = text === shown;
        shown = text;
        for (const viewer of this.#viewers) viewer(moment);
      } catch (error) {
        this.log("warn", "could not look at the queues", { error: (error as Error).message });
        for (const viewer of this.#viewers) viewer(undefined);
      }
      this.#wake = new AbortController();
      const pauseMs = this.#viewers.size === 0 ? unwatchedMs : isQuiet ? quietMs : watchedMs;
      if (!this.#stopping.signal.aborted)
        await sleep(pauseMs, undefined, { signal: this.#wake.signal }).catch(() => {});
    }
  }

  #sample(): Promise<Moment> {
    this.#taking ??= this.#take().finally(() => (this.#taking = undefined));
    return this.#taking;
  }

  async #take(): Promise<Moment> {
    const failures = performance.now() - this.#failures.at > failuresMs;
    const ages = performance.now() - this.#oldest.at > agesMs;
    const from = this.#before?.to;
    const ends = from && (this.#ends.findLast(({ at }) => at <= from.getTime()) ?? this.#ends[0])?.ends;
    const sample = await this.engine.server.liveSample({
      ...(from ? { from } : {}),
      ...(ends ? { ends } : {}),
      ages,
      failures,
    });
    const seconds = sample.from === null ? undefined : (sample.to.getTime() - sample.from.getTime()) / 1000;
    // One that came too soon after the one before had no time to look at; the next one has.
    this.#before = seconds === undefined && this.#before ? { ...sample, to: this.#before.to } : sample;
    this.#ends = [...this.#ends.slice(-19), { at: sample.now.getTime(), ends: sample.ends }];
    if (ages)
      this.#oldest = {
        at: performance.now(),
        since: new Map(sample.queues.map(({ queue, oldestReadyAt }) => [queue, oldestReadyAt])),
      };
    if (failures) this.#failures = { at: performance.now(), count: sample.failedLastHour ?? 0 };
    else this.#failures.count += sample.ended?.[""]?.failed ?? 0;
    const moment = this.#momentOf(sample, seconds);
    this.#latest = { moment, takenAt: performance.now() };
    this.#keep(moment, sample);
    return moment;
  }

  #momentOf(sample: LiveSample, seconds: number | undefined): Moment {
    const rate = (n: number | undefined): number | null => (seconds === undefined ? null : round((n ?? 0) / seconds));
    const queues = sample.queues.map(({ queue, state, waiting, delayed, suspended, running }): LiveQueue => {
      const ended = sample.ended?.[queue];
      const isHeld = state === "paused" || state === "waiting"; // then nothing is ready
      const since = waiting > 0 && !isHeld ? (this.#oldest.since.get(queue) ?? null) : null;
      return {
        queue,
        state,
        ready: Math.max(0, waiting),
        delayed: Math.max(0, delayed),
        suspended,
        running,
        oldestReadySeconds: since && round(Math.max(0, sample.now.getTime() - since.getTime()) / 1000),
        in: rate(sample.made?.[queue]),
        out: rate(ended?.ended),
        failed: rate(ended?.failed),
      };
    });
    const all = sample.ended?.[""];
    const at = sample.now.getTime();
    if (all && all.p50 !== null) this.#latency = { p50: all.p50, p95: all.p95, at };
    const isFresh = at - this.#latency.at <= failuresMs;
    // Dead letters wait for a person.
    const letters = new Set(sample.queues.flatMap(({ queue, deadLetters }) => (deadLetters ? [queue] : [])));
    const ages = queues.flatMap(({ queue, oldestReadySeconds: age }) =>
      age === null || letters.has(queue) ? [] : [age],
    );
    return {
      queues,
      overview: {
        at: sample.now,
        queues: queues.length,
        ready: sum(queues, "ready"),
        delayed: sum(queues, "delayed"),
        suspended: sum(queues, "suspended"),
        running: sum(queues, "running"),
        failedLastHour: this.#failures.count,
        oldestReadySeconds: ages.length === 0 ? null : Math.max(...ages),
        rates: {
          enqueuedPerSecond: rate(Object.values(sample.made ?? {}).reduce((total, n) => total + n, 0)),
          finishedPerSecond: rate(all?.ended),
          failedPerSecond: rate(all?.failed),
        },
        latency: { p50: isFresh ? this.#latency.p50 : null, p95: isFresh ? this.#latency.p95 : null },
        workers: sample.workers,
        warnings: this.warnings(),
      },
    };
  }

  #keep({ overview, queues }: Moment, sample: LiveSample): void {
    const at = overview.at.getTime();
    const waits = (queue: string) => ({
      p50: sample.ended?.[queue]?.p50 ?? null,
      p95: sample.ended?.[queue]?.p95 ?? null,
    });
    const { ready, delayed, suspended, running, oldestReadySeconds, rates } = overview;
    this.#history.add("", {
      at,
      ready,
      delayed,
      suspended,
      running,
      oldestReadySeconds,
      in: rates.enqueuedPerSecond,
      out: rates.finishedPerSecond,
      failed: rates.failedPerSecond,
      ...waits(""),
    });
    for (const { queue, state: _state, ...rest } of queues) this.#history.add(queue, { at, ...rest, ...waits(queue) });
    this.#history.forget(at);
  }
}

const round = (n: number): number => Math.round(n * 1000) / 1000;
const sum = (queues: readonly LiveQueue[], key: "ready" | "delayed" | "suspended" | "running"): number =>
  queues.reduce((total, queue) => total + queue[key], 0);
