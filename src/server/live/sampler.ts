import type { Engine } from "../../db/engine.js";
import type { LiveSample } from "../../db/types.js";
import type { LiveQueue, Moment } from "./moment.js";

/** What costs most is looked up less often; meanwhile ages grow, and failures that are seen are added. */
const agesMs = 5000;
const failuresMs = 60_000;
/** A sample tells what ended within ten seconds; failures before that would be missed. */
const seenMs = 9000;

/** How long jobs had waited for their first attempt, in seconds. */
export interface Waits {
  readonly p50: number | null;
  readonly p95: number | null;
}

/** A cell at one moment, and the waits of its queues; `""` is all together. */
export interface Sampled {
  readonly moment: Moment;
  readonly waits: ReadonlyMap<string, Waits>;
}

/** Looks at one cell: each sample goes on from the one before. */
export class Sampler {
  #taking: Promise<Sampled> | undefined;
  #before: LiveSample | undefined;
  /** Where the logs ended, at each of the last samples. */
  #ends: { readonly at: number; readonly ends: readonly number[] }[] = [];
  /** `at`: when they were counted; `seenAt`: until when those that came since were added. */
  #failures = { at: -Infinity, seenAt: -Infinity, count: 0, isExact: true };
  #oldest: { readonly at: number; readonly since: ReadonlyMap<string, Date | null> } = {
    at: -Infinity,
    since: new Map(),
  };
  #latency: { p50: number | null; p95: number | null; at: number } = { p50: null, p95: null, at: 0 };

  constructor(private readonly engine: Engine) {}

  /** A sample was asked for, and has not come yet. */
  get isTaking(): boolean {
    return this.#taking !== undefined;
  }

  /** Whoever asks at the same time shares the answer. */
  take(): Promise<Sampled> {
    this.#taking ??= this.#take().finally(() => (this.#taking = undefined));
    return this.#taking;
  }

  async #take(): Promise<Sampled> {
    const began = performance.now();
    const failures = began - this.#failures.at > failuresMs || began - this.#failures.seenAt > seenMs;
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
    this.#addFailures(sample, began);
    const waits = Object.entries(sample.ended ?? {}).map(([queue, { p50, p95 }]) => [queue, { p50, p95 }] as const);
    return { moment: this.#momentOf(sample, seconds), waits: new Map(waits) };
  }

  /** A count goes up to the `to` of its sample, and the next sample goes on from there. */
  #addFailures({ failedLastHour: counted, ended }: LiveSample, seenAt: number): void {
    if (counted) return void (this.#failures = { at: seenAt, seenAt, ...counted });
    const since = ended?.[""];
    this.#failures.seenAt = seenAt;
    this.#failures.count += since?.failedJobs ?? 0;
    if (since?.isSample) this.#failures.isExact = false;
  }

  #momentOf(sample: LiveSample, seconds: number | undefined): Moment {
    const rate = (n: number | undefined): number | null => (seconds === undefined ? null : round((n ?? 0) / seconds));
    const queues = sample.queues.map(({ queue, state, waiting, blocked, delayed, suspended, running }): LiveQueue => {
      const ended = sample.ended?.[queue];
      const since = waiting > blocked ? (this.#oldest.since.get(queue) ?? null) : null;
      return {
        queue,
        state,
        ready: Math.max(0, waiting - blocked),
        blocked,
        // the queues' own count has the suspended ones in it
        delayed: Math.max(0, delayed - suspended),
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
        blocked: sum(queues, "blocked"),
        delayed: sum(queues, "delayed"),
        suspended: sum(queues, "suspended"),
        running: sum(queues, "running"),
        failedLastHour: this.#failures.count,
        failedLastHourIsExact: this.#failures.isExact,
        oldestReadySeconds: ages.length === 0 ? null : Math.max(...ages),
        rates: {
          enqueuedPerSecond: rate(Object.values(sample.made ?? {}).reduce((total, n) => total + n, 0)),
          finishedPerSecond: rate(all?.ended),
          failedPerSecond: rate(all?.failed),
        },
        latency: { p50: isFresh ? this.#latency.p50 : null, p95: isFresh ? this.#latency.p95 : null },
        workers: sample.workers,
        holders: sample.holders,
        warnings: 0,
        alerts: sample.alerts,
      },
    };
  }
}

const round = (n: number): number => Math.round(n * 1000) / 1000;
const sum = (queues: readonly LiveQueue[], key: "ready" | "blocked" | "delayed" | "suspended" | "running"): number =>
  queues.reduce((total, queue) => total + queue[key], 0);
