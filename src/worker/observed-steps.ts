import type { ClaimedJob, Wait } from "../db/types.js";
import { type Metrics, metricNames } from "../observe/metrics.js";
import { type Tracing, traceHeader } from "../observe/tracing.js";
import type { StepEnd, StepObserver, StepTry } from "../steps/observer.js";
import type { ChildOptions } from "../steps/step.js";

/** What a worker's listeners are told of steps. */
export interface StepListeners {
  onStep(job: ClaimedJob, end: StepEnd): void;
  onResumed(job: ClaimedJob): void;
}

/**
 * Steps as metrics, spans and events. Labels are the worker, the type of the job, and words from a short list: names of
 * steps are the handler's own, and there may be any number of them, so they are in spans and events alone.
 */
export class ObservedSteps implements StepObserver {
  constructor(
    readonly worker: string,
    readonly metrics: Metrics | undefined,
    readonly tracing: Tracing | undefined,
    readonly listeners: StepListeners,
  ) {}

  during<T>(job: ClaimedJob, one: StepTry, work: () => T | PromiseLike<T>): T | PromiseLike<T> {
    return this.tracing ? this.tracing.run(spanOf(job, `${one.kind} ${one.step}`, one), async () => work()) : work();
  }

  onEnd(job: ClaimedJob, end: StepEnd): void {
    if (this.metrics) {
      const labels = { worker: this.worker, type: job.type, kind: end.kind, outcome: end.outcome };
      this.metrics.count(metricNames.steps, labels);
      this.metrics.observe(metricNames.stepDuration, labels, end.durationSeconds);
    }
    this.listeners.onStep(job, end);
  }

  onResumed(job: ClaimedJob): void {
    this.metrics?.count(metricNames.resumed, { worker: this.worker, type: job.type });
    this.listeners.onResumed(job);
  }

  /** A wait is a span without a length: the call ends with it, and the next one is a span of the same trace. */
  onSuspended(job: ClaimedJob, waits: readonly Wait[]): void {
    for (const wait of waits) {
      const reason = reasonOf(wait);
      this.metrics?.count(metricNames.suspended, { worker: this.worker, type: job.type, reason });
      void this.tracing
        ?.run(spanOf(job, `wait ${wait.key}`, { kind: reason, ...timesOf(wait) }), async () => {})
        .catch(() => {});
    }
  }

  traced(options: ChildOptions): ChildOptions {
    const trace = this.tracing?.current();
    return trace === undefined || options.headers?.[traceHeader] !== undefined
      ? options
      : { ...options, headers: { ...options.headers, [traceHeader]: trace } };
  }
}

function spanOf(
  job: ClaimedJob,
  name: string,
  { kind, attempt, seconds, until }: { kind: string; attempt?: number; seconds?: number; until?: string },
): Parameters<Tracing["run"]>[0] {
  return {
    name,
    parent: undefined, // the call of the handler, in whose context this is
    attributes: {
      "messaging.message.id": job.id,
      "millrace.step.kind": kind,
      ...(attempt === undefined ? {} : { "millrace.step.attempt": attempt }),
      ...(seconds === undefined ? {} : { "millrace.wait.seconds": seconds }),
      ...(until === undefined ? {} : { "millrace.wait.until": until }),
    },
  };
}

function reasonOf({ signals, children, retry }: Wait): "signal" | "children" | "retry" | "time" {
  if (signals) return "signal";
  if (children !== undefined) return "children";
  return retry ? "retry" : "time";
}

function timesOf({ seconds, until }: Wait): { seconds?: number; until?: string } {
  return { ...(seconds === undefined ? {} : { seconds }), ...(until === undefined ? {} : { until }) };
}
