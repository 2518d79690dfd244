import { monitorEventLoopDelay } from "node:perf_hooks";
import { patienceMs, within } from "../../cells/ask.js";
import type { AlertRecord, UnhandledType } from "../../db/types.js";
import type { ServedCell } from "../cells.js";
import type { Live } from "../live/live.js";
import type { LiveQueue } from "../live/moment.js";

/** What `/metrics` tells. Every name is listed in docs/observability.md; a test compares. */
export const serverMetrics = {
  ready: { name: "millrace_queue_ready", kind: "gauge", help: "Jobs that are ready, by queue." },
  blocked: {
    name: "millrace_queue_blocked",
    kind: "gauge",
    help: "Jobs behind a pause, an open breaker, or a queue that is waited for, by queue.",
  },
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
  alerts: {
    name: "millrace_alerts_firing",
    kind: "gauge",
    help: "Alerts that fire, by rule and subject; 1 each, whether silenced or not.",
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

  async text(live: Live, served: () => Promise<readonly ServedCell[]>): Promise<string> {
    const cells = await seen(live, served);
    const each = <Row>(
      key: keyof typeof serverMetrics,
      rows: (cell: SeenCell) => readonly Row[],
      labelsOf: (row: Row) => Readonly<Record<string, string>>,
      value: (row: Row) => number,
    ): string[] =>
      metric(
        key,
        cells.flatMap((cell) =>
          rows(cell).map(
            (row) => `${serverMetrics[key].name}{${labels({ ...cell.label, ...labelsOf(row) })}} ${value(row)}`,
          ),
        ),
      );
    const gauge = (
      key: "ready" | "blocked" | "delayed" | "suspended" | "running" | "oldest",
      value: (queue: LiveQueue) => number,
    ): string[] =>
      each(
        key,
        ({ queues }) => queues,
        ({ queue }) => ({ queue }),
        value,
      );
    const { name: durationName } = serverMetrics.duration;
    const lines = [
      ...gauge("ready", ({ ready }) => ready),
      ...gauge("blocked", ({ blocked }) => blocked),
      ...gauge("delayed", ({ delayed }) => delayed),
      ...gauge("suspended", ({ suspended }) => suspended),
      ...gauge("running", ({ running }) => running),
      ...gauge("oldest", ({ oldestReadySeconds }) => oldestReadySeconds ?? 0),
      ...each(
        "unhandled",
        ({ unhandled }) => unhandled,
        ({ queue, type }) => ({ queue, type }),
        ({ waiting }) => waiting,
      ),
      ...each(
        "alerts",
        ({ alerts }) => alerts.filter(({ state }) => state === "firing"),
        ({ rule, subject, silenced }) => ({ rule, subject, silenced: String(silenced) }),
        () => 1,
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

/** What is told of one cell; where there are several, each of its series says which. */
interface SeenCell {
  readonly label: Readonly<Record<string, string>>;
  readonly queues: readonly LiveQueue[];
  readonly unhandled: readonly UnhandledType[];
  readonly alerts: readonly AlertRecord[];
}

/** Without a database there is still something to tell: how the server does. */
async function seen(live: Live, served: () => Promise<readonly ServedCell[]>): Promise<readonly SeenCell[]> {
  const moment = await live.now().catch(() => undefined);
  const missing = new Set(moment?.overview.missing?.map(({ cell }) => cell));
  return Promise.all(
    (await served().catch(() => [])).map(async ({ name, engine }) => {
      const there = async <Row>(ask: () => Promise<readonly Row[]>): Promise<readonly Row[]> =>
        name === undefined ? ask() : missing.has(name) ? [] : within(patienceMs, { name }, ask());
      const [unhandled, alerts] = await Promise.all([
        there(() => engine.server.unhandled()).catch(() => []),
        there(() => engine.alerts()).catch(() => []),
      ]);
      const here = name === undefined ? moment : missing.has(name) ? undefined : live.cells.get(name);
      return { label: name === undefined ? {} : { cell: name }, queues: here?.queues ?? [], unhandled, alerts };
    }),
  );
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
