import { checkObject } from "../db/check-options.js";
import { checkKeys } from "../db/encode.js";
import type { Engine } from "../db/engine.js";
import type {
  CancelFilter,
  ChildRecord,
  CountFilter,
  DecisionNote,
  DecisionRecord,
  Enqueued,
  FailureFilter,
  FailureGroup,
  FailureRetry,
  FailuresRetried,
  JobCounts,
  JobDetails,
  JobId,
  JobLog,
  JobRecord,
  JobStep,
  JobStepsFilter,
  Json,
  ListFilter,
  Reason,
  Replay,
  Replayed,
  RunStats,
} from "../db/types.js";
import { type TxOptions, batchSize, callOf, idOf, noteOf } from "./call.js";
import { type Duration, durationSeconds } from "../job/duration.js";
import { given } from "../job/new-job.js";

/** Which runs to look at, and how far back. */
export interface DurationsFilter {
  /** Only of this type. Default all. */
  readonly type?: string;
  /** Only of this queue. Default all. */
  readonly queue?: string;
  /** Windows up to now, 1 to 100 of them. Default a minute, an hour and a day. */
  readonly windows?: readonly Duration[];
}

/** Looking at jobs, and changing many. */
export class Jobs {
  constructor(
    /** The verbs below this class, one per SQL function. */
    readonly engine: Engine,
  ) {}

  /** One job with its attempts and progress; null when there is none. */
  async get(id: JobId, options: TxOptions = {}): Promise<JobDetails | null> {
    return this.engine.get(id, callOf(options));
  }

  /**
   * Why a job waits, what a person has to end first; nothing when it runs or has ended, null when there is none.
   * `whyText` puts a reason into words; docs/queue-states.md lists the codes.
   *
   * ```ts
   * for (const reason of (await mill.jobs.why(id)) ?? []) console.log(reason.code, whyText(reason));
   * ```
   */
  async why(id: JobId, options: TxOptions = {}): Promise<Reason[] | null> {
    return this.engine.why(id, callOf(options));
  }

  /**
   * What a run has done, was sent and waits for, in the order in which it was noted, a part at a time: `after` is the
   * `id` of the last one seen.
   *
   * @example
   * ```ts
   * for (const { key, kind, seconds } of await mill.jobs.steps(id)) console.log(key, kind, seconds);
   * ```
   */
  async steps(
    job: JobId | Pick<Enqueued, "id">,
    { tx, ...filter }: TxOptions & JobStepsFilter = {},
  ): Promise<JobStep[]> {
    return this.engine.steps(idOf(job), filter, callOf({ tx }));
  }

  /** The jobs that a job has started, in the order of their ids, after one of them. `limit` is 1000 at most. */
  async children(
    job: JobId | Pick<Enqueued, "id">,
    options: TxOptions & { readonly after?: JobId; readonly limit?: number } = {},
  ): Promise<ChildRecord[]> {
    const call = callOf(options, ["after", "limit"]);
    const { after, limit } = options;
    return this.engine.children(idOf(job), given({ after, limit }), call);
  }

  /**
   * Let a run go back to one of its steps: what it has done from then on is void, and done again; on record. One that
   * has failed or expired gets another attempt. Refused while it runs.
   *
   * @example
   * ```ts
   * await mill.jobs.rewind(id, { to: "charge", by: "ann", because: "the price was wrong" });
   * ```
   */
  async rewind(
    job: JobId | Pick<Enqueued, "id">,
    options: TxOptions & DecisionNote & { readonly to: string },
  ): Promise<void> {
    const call = callOf(options, ["to", "by", "because"]);
    const queue = await this.engine.rewind(idOf(job), options.to, { ...noteOf(options), ...call });
    if (call !== undefined) return;
    await this.engine.noticesDeliver(); // children that were cancelled with it may have some of their own
    await this.engine.queueNotify([queue]);
  }

  /** Jobs that match every filter given, newest first. */
  async list(filter: ListFilter = {}, options: TxOptions = {}): Promise<JobRecord[]> {
    return this.engine.list(filter, callOf(options));
  }

  /**
   * How many jobs that match every filter given are in each state; at least one filter. A tenant's are found quickly,
   * others by looking at all.
   *
   * @example
   * ```ts
   * const { ready, running, failed } = await mill.jobs.count({ tenant: "acme" });
   * ```
   */
  async count(filter: CountFilter, options: TxOptions = {}): Promise<JobCounts> {
    return this.engine.count(filter, callOf(options));
  }

  /**
   * How many runs ended within each window up to now, and how long they took: one entry per type and window.
   *
   * @example
   * ```ts
   * for (const { windowSeconds, runs, averageSeconds } of await mill.jobs.durations({ type: "resize", windows: ["1h", "1d"] }))
   *   console.log(`${runs} in ${windowSeconds} s, ${averageSeconds} s each`);
   * ```
   */
  async durations(filter: DurationsFilter = {}, options: TxOptions = {}): Promise<RunStats[]> {
    checkKeys(filter, new Set(["type", "queue", "windows"]));
    const { windows, ...rest } = filter;
    const windowsSeconds = windows?.map((window) => durationSeconds(window, "windows"));
    return this.engine.durations(
      { ...rest, ...(windowsSeconds === undefined ? {} : { windowsSeconds }) },
      callOf(options),
    );
  }

  /** The jobs that are next in line. */
  async peek(queue = "default", limit = 10, options: TxOptions = {}): Promise<JobRecord[]> {
    return this.engine.peek(queue, limit, callOf(options));
  }

  /** Cancel all live jobs that match every filter given. Returns how many. */
  async cancel(filter: CancelFilter, options: TxOptions = {}): Promise<number> {
    return this.engine.cancelWhere(filter, callOf(options));
  }

  /**
   * Give failed and expired jobs more attempts: the given ids, or all of a type. Discarded ones are left alone.
   * `perSecond` spreads them over time. Returns how many.
   */
  async retry(
    which: ({ readonly ids: readonly JobId[] } | { readonly type: string; readonly queue?: string }) &
      DecisionNote & { readonly perSecond?: number },
    attempts = 1,
    options: TxOptions = {},
  ): Promise<number> {
    return this.engine.retry(attempts, which, callOf(options));
  }

  /**
   * Failed jobs that nobody has retried or discarded yet, those with alike errors together, the most frequent first.
   * Looks at the newest 10,000 that match.
   *
   * @example
   * ```ts
   * for (const { jobs, message, fingerprint } of await mill.jobs.failures({ type: "send-mail" })) console.log(jobs, message, fingerprint);
   * ```
   */
  async failures(filter: FailureFilter = {}, options: TxOptions = {}): Promise<FailureGroup[]> {
    return this.engine.failures(filter, callOf(options));
  }

  /**
   * Give failed jobs more attempts, oldest first: those of one group of failures, of a queue or of a type. `perSecond`
   * spreads them over time, so that what has just recovered is not flooded. Each batch of a thousand commits by itself,
   * or all of them in your `tx`. Returns how many.
   *
   * @example
   * ```ts
   * const [worst] = await mill.jobs.failures();
   * if (worst) await mill.jobs.failureRetry({ fingerprint: worst.fingerprint, perSecond: 10, because: "the provider is back" });
   * ```
   */
  async failureRetry(which: Omit<FailureRetry, "limit" | "after">, options: TxOptions = {}): Promise<number> {
    let jobs = 0;
    for (let next: FailureRetry | null = which; next;) {
      const batch: FailuresRetried = await this.engine.failureRetry(next, callOf(options));
      jobs += batch.jobs;
      next = batch.next;
    }
    return jobs;
  }

  /**
   * Enqueue copies of jobs that ended within a time range, succeeded ones too, in the order in which they were
   * enqueued. Each copy names its `source`. A thousand at a time commit by themselves, or all of them in your `tx`.
   * With a `limit` there may be more: `next` continues where it stopped.
   *
   * @example
   * ```ts
   * const range = { since: "2026-03-01T08:00:00Z", until: "2026-03-01T09:00:00Z", type: "send-mail" };
   * const { jobs } = await mill.jobs.replay({ ...range, dryRun: true });
   * if (jobs < 10_000) await mill.jobs.replay({ ...range, perSecond: 50 });
   * ```
   */
  async replay(which: Replay, options: TxOptions = {}): Promise<Replayed> {
    checkObject(which, "which");
    const most = which.limit ?? Infinity;
    let jobs = 0;
    let next: Replay | null = which;
    do {
      const batch: Replayed = await this.engine.replay(
        { ...next, limit: Math.min(most - jobs, batchSize) },
        callOf(options),
      );
      jobs += batch.jobs;
      next = batch.next;
    } while (next && jobs < most);
    return { jobs, next: next && { ...next, ...(which.limit === undefined ? {} : { limit: which.limit }) } };
  }

  /**
   * Decide that nobody will retry a failed or expired job. It keeps its state, but is no longer listed with
   * `undecided`, and can no longer be retried. False when it is in neither state, or was discarded before.
   *
   * @example
   * ```ts
   * for (const job of await mill.jobs.list({ undecided: true })) await mill.jobs.discard(job, { by: "ann", because: "the customer has left" });
   * ```
   */
  async discard(job: JobId | Pick<Enqueued, "id">, options: TxOptions & DecisionNote = {}): Promise<boolean> {
    return (await this.engine.discard([idOf(job)], noteOf(options), callOf(options, ["by", "because"]))) === 1;
  }

  /**
   * Let a delayed job run now: one that was enqueued for later, or one that waits for a retry. False when it is not
   * delayed (any more), or waits for the release of a stage.
   *
   * @example
   * ```ts
   * const { id } = await mill.enqueue("send-mail", { to: "ann@example.com" }, { delay: "2h" });
   * await mill.jobs.runNow(id);
   * ```
   */
  async runNow(job: JobId | Pick<Enqueued, "id">, options: TxOptions = {}): Promise<boolean> {
    return (await this.engine.runNow([idOf(job)], callOf(options))) === 1;
  }

  /** Who retried or discarded a job, when and why; oldest first. Kept as long as the job. */
  async decisions(job: JobId | Pick<Enqueued, "id">, options: TxOptions = {}): Promise<DecisionRecord[]> {
    return this.engine.decisions(idOf(job), callOf(options));
  }

  /** What a running job has left for others to see; null when nothing. */
  async progress(id: JobId, options: TxOptions = {}): Promise<{ value: Json; updatedAt: Date } | null> {
    return this.engine.progress(id, callOf(options));
  }

  /**
   * The newest lines that a job has logged (`log` of its handler): of its run, a second late, or else of its last
   * attempt.
   *
   * @example
   * ```ts
   * const { lines, isRunning } = await mill.jobs.log("880123456789012345");
   * console.log(lines.join("\n"), isRunning ? "…" : "");
   * ```
   */
  async log(id: JobId, options: TxOptions = {}): Promise<JobLog> {
    return this.engine.log(id, callOf(options));
  }
}
