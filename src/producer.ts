/// <reference types="node" preserve="true" />
/// <reference lib="esnext.disposable" preserve="true" />
/**
 * For processes that enqueue and never run jobs, such as web servers: the same client without the code of workers. The
 * types are those of `millrace`.
 */
export type * from "./index.js";
export * from "./errors.js";
export { Millrace } from "./client/millrace.js";
export { defineJob } from "./job/define-job.js";
export { metricNames } from "./observe/metrics.js";
export { openTelemetryMetrics, openTelemetryTracing } from "./observe/opentelemetry.js";
export { PrometheusMetrics } from "./observe/prometheus.js";
