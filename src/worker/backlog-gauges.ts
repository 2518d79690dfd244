import { setTimeout as sleep } from "node:timers/promises";
import type { Engine } from "../db/engine.js";
import { type Labels, type MetricName, type Metrics, metricNames } from "../observe/metrics.js";

/**
 * Tells, from time to time, how much waits in a worker's queues and for how long, by type. Only where somebody listens.
 */
export class BacklogGauges {
  /** What was told last, because a gauge moves by differences. */
  readonly #told = new Map<string, { readonly name: MetricName; readonly labels: Labels; value: number }>();
  #stopping: AbortController | undefined;
  #running: Promise<void> | undefined;

  constructor(
    readonly engine: Engine,
    readonly queues: () => readonly string[],
    readonly intervalMs: number,
    readonly metrics: Metrics | undefined,
    readonly onError: (error: unknown) => void,
  ) {}

  start(): void {
    if (!this.metrics || this.#running) return;
    this.#stopping = new AbortController();
    this.#running = this.#run(this.metrics, this.#stopping.signal);
  }

  async stop(): Promise<void> {
    this.#stopping?.abort();
    await this.#running;
    this.#running = undefined;
  }

  async #run(metrics: Metrics, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#measure(metrics).catch(this.onError);
      await sleep(this.intervalMs, undefined, { signal }).catch(() => {});
    }
    for (const { name, labels, value } of this.#told.values()) metrics.move(name, labels, -value);
    this.#told.clear();
  }

  async #measure(metrics: Metrics): Promise<void> {
    for (const queue of this.queues()) {
      for (const { type, ready, blocked, oldestAgeSeconds } of await this.engine.queueTypes(queue)) {
        this.#set(metrics, metricNames.ready, { queue, type }, ready);
        this.#set(metrics, metricNames.blocked, { queue, type }, blocked);
        this.#set(metrics, metricNames.oldestReady, { queue, type }, oldestAgeSeconds ?? 0);
      }
    }
  }

  #set(metrics: Metrics, name: MetricName, labels: Labels, value: number): void {
    const key = `${name} ${JSON.stringify(labels)}`;
    const before = this.#told.get(key)?.value ?? 0;
    metrics.move(name, labels, value - before);
    this.#told.set(key, { name, labels, value });
  }
}
