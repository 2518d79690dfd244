import type { ClaimedJob, JobId } from "../db/types.js";
import { errorOf } from "../db/stored-error.js";
import { type Logger, errorLine, withName } from "../observe/logger.js";
import { type Metrics, metricNames } from "../observe/metrics.js";
import { warn } from "../observe/warning.js";
import type { Outcome } from "./outcome.js";
import type { TypedEmitter } from "./typed-emitter.js";
import type { WorkerEvents } from "./worker-events.js";

/** Says what happens in a worker: to its listeners, to the log, and to the metrics that count what went wrong. */
export class Announcer {
  readonly #worker: string;
  readonly #listeners: TypedEmitter<WorkerEvents>;
  readonly #logger: Logger | undefined;
  readonly #metrics: Metrics | undefined;

  constructor(
    worker: string,
    listeners: TypedEmitter<WorkerEvents>,
    logger: Logger | undefined,
    metrics: Metrics | undefined,
  ) {
    this.#worker = worker;
    this.#listeners = listeners;
    this.#logger = logger;
    this.#metrics = metrics;
  }

  /** A listener that throws must not end what it was told of. */
  tell<Name extends keyof WorkerEvents>(name: Name, ...details: WorkerEvents[Name]): void {
    if (this.#listeners.listenerCount(name) === 0) return;
    try {
      this.#listeners.emit(name, ...details);
    } catch (error) {
      if (name === "error") warn("MILLRACE_WORKER", error);
      else this.error(error);
    }
  }

  /** An error nobody listens for must not end the process. */
  error(error: unknown): void {
    this.log("error", { err: error }, errorLine(error));
    this.tell("error", error);
  }

  log(level: keyof Logger, fields: object, message: string): void {
    this.#logger?.[level]({ worker: this.#worker, ...fields }, message);
  }

  outcome(job: ClaimedJob, outcome: Outcome, seconds: number): void {
    if (outcome.kind === "succeeded" || outcome.kind === "settled") this.tell("success", job, seconds);
    else if (outcome.kind === "released") this.tell("released", job);
    else if (outcome.kind === "suspended") this.tell("suspended", job, seconds);
    else if (outcome.kind === "lost" || outcome.kind === "expired") this.lost(job);
    else this.#failure(job, outcome);
  }

  /** The real error, with its class and fields, where there was one. */
  #failure(job: ClaimedJob, outcome: Extract<Outcome, { readonly kind: "failed" | "retryLater" }>): void {
    const isFinal = outcome.kind === "failed" || job.attempt >= job.maxAttempts;
    const error = "thrown" in outcome ? outcome.thrown : errorOf(outcome.error);
    const most = job.maxAttempts === Infinity ? "" : ` of ${job.maxAttempts}`;
    const said = withName(outcome.error.name, outcome.error.message);
    this.log(
      isFinal ? "error" : "warn",
      { ...fieldsOf(job), attempt: job.attempt, maxAttempts: job.maxAttempts, final: isFinal, err: error },
      `${job.type} ${job.id} failed${isFinal ? " for good" : ""} (attempt ${job.attempt}${most}): ${said}`,
    );
    this.tell("failure", job, error, isFinal);
  }

  lost(job: ClaimedJob): void {
    this.#metrics?.count(metricNames.leasesLost, { worker: this.#worker });
    this.log("warn", fieldsOf(job), `${job.type} ${job.id} was taken away: cancelled, expired, or its lease ended`);
    this.tell("lost", job);
  }

  refused(ids: readonly JobId[]): void {
    this.#metrics?.count(metricNames.leasesLost, { worker: this.#worker }, ids.length);
    this.log("warn", { jobs: ids }, `a report came too late and changed nothing: job ${ids.join(", ")}`);
    this.tell("refused", ids);
  }

  abandoned(jobs: readonly ClaimedJob[]): void {
    for (const job of jobs)
      this.log("warn", fieldsOf(job), `the handler of ${job.type} ${job.id} goes on after its job has ended`);
    this.tell("abandoned", jobs);
  }

  undeclared(schedules: readonly string[]): void {
    const names = schedules.join(", ");
    this.log(
      "warn",
      { schedules },
      `schedules that this process does not declare: ${names}; remove them with mill.schedules.remove, or declare them`,
    );
    this.tell("undeclared", schedules);
  }
}

function fieldsOf({ id, type, queue }: ClaimedJob): object {
  return { job: id, type, queue };
}
