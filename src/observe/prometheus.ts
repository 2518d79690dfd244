import { type Labels, type MetricName, type Metrics, metricNames } from "./metrics.js";

const help: Readonly<Record<MetricName, string>> = {
  [metricNames.busy]: "Handlers running now.",
  [metricNames.duration]: "How long handlers took, by type and outcome.",
  [metricNames.wait]: "Age of a job at its first attempt.",
  [metricNames.ready]: "Ready jobs, by queue and type.",
  [metricNames.blocked]: "Jobs that a pause, an open breaker or another queue holds back, by queue and type.",
  [metricNames.oldestReady]: "For how long the oldest ready job has waited, by queue and type.",
  [metricNames.enqueued]: "Jobs enqueued by this process.",
  [metricNames.polls]: "Claims made, by whether they found jobs.",
  [metricNames.leasesLost]: "Jobs taken away from their handler.",
  [metricNames.leases]: "Jobs held by this process, started or not.",
  [metricNames.fetch]: "How long a round trip of the fetcher took.",
  [metricNames.errors]: "Failed round trips of the fetcher.",
  [metricNames.steps]: "Tries of steps, by type, kind and outcome.",
  [metricNames.stepDuration]: "How long tries of steps took, by type, kind and outcome.",
  [metricNames.suspended]: "Waits that runs were suspended for, by type and reason.",
  [metricNames.resumed]: "Calls of handlers that went on with a run, by type.",
  [metricNames.signals]: "Signals sent by this process, by whether they were new.",
  [metricNames.notices]: "Notices that this process has delivered to who waits.",
  [metricNames.noticeLag]: "From when this process heard of a notice until it was delivered.",
};
const buckets = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300];
type Kind = "counter" | "gauge" | "histogram";

interface Series {
  value: number;
  sum: number;
  readonly counts: number[];
}

/**
 * Keeps measurements in memory and prints them in the text format of Prometheus.
 *
 * @example
 * ```ts
 * const metrics = new PrometheusMetrics();
 * const mill = new Millrace({ connection, metrics });
 * http.createServer((_, response) => response.end(metrics.text()));
 * ```
 */
export class PrometheusMetrics implements Metrics {
  readonly #series = new Map<MetricName, { kind: Kind; byLabels: Map<string, Series> }>();

  /** A counter goes up. */
  count(name: MetricName, labels: Labels, by = 1): void {
    this.#one(name, "counter", labels).value += by;
  }

  /** A gauge moves by this much. */
  move(name: MetricName, labels: Labels, by: number): void {
    this.#one(name, "gauge", labels).value += by;
  }

  /** A histogram takes in one value, in seconds. */
  observe(name: MetricName, labels: Labels, seconds: number): void {
    const series = this.#one(name, "histogram", labels);
    series.value += 1;
    series.sum += seconds;
    const bucket = buckets.findIndex((limit) => seconds <= limit);
    if (bucket >= 0) series.counts[bucket] = (series.counts[bucket] ?? 0) + 1;
  }

  /** All measurements, ready to be scraped. */
  text(): string {
    const lines: string[] = [];
    for (const [name, { kind, byLabels }] of this.#series) {
      lines.push(`# HELP ${name} ${help[name]}`, `# TYPE ${name} ${kind}`);
      for (const [labels, series] of byLabels)
        lines.push(
          ...(kind === "histogram"
            ? histogramLines(name, labels, series)
            : [`${name}${braced(labels)} ${series.value}`]),
        );
    }
    return `${lines.join("\n")}\n`;
  }

  #one(name: MetricName, kind: Kind, labels: Labels): Series {
    let metric = this.#series.get(name);
    if (!metric) this.#series.set(name, (metric = { kind, byLabels: new Map() }));
    const key = labelText(labels);
    let series = metric.byLabels.get(key);
    if (!series) metric.byLabels.set(key, (series = { value: 0, sum: 0, counts: [] }));
    return series;
  }
}

function histogramLines(name: string, labels: string, { value, sum, counts }: Series): string[] {
  let below = 0;
  const lines = buckets.map((limit, i) => {
    below += counts[i] ?? 0;
    return `${name}_bucket${braced(labels, `le="${limit}"`)} ${below}`;
  });
  return [
    ...lines,
    `${name}_bucket${braced(labels, 'le="+Inf"')} ${value}`,
    `${name}_sum${braced(labels)} ${sum}`,
    `${name}_count${braced(labels)} ${value}`,
  ];
}

const labelText = (labels: Labels): string =>
  Object.entries(labels)
    .map(([key, value]) => `${key}="${value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")}"`)
    .join(",");

function braced(...parts: readonly string[]): string {
  const text = parts.filter((part) => part !== "").join(",");
  return text === "" ? "" : `{${text}}`;
}
