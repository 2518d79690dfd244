import type { Engine } from "../db/engine.js";
import { LeaseLostError } from "../db/errors.js";
import type { ClaimOptions, ClaimedJob, JobError, JobId, Settlement } from "../db/types.js";
import { type Metrics, metricNames } from "../observe/metrics.js";
import type { Tracing } from "../observe/tracing.js";
import type { Registration } from "./handler.js";
import type { Outcome } from "./outcome.js";
import { Run } from "./run.js";
import type { WorkerSettings } from "./worker-options.js";

export interface DispatcherHooks {
  readonly onStart: (job: ClaimedJob) => void;
  readonly onOutcome: (job: ClaimedJob, outcome: Outcome, durationMs: number) => void;
  readonly onAbandoned: (run: Run) => void;
  /** Something changed that the fetcher may want to act on. */
  readonly onChange: () => void;
}

/** The jobs of one type that are here: waiting for a slot, and how many run. */
interface Line {
  readonly registration: Registration;
  readonly waiting: ClaimedJob[];
  next: number;
  calls: number;
  reserved: number;
}

const abandonAfterMs = 5000;
const smoothing = 0.2;

/**
 * Hands claimed jobs to their handlers, never more at once than allowed, and collects the outcomes.
 * Knows how many more jobs are wanted: free slots, and a prefetch that follows the speed of the handlers.
 */
export class Dispatcher {
  readonly #lines = new Map<string, Line>();
  readonly #runs = new Set<Run>();
  #settlements: Settlement[] = [];
  readonly #succeeded = new Map<string, { ids: JobId[]; results: unknown[]; hasResults: boolean }>();
  #settlementCount = 0;
  #busySlots = 0;
  #waiting = 0;
  #callMs = 50;
  #roundTripMs = 5;
  #stopped = false;

  constructor(
    readonly settings: WorkerSettings,
    readonly engine: Engine,
    readonly metrics: Metrics | undefined,
    readonly tracing: Tracing | undefined,
    readonly hooks: DispatcherHooks,
  ) {
    this.concurrency = settings.concurrency;
  }

  /** How many handlers may run at once; may be changed at any time. */
  concurrency: number;

  register(registration: Registration): void {
    this.#lines.set(registration.definition.type, { registration, waiting: [], next: 0, calls: 0, reserved: 0 });
  }

  has(type: string): boolean {
    return this.#lines.has(type);
  }

  get types(): readonly string[] {
    return [...this.#lines.keys()];
  }

  get runs(): ReadonlySet<Run> {
    return this.#runs;
  }

  /** Nothing runs, nothing waits, nothing is left to report. */
  get isIdle(): boolean {
    return this.#runs.size === 0 && this.#waiting === 0 && this.#settlementCount === 0;
  }

  get pendingSettlements(): number {
    return this.#settlementCount;
  }

  /** Jobs held here that have not ended. */
  get held(): number {
    let held = this.#waiting;
    for (const run of this.#runs) held += run.openJobs.length;
    return held;
  }

  noteRoundTrip(ms: number): void {
    this.#roundTripMs += smoothing * (ms - this.#roundTripMs);
  }

  /** As many as the handlers would finish during two round trips. */
  get prefetch(): number {
    const { prefetch, maxPrefetch } = this.settings;
    if (prefetch !== "auto") return Math.floor(prefetch * this.concurrency);
    return Math.min(maxPrefetch, Math.floor((2 * this.#roundTripMs * this.concurrency) / Math.max(this.#callMs, 0.002)));
  }

  /**
   * What to claim now, and who it is for. Types with a limit of their own are claimed apart, so that they cannot fill the slots of others.
   * The wanted jobs count as here until `release` is called, so that two round trips never claim for the same slot.
   */
  wanted(base: Omit<ClaimOptions, "types" | "limit">): { readonly claim: ClaimOptions; readonly release: () => void }[] {
    if (this.#stopped) return [];
    const lines = [...this.#lines.values()];
    const { prefetch } = this;
    const held = (line: Line): number => line.waiting.length - line.next + line.reserved;
    let free = this.concurrency - this.#busySlots + prefetch - lines.reduce((sum, line) => sum + Math.ceil(held(line) / line.registration.size), 0);
    const wanted: { claim: ClaimOptions; release: () => void }[] = [];
    const want = (group: readonly Line[], limit: number): void => {
      const [first] = group;
      if (!first || limit < 1) return;
      first.reserved += limit;
      wanted.push({
        claim: { ...base, types: group.map((line) => line.registration.definition.type), limit: Math.min(limit, 10_000) },
        release: () => (first.reserved -= limit),
      });
    };
    for (const line of lines) {
      const { concurrency, size } = line.registration;
      if (concurrency === undefined) continue;
      const calls = Math.min(concurrency - line.calls + Math.ceil((prefetch * concurrency) / this.concurrency / size), free);
      const limit = calls * size - held(line);
      want([line], limit);
      if (limit > 0) free -= Math.ceil(limit / size);
    }
    // While plenty waits here, small claims are not worth their round trip.
    if (free >= 1 && (this.#waiting === 0 || free * 2 >= prefetch))
      want(
        lines.filter((line) => line.registration.concurrency === undefined),
        free,
      );
    return wanted;
  }

  /** Take in claimed jobs and start what can start. */
  accept(jobs: readonly ClaimedJob[]): void {
    for (const job of jobs) {
      this.#lines.get(job.type)?.waiting.push(job);
      if (job.attempt === 1)
        this.metrics?.observe(metricNames.wait, { type: job.type, queue: job.queue }, Math.max(0, job.claimedAt.getTime() - job.createdAt.getTime()) / 1000);
    }
    this.#waiting += jobs.length;
    this.metrics?.move(metricNames.leases, { worker: this.settings.name }, jobs.length);
    this.startWaiting();
  }

  startWaiting(): void {
    for (const line of this.#lines.values()) {
      const most = line.registration.concurrency ?? Infinity;
      while (!this.#stopped && line.next < line.waiting.length && this.#busySlots < this.concurrency && line.calls < most) this.#start(line);
    }
  }

  #start(line: Line): void {
    const jobs = line.waiting.slice(line.next, line.next + line.registration.size);
    line.next += jobs.length;
    if (line.next === line.waiting.length || line.next > 1000) {
      line.waiting.splice(0, line.next);
      line.next = 0;
    }
    this.#waiting -= jobs.length;
    this.#busySlots += 1;
    line.calls += 1;
    const run = new Run(line.registration, jobs, this.engine, this.#onOutcome);
    this.#runs.add(run);
    for (const job of jobs) {
      this.metrics?.move(metricNames.busy, { worker: this.settings.name, type: job.type }, 1);
      this.hooks.onStart(job);
    }
    run.start(this.tracing);
    void run.handlerEnded.then(() => this.#freeSlot(run, line));
  }

  readonly #onOutcome = (run: Run, job: ClaimedJob, outcome: Outcome): void => {
    const durationMs = performance.now() - run.startedAt;
    if (this.metrics) {
      this.metrics.observe(metricNames.duration, { type: job.type, outcome: outcome.kind }, durationMs / 1000);
      this.metrics.move(metricNames.busy, { worker: this.settings.name, type: job.type }, -1);
      this.metrics.move(metricNames.leases, { worker: this.settings.name }, -1);
    }
    this.#record(job, outcome);
    this.hooks.onOutcome(job, outcome, durationMs);
    if (run.openJobs.length === 0) this.#abandonLater(run);
    this.hooks.onChange();
  };

  /** A handler that goes on although its jobs have ended keeps its slot for a while; then the slot is given to others. */
  #abandonLater(run: Run): void {
    const timer = setTimeout(() => this.abandon(run), abandonAfterMs);
    timer.unref();
    void run.handlerEnded.then(() => clearTimeout(timer));
  }

  /** Wait no longer for a handler. */
  abandon(run: Run): void {
    const line = this.#lines.get(run.registration.definition.type);
    if (!line || !this.#runs.has(run)) return;
    this.hooks.onAbandoned(run);
    this.#freeSlot(run, line);
  }

  #freeSlot(run: Run, line: Line): void {
    if (!this.#runs.delete(run)) return;
    this.#callMs += smoothing * ((performance.now() - run.startedAt) / run.jobs.length - this.#callMs);
    this.#busySlots -= 1;
    line.calls -= 1;
    this.startWaiting();
    this.hooks.onChange();
  }

  #record({ id, token }: ClaimedJob, outcome: Outcome): void {
    if (outcome.kind === "settled" || outcome.kind === "lost") return;
    this.#settlementCount += 1;
    if (outcome.kind === "succeeded") {
      let group = this.#succeeded.get(token);
      if (!group) this.#succeeded.set(token, (group = { ids: [], results: [], hasResults: false }));
      group.ids.push(id);
      group.results.push(outcome.result ?? null);
      group.hasResults ||= outcome.result !== undefined;
    } else {
      const delay = "delaySeconds" in outcome && outcome.delaySeconds !== undefined ? { delaySeconds: outcome.delaySeconds } : {};
      const error: { error?: JobError } = "error" in outcome ? { error: outcome.error } : {};
      this.#settlements.push({ token, outcome: outcome.kind, jobs: [id], ...error, ...delay } as Settlement);
    }
  }

  /** Outcomes to report now. When the report fails they come back through `giveBack`. */
  takeSettlements(): Settlement[] {
    const settlements = this.#settlements;
    for (const [token, { ids, results, hasResults }] of this.#succeeded) {
      settlements.push({ token, outcome: "succeeded", jobs: ids, ...(hasResults ? { results } : {}) });
    }
    this.#settlements = [];
    this.#succeeded.clear();
    this.#settlementCount = 0;
    return settlements;
  }

  giveBack(settlements: readonly Settlement[]): void {
    this.#settlements.push(...settlements);
    for (const { jobs } of settlements) this.#settlementCount += jobs.length;
  }

  /** Jobs that were taken away: tell their handlers, and report nothing on them. */
  lose(lost: ReadonlySet<JobId>): ClaimedJob[] {
    const jobs: ClaimedJob[] = [];
    for (const run of this.#runs) {
      for (const job of run.openJobs) {
        if (!lost.has(job.id)) continue;
        jobs.push(job);
        run.end(job, { kind: "lost" }, new LeaseLostError([job.id]));
      }
    }
    for (const line of this.#lines.values()) {
      const kept = line.waiting.slice(line.next).filter((job) => !lost.has(job.id) || (jobs.push(job), false));
      this.#waiting -= line.waiting.length - line.next - kept.length;
      line.waiting.splice(0, line.waiting.length, ...kept);
      line.next = 0;
    }
    return jobs;
  }

  /** Start nothing more; jobs that have not started go back unharmed. */
  stop(): void {
    this.#stopped = true;
    for (const line of this.#lines.values()) {
      for (const job of line.waiting.slice(line.next)) {
        this.#record(job, { kind: "released" });
        this.metrics?.move(metricNames.leases, { worker: this.settings.name }, -1);
      }
      line.waiting.length = 0;
      line.next = 0;
    }
    this.#waiting = 0;
    this.hooks.onChange();
  }

  /** Tokens of everything held here, each with its jobs. */
  tokens(): Map<string, JobId[]> {
    const tokens = new Map<string, JobId[]>();
    const add = ({ token, id }: ClaimedJob): void => void (tokens.get(token)?.push(id) ?? tokens.set(token, [id]));
    for (const run of this.#runs) run.openJobs.forEach(add);
    for (const line of this.#lines.values()) line.waiting.slice(line.next).forEach(add);
    return tokens;
  }
}
