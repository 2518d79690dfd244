import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Engine } from "../../db/engine.js";
import type { Live } from "../live/live.js";

/** What `/metrics` tells. Every name is listed in docs/observability.md; a test compares. */
export const serverMetrics = {
  ready: { name: "millrace_queue_ready", kind: "gauge", help: "Jobs that are ready or blocked, by queue." },
  delayed: {
    name: "millrace_queue_delayed",
    kind: "gauge",
    help: "Jobs that are not due yet, or suspended, by queue.",
  },
  suspended: {
    name: "millrace_queue_suspended",
    kind: "gauge",
    help: "Jobs that have begun and wait for time, a signal or other jobs, by queue.",
  },
  running: { name: "millrace_queue_running", kind: "gauge", help: "Jobs that somebody holds, by queue." },
  oldest: {
    name: "millrace_queue_oldest_ready_seconds",
    kind: "gauge",
    help: "For how long the oldest ready job has waited, by queue; 0 when none waits.",
  },
  unhandled: {
    name: "millrace_jobs_unhandled",
    kind: "gauge",
    help: "Jobs that have been ready for a minute, of types that no worker handles, by queue and type.",
  },
  viewers: { name: "millrace_live_viewers", kind: "gauge", help: "Open streams of live samples." },
  loopDelay: {
    name: "millrace_event_loop_delay_seconds",
    kind: "gauge",
    help: "How late the server's event loop was since the last scrape, by quantile.",
  },
  requests: {
    name: "millrace_http_requests_total",
    kind: "counter",
    help: "Requests answered, by method, route and status.",
  },
  duration: {
    name: "millrace_http_request_duration_seconds",
    kind: "histogram",
    help: "How long requests took, by method and route.",
  },
} as const;

const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

interface Timing {
  readonly labels: string;
  sum: number;
  count: number;
  readonly below: number[];
}

/** Counts requests, and prints all that is known in the text format of Prometheus. */
export class ServerMetrics {
  readonly #requests = new Map<string, { readonly labels: string; count: number }>();
  readonly #timings = new Map<string, Timing>();
  readonly #loopDelay = monitorEventLoopDelay({ resolution: 20 });

  start(): void {
    this.#loopDelay.enable();
  }

  stop(): void {
    this.#loopDelay.disable();
  }

  /** Routes are those of a table, so that there is an end to them: never what a client has sent. */
  count(method: string, route: string, status: number, seconds: number): void {
    const of = `${method} ${route}`;
    const key = `${of} ${status}`;
    const requests = this.#requests.get(key) ?? { labels: labels({ method, route, status: String(status) }), count: 0 };
    this.#requests.set(key, requests);
    requests.count += 1;
    const timing = this.#timings.get(of) ?? {
      labels: labels({ method, route }),
      sum: 0,
      count: 0,
      below: buckets.map(() => 0),
    };
    this.#timings.set(of, timing);
    timing.sum += seconds;
    timing.count += 1;
    for (const [i, limit] of buckets.entries()) if (seconds <= limit) timing.below[i]! += 1;
  }

  async text(live: Live, engine: Engine): Promise<string> {
    // Without the database there is still something to tell: how the server does.
    const { queues } = await live.now().catch(() => ({ queues: [] }));
    const unhandled = await engine.server.unhandled().catch(() => []);
    const gauge = (
      key: "ready" | "delayed" | "suspended" | "running" | "oldest",
      value: (queue: (typeof queues)[number]) => number,
    ): string[] =>
      metric(
        key,
        queues.map((queue) => `${serverMetrics[key].name}{${labels({ queue: queue.queue })}} ${value(queue)}`),
      );
    const { name: durationName } = serverMetrics.duration;
    const lines = [
      ...gauge("ready", ({ ready }) => ready),
      ...gauge("delayed", ({ delayed }) => delayed),
      ...gauge("suspended", ({ suspended }) => suspended),
      ...gauge("running", ({ running }) => running),
      ...gauge("oldest", ({ oldestReadySeconds }) => oldestReadySeconds ?? 0),
      ...metric(
        "unhandled",
        unhandled.map(
          ({ queue, type, waiting }) => `${serverMetrics.unhandled.name}{${labels({ queue, type })}} ${waiting}`,
        ),
      ),
      ...metric("viewers", [`${serverMetrics.viewers.name} ${live.viewers}`]),
      ...metric("loopDelay", this.#loopDelays()),
      ...metric(
        "requests",
        [...this.#requests.values()].map(({ labels: key, count }) => `${serverMetrics.requests.name}{${key}} ${count}`),
      ),
      ...metric(
        "duration",
        [...this.#timings.values()].flatMap(({ labels: key, sum, count, below }) => [
          ...buckets.map((limit, i) => `${durationName}_bucket{${key},le="${limit}"} ${below[i]}`),
          `${durationName}_bucket{${key},le="+Inf"} ${count}`,
          `${durationName}_sum{${key}} ${sum}`,
          `${durationName}_count{${key}} ${count}`,
        ]),
      ),
    ];
    return `${lines.join("\n")}\n`;
  }

  #loopDelays(): string[] {
    const delay = this.#loopDelay;
    const seconds = (ns: number): number => (Number.isFinite(ns) ? ns / 1e9 : 0);
    const values = [
      ["0.5", seconds(delay.percentile(50))],
      ["0.99", seconds(delay.percentile(99))],
      ["1", delay.count === 0 ? 0 : seconds(delay.max)],
    ] as const;
    delay.reset();
    return values.map(([quantile, value]) => `${serverMetrics.loopDelay.name}{quantile="${quantile}"} ${value}`);
  }
}

function metric(key: keyof typeof serverMetrics, lines: readonly string[]): string[] {
  const { name, kind, help } = serverMetrics[key];
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${kind}`, ...lines];
}

function labels(values: Readonly<Record<string, string>>): string {
  return Object.entries(values)
    .map(([key, value]) => `${key}="${value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")}"`)
    .join(",");
}
