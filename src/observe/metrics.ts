import { warn } from "./warning.js";

/** What is measured. Every name is listed in docs/observability.md; a test compares. */
export const metricNames = {
  busy: "millrace_jobs_busy",
  duration: "millrace_job_duration_seconds",
  wait: "millrace_job_wait_seconds",
  ready: "millrace_jobs_ready",
  blocked: "millrace_jobs_blocked",
  oldestReady: "millrace_oldest_ready_seconds",
  enqueued: "millrace_jobs_enqueued_total",
  polls: "millrace_polls_total",
  leasesLost: "millrace_leases_lost_total",
  leases: "millrace_leases_held",
  fetch: "millrace_fetch_duration_seconds",
  errors: "millrace_worker_errors_total",
  steps: "millrace_steps_total",
  stepDuration: "millrace_step_duration_seconds",
  suspended: "millrace_runs_suspended_total",
  resumed: "millrace_runs_resumed_total",
  signals: "millrace_signals_total",
  notices: "millrace_notices_total",
  noticeLag: "millrace_notice_lag_seconds",
} as const;

/** The name of a metric; docs/observability.md lists them. */
export type MetricName = (typeof metricNames)[keyof typeof metricNames];
/** What a measurement is of, by name. */
export type Labels = Readonly<Record<string, string>>;

/** Where measurements go. Without one, nothing is measured and nothing is paid. */
export interface Metrics {
  /** A counter goes up. */
  count(name: MetricName, labels: Labels, by?: number): void;
  /** A gauge moves by this much. */
  move(name: MetricName, labels: Labels, by: number): void;
  /** A histogram takes in one value, in seconds. */
  observe(name: MetricName, labels: Labels, seconds: number): void;
}

/** The same sink, except that nothing breaks when it throws: the first error is told as a warning. */
export function guardMetrics(metrics: Metrics): Metrics {
  let isTold = false;
  const guard =
    <Args extends unknown[]>(measure: (...args: Args) => void) =>
    (...args: Args): void => {
      try {
        measure(...args);
      } catch (error) {
        if (!isTold) warn("MILLRACE_METRICS", error);
        isTold = true;
      }
    };
  return {
    count: guard((...args) => metrics.count(...args)),
    move: guard((...args) => metrics.move(...args)),
    observe: guard((...args) => metrics.observe(...args)),
  };
}

/** Measures deliveries of notices: how many, and how long after they were heard of. */
export const noticeMetrics =
  (metrics: Metrics | undefined) =>
  (notices: number, lagMs: number): void => {
    metrics?.count(metricNames.notices, {}, notices);
    metrics?.observe(metricNames.noticeLag, {}, lagMs / 1000);
  };
