import { type Labels, type MetricName, type Metrics, metricNames } from "./metrics.js";
import { type Tracing, traceHeader } from "./tracing.js";

/** The part of `@opentelemetry/api` that is used; pass the module itself. */
export interface OpenTelemetryApi {
  readonly context: { active(): unknown; with<T>(context: unknown, work: () => T): T };
  readonly propagation: {
    inject(context: unknown, carrier: Record<string, string>): void;
    extract(context: unknown, carrier: Record<string, string>): unknown;
  };
  readonly trace: { getTracer(name: string): OpenTelemetryTracer; setSpan(context: unknown, span: unknown): unknown };
  readonly metrics: { getMeter(name: string): OpenTelemetryMeter };
}

interface OpenTelemetrySpan {
  recordException(error: unknown): void;
  setStatus(status: { code: number; message?: string }): unknown;
  end(): void;
}

interface OpenTelemetryTracer {
  startSpan(
    name: string,
    options: { attributes: Readonly<Record<string, string | number>>; kind: number },
    context: unknown,
  ): OpenTelemetrySpan;
}

interface OpenTelemetryMeter {
  createCounter(name: string): { add(value: number, labels: Labels): void };
  createUpDownCounter(name: string): { add(value: number, labels: Labels): void };
  createHistogram(name: string, options: { unit: string }): { record(value: number, labels: Labels): void };
}

const spanKindConsumer = 4;
const statusError = 2;

/**
 * Metrics through OpenTelemetry.
 *
 * @example
 * ```ts
 * import * as api from "@opentelemetry/api";
 * const mill = new Millrace({ connection, metrics: openTelemetryMetrics(api), tracing: openTelemetryTracing(api) });
 * ```
 */
export function openTelemetryMetrics(api: Pick<OpenTelemetryApi, "metrics">): Metrics {
  const meter = api.metrics.getMeter("millrace");
  const counters = new Map<MetricName, { add(value: number, labels: Labels): void }>();
  const histograms = new Map<MetricName, { record(value: number, labels: Labels): void }>();
  for (const name of [
    metricNames.enqueued,
    metricNames.polls,
    metricNames.leasesLost,
    metricNames.errors,
    metricNames.steps,
    metricNames.suspended,
    metricNames.resumed,
    metricNames.signals,
    metricNames.notices,
  ])
    counters.set(name, meter.createCounter(name));
  for (const name of [metricNames.busy, metricNames.leases, metricNames.ready, metricNames.oldestReady])
    counters.set(name, meter.createUpDownCounter(name));
  for (const name of [
    metricNames.duration,
    metricNames.wait,
    metricNames.fetch,
    metricNames.stepDuration,
    metricNames.noticeLag,
  ])
    histograms.set(name, meter.createHistogram(name, { unit: "s" }));
  return {
    count: (name, labels, by = 1) => counters.get(name)?.add(by, labels),
    move: (name, labels, by) => counters.get(name)?.add(by, labels),
    observe: (name, labels, seconds) => histograms.get(name)?.record(seconds, labels),
  };
}

/** Traces through OpenTelemetry: each run is a span below the one that enqueued the job. */
export function openTelemetryTracing(api: Pick<OpenTelemetryApi, "context" | "propagation" | "trace">): Tracing {
  const tracer = api.trace.getTracer("millrace");
  return {
    current() {
      const carrier: Record<string, string> = {};
      api.propagation.inject(api.context.active(), carrier);
      return carrier[traceHeader];
    },
    async run({ name, parent, attributes }, work) {
      const above =
        parent === undefined
          ? api.context.active()
          : api.propagation.extract(api.context.active(), { [traceHeader]: parent });
      const span = tracer.startSpan(name, { attributes, kind: spanKindConsumer }, above);
      try {
        return await api.context.with(api.trace.setSpan(above, span), work);
      } catch (error) {
        span.recordException(error);
        span.setStatus({ code: statusError, message: error instanceof Error ? error.message : String(error) });
        throw error;
      } finally {
        span.end();
      }
    },
  };
}
