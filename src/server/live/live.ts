import { setTimeout as sleep } from "node:timers/promises";
import { patienceMs, within } from "../../cells/ask.js";
import { DatabaseUnavailableError } from "../../db/errors.js";
import type { MissingCell } from "../../db/types.js";
import type { ServedCell } from "../cells.js";
import type { Log } from "../log.js";
import { History, type Point } from "./history.js";
import { type SampledCell, mergedMoments } from "./merge-moments.js";
import type { Moment } from "./moment.js";
import { type Sampled, Sampler } from "./sampler.js";

/**
 * Somebody who looks; told of each moment, and with undefined that there is none because the database did not answer.
 */
export type Viewer = (moment: Moment | undefined) => void;

const watchedMs = 1000;
const quietMs = 2000;
const unwatchedMs = 60_000;
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
  #latest: { readonly moment: Moment; readonly takenAt: number } | undefined;
  #samplers: ReadonlyMap<string | undefined, Sampler> | undefined;
  #cells: ReadonlyMap<string, Moment> = new Map();
  #missing = "";

  constructor(
    private readonly served: () => Promise<readonly ServedCell[]>,
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

  /** Each cell by itself, as it looked last, where there are several. */
  get cells(): ReadonlyMap<string, Moment> {
    return this.#cells;
  }

  /** Of one queue, or of all together, by the second, for ten minutes at most. */
  history(queue: string | undefined, seconds: number): readonly Point[] {
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
        await sleep(pauseMs, undefined, { signal: this.#wake.signal, ref: false }).catch(() => {});
    }
  }

  #sample(): Promise<Moment> {
    this.#taking ??= this.#take().finally(() => (this.#taking = undefined));
    return this.#taking;
  }

  async #take(): Promise<Moment> {
    this.#samplers ??= new Map((await this.served()).map(({ name, engine }) => [name, new Sampler(engine)]));
    const only = this.#samplers.get(undefined);
    const { sampled, missing } = only ? { sampled: await only.take(), missing: [] } : await this.#takeEach();
    const { overview, queues } = sampled.moment;
    const moment: Moment = {
      queues,
      overview: { ...overview, warnings: this.warnings(), ...(missing.length > 0 && { missing }) },
    };
    this.#latest = { moment, takenAt: performance.now() };
    this.#keep(moment, sampled.waits);
    return moment;
  }

  /** Of the cells that answer in time. One that did not is not waited for again until it does. */
  async #takeEach(): Promise<{ readonly sampled: Sampled; readonly missing: readonly MissingCell[] }> {
    const missing: MissingCell[] = [];
    const taken: SampledCell[] = [];
    await Promise.all(
      [...this.#samplers!].map(async ([name, sampler]) => {
        const cell = name!;
        if (sampler.isTaking) return void missing.push({ cell, because: `cell "${cell}": it does not answer` });
        try {
          taken.push({ cell, ...(await within(patienceMs, { name: cell }, sampler.take())) });
        } catch (error) {
          if (!(error instanceof DatabaseUnavailableError)) throw error;
          missing.push({ cell, because: error.message });
        }
      }),
    );
    this.#tell(missing);
    if (taken.length === 0) throw new DatabaseUnavailableError("no cell answers");
    const sorted = taken.toSorted((a, b) => (a.cell < b.cell ? -1 : 1));
    this.#cells = new Map(sorted.map(({ cell, moment }) => [cell, moment]));
    return { sampled: mergedMoments(sorted), missing };
  }

  /** Once each time that it changes. */
  #tell(missing: readonly MissingCell[]): void {
    const names = missing.map(({ cell }) => cell).join(", ");
    if (names !== this.#missing && names !== "") this.log("warn", "cells do not answer", { cells: names });
    this.#missing = names;
  }

  #keep({ overview, queues }: Moment, known: Sampled["waits"]): void {
    const at = overview.at.getTime();
    const waits = (queue: string) => known.get(queue) ?? { p50: null, p95: null };
    const { ready, blocked, delayed, suspended, running, oldestReadySeconds, rates } = overview;
    this.#history.add("", {
      at,
      waiting: ready + blocked,
      ready,
      blocked,
      delayed,
      suspended,
      running,
      oldestReadySeconds,
      in: rates.enqueuedPerSecond,
      out: rates.finishedPerSecond,
      failed: rates.failedPerSecond,
      ...waits(""),
    });
    for (const { queue, state: _state, cell: _cell, ...rest } of queues)
      this.#history.add(queue, { at, waiting: rest.ready + rest.blocked, ...rest, ...waits(queue) });
    this.#history.forget(at);
  }
}
