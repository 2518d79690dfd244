import type { Engine } from "../db/engine.js";
import { LeaseLostError } from "../db/errors.js";
import type { ClaimOptions, ClaimedJob, JobId, Settlement } from "../db/types.js";
import type { AnyJobDefinition } from "../job/define-job.js";
import type { Middlewares } from "../job/middleware.js";
import { type Metrics, metricNames } from "../observe/metrics.js";
import type { Tracing } from "../observe/tracing.js";
import { Journal } from "../steps/journal.js";
import type { StepObserver } from "../steps/observer.js";
import type { Registration } from "./handler.js";
import { Leases } from "./leases.js";
import { LiveLogs } from "./live-logs.js";
import type { Outcome } from "./outcome.js";
import { Outbox } from "./outbox.js";
import { Quarantine } from "./quarantine.js";
import { Run, type RunObserver } from "./run.js";
import { type Sharer, Slots } from "./slots.js";
import type { WorkerSettings } from "./worker-options.js";

export interface DispatcherHooks {
  readonly onStart: (job: ClaimedJob) => void;
  readonly onOutcome: (job: ClaimedJob, outcome: Outcome, seconds: number) => void;
  readonly onAbandoned: (run: Run) => void;
  /** Something changed that the fetcher may want to act on. */
  readonly onChange: () => void;
}

/** What one token holds. */
export interface HeldClaim {
  readonly ids: JobId[];
  /** How long its lease is: as the worker says, else the type, the queue or the cell. */
  readonly leaseMs: number;
}

/** Jobs of one type that came together. */
interface Parcel {
  readonly jobs: ClaimedJob[];
  next: number;
  /** Its place among all that came: lines take turns by it, so that no type waits behind those that came later. */
  readonly place: number;
  readonly receivedAt: number;
}

/** The jobs of one type that are here: waiting for a slot, and how many run. */
interface Line {
  readonly registration: Registration;
  parcels: Parcel[];
  waiting: number;
  /** How many run, in all parts of the worker. */
  readonly running: { calls: number };
  reserved: number;
}

const abandonAfterMs = 5000;
const longestReportDelayMs = 10;
const smoothing = 0.2;
const longestTurnMs = 10;
/** So many jobs keep the event loop busy for a while: the next claim goes out before they start. */
const fetchFirstFrom = 200;
/** The heartbeat is heard within this, once the event loop turns. */
const hearingMs = 10;

/**
 * Hands claimed jobs to their handlers, never more at once than allowed, and collects the outcomes.
 * Knows how many more jobs are wanted: free slots, and a prefetch that follows the speed of the handlers.
 */
export class Dispatcher implements RunObserver, Sharer {
  readonly #lines = new Map<string, Line>();
  readonly #runs = new Set<Run>();
  /** Runs whose jobs have ended and whose handlers have not. */
  readonly #lingering = new Map<Run, NodeJS.Timeout>();
  readonly #outbox = new Outbox();
  readonly #leases = new Leases();
  readonly #journal: Journal;
  readonly #liveLogs: LiveLogs;
  #parcels = 0;
  #waiting = 0;
  #callMs = 50;
  #roundTripMs = 5;
  #stopped = false;
  #isHeld = false;
  #isStarting = false;
  #turnBeganAt = 0;
  /** What the heartbeat had to say was heard since the first lease seemed to have ended. */
  #hasListened = false;
  readonly #quarantine = new Quarantine(() => this.#changed());
  #isHungry = true;
  #position = -Infinity;
  #claimingSince: number | undefined;

  constructor(
    readonly settings: WorkerSettings,
    readonly engine: Engine,
    readonly metrics: Metrics | undefined,
    readonly tracing: Tracing | undefined,
    readonly hooks: DispatcherHooks,
    readonly stepObserver?: StepObserver,
    readonly middlewares?: Middlewares,
    readonly slots: Slots = new Slots(settings.concurrency),
  ) {
    this.#journal = new Journal(engine);
    this.#liveLogs = new LiveLogs(engine);
    slots.join(this);
  }

  /** How many handlers may run at once; may be changed at any time. */
  get concurrency(): number {
    return this.slots.concurrency;
  }

  set concurrency(concurrency: number) {
    this.slots.concurrency = concurrency;
  }

  // What other parts of the worker, where it serves several cells, must know of this one.

  get share(): { readonly waiting: number; readonly reserved: number } {
    let reserved = 0;
    let waiting = 0;
    for (const line of this.#lines.values()) {
      waiting += Math.ceil(line.waiting / line.registration.size);
      reserved += Math.ceil(line.reserved / line.registration.size);
    }
    return { waiting, reserved };
  }

  get oldest(): number {
    const first = this.#nextLine()?.parcels[0];
    return first?.jobs[first.next]?.createdAt.getTime() ?? Infinity;
  }

  get isHungry(): boolean {
    return this.#isHungry && !this.#stopped;
  }

  get position(): number {
    return this.#position;
  }

  get claimingSince(): number | undefined {
    return this.#claimingSince;
  }

  get hasSuspect(): boolean {
    return this.#quarantine.isTaken;
  }

  get runsSuspect(): boolean {
    return this.#quarantine.isWatching;
  }

  changed(): void {
    this.hooks.onChange();
  }

  /**
   * How a claim ended. One that was not answered in full has left nothing that was there when it began; one that failed
   * says nothing, and lets others go first.
   */
  claimEnded(jobs: readonly ClaimedJob[], isFull: boolean, askedAt: number): void {
    this.#claimingSince = undefined;
    this.#isHungry = isFull;
    const last = jobs.at(-1);
    if (!isFull) this.#position = Date.now() - (performance.now() - askedAt);
    else if (last) this.#position = last.createdAt.getTime();
    if (this.slots.isShared) this.slots.freed();
  }

  register(registration: Registration): void {
    this.#lines.set(registration.definition.type, {
      registration,
      parcels: [],
      waiting: 0,
      running: this.slots.callsOf(registration.definition.type),
      reserved: 0,
    });
  }

  has(type: string): boolean {
    return this.#lines.has(type);
  }

  get definitions(): readonly AnyJobDefinition[] {
    return [...this.#lines.values()].map(({ registration }) => registration.definition);
  }

  get types(): readonly string[] {
    return [...this.#lines.keys()];
  }

  get runs(): ReadonlySet<Run> {
    return this.#runs;
  }

  /** Nothing runs, nothing waits, nothing is left to report. */
  get isIdle(): boolean {
    return this.#runs.size === 0 && this.#waiting === 0 && this.#outbox.size === 0;
  }

  /** Outcomes that wait to be reported. */
  get unreported(): number {
    return this.#outbox.size;
  }

  /** Outcomes are worth a round trip of their own at once, unless quick handlers will soon have more of them. */
  get reportDueInMs(): number {
    if (this.unreported === 0) return Infinity;
    if (this.#waiting === 0 || this.#stopped || this.#isHeld || this.unreported * 2 >= this.prefetch) return 0;
    return Math.max(0, longestReportDelayMs - this.#outbox.waitedMs);
  }

  /** Jobs held here that have not ended. */
  get held(): number {
    let held = this.#waiting + (this.#quarantine.waiting ? 1 : 0);
    for (const run of this.#runs) held += run.openJobs.length;
    return held;
  }

  /**
   * One round trip tells little: a process that was frozen for ten seconds would claim for each of its slots what
   * takes them ten seconds, and where it dies, each of these jobs is a suspect.
   */
  noteRoundTrip(ms: number): void {
    this.#roundTripMs += smoothing * (Math.min(ms, 2 * this.#roundTripMs) - this.#roundTripMs);
  }

  /** As many as the handlers would finish during two round trips. */
  get prefetch(): number {
    const { prefetch, maxPrefetch } = this.settings;
    if (prefetch !== "auto") return Math.round(prefetch * this.concurrency);
    return Math.min(
      maxPrefetch,
      Math.floor((2 * this.#roundTripMs * this.concurrency) / Math.max(this.#callMs, 0.002)),
    );
  }

  /**
   * What to claim now, and who it is for. Types with a limit of their own are claimed apart, so that they cannot fill
   * the slots of others. The wanted jobs count as here until `release` is called, so that two round trips never claim
   * for the same slot.
   */
  wanted(
    base: Omit<ClaimOptions, "types" | "limit">,
  ): { readonly claim: ClaimOptions; readonly release: () => void }[] {
    if (this.#stopped || this.#isHeld || this.#quarantine.isTaken) return [];
    const { isShared } = this.slots;
    if (isShared && !this.slots.mayClaim(this)) return [];
    const lines = [...this.#lines.values()];
    // When nothing is here, what woke us is most often one job: a small claim is answered the express way.
    const prefetch = this.isIdle ? 0 : this.prefetch;
    const held = (line: Line): number => line.waiting + line.reserved;
    let free =
      this.concurrency -
      this.slots.busy +
      prefetch -
      lines.reduce((sum, line) => sum + Math.ceil(held(line) / line.registration.size), 0) -
      (isShared ? this.slots.heldByOthers(this) : 0);
    const wanted: { claim: ClaimOptions; release: () => void }[] = [];
    const want = (group: readonly Line[], limit: number): void => {
      const [first] = group;
      if (!first || limit < 1) return;
      first.reserved += limit;
      wanted.push({
        claim: {
          ...base,
          types: group.map((line) => line.registration.definition.type),
          limit: Math.min(limit, 10_000),
        },
        release: () => (first.reserved -= limit),
      });
    };
    for (const line of lines) {
      const { concurrency, size } = line.registration;
      if (concurrency === undefined) continue;
      const calls = Math.min(
        concurrency - line.running.calls + Math.ceil((prefetch * concurrency) / this.concurrency / size),
        free,
      );
      const limit = calls * size - held(line);
      want([line], limit);
      if (limit > 0) free -= Math.ceil(limit / size);
    }
    // While plenty waits here, small claims are not worth their round trip. One half of the prefetch is worked on while
    // the other is on its way.
    if (free >= 1 && (this.#waiting === 0 || free * 2 >= prefetch))
      want(
        lines.filter((line) => line.registration.concurrency === undefined),
        Math.min(free, this.concurrency + Math.ceil(prefetch / 2)),
      );
    if (wanted.length > 0) this.#claimingSince = performance.now();
    else if (free >= 1 && this.#waiting === 0) this.#isHungry = false; // nothing that is free is for its types
    return wanted;
  }

  /**
   * Take in claimed jobs and start what can start. When nothing starts any more, they go back unharmed. `askedAt`: when
   * they were asked for.
   */
  accept(jobs: readonly ClaimedJob[], askedAt: number): void {
    const receivedAt = performance.now();
    let parcel: Parcel | undefined;
    let token: string | undefined;
    for (const job of jobs) {
      if (job.token !== token) this.#leases.confirm((token = job.token), leaseMsOf(job), askedAt);
      const line = this.#lines.get(job.type);
      if (!line) continue;
      if (job.attempt === 1)
        this.metrics?.observe(
          metricNames.wait,
          { type: job.type, queue: job.queue },
          Math.max(0, job.claimedAt.getTime() - job.createdAt.getTime()) / 1000,
        );
      if (job.alone) {
        this.#keepApart(job, receivedAt);
        continue;
      }
      if (parcel?.jobs[0]?.type !== job.type)
        line.parcels.push((parcel = { jobs: [], next: 0, place: (this.#parcels += 1), receivedAt }));
      parcel.jobs.push(job);
      line.waiting += 1;
      this.#waiting += 1;
    }
    this.metrics?.move(metricNames.leases, { worker: this.settings.name }, jobs.length);
    if (this.#stopped || this.#isHeld) this.#releaseWaiting();
    else if (jobs.length >= fetchFirstFrom) this.#nextTurn();
    else if (!this.#isStarting) this.#newTurn();
  }

  /**
   * A suspect waits until it can start alone. A second one would be lost with the first: it goes back, for a worker
   * that has room.
   */
  #keepApart(job: ClaimedJob, receivedAt: number): void {
    if (!this.#quarantine.isTaken) this.#quarantine.admit(job, receivedAt);
    else this.#giveBackUnharmed([job]);
  }

  /**
   * Start what can start. Handlers that end at once may make this a long turn, so the event loop gets its own in
   * between.
   */
  startWaiting(): void {
    if (this.#isStarting) return;
    let hasStarted = false;
    if (this.slots.isShared && this.slots.isClosedTo(this)) return;
    this.#isStarting = true;
    while (!this.#stopped && !this.#isHeld && this.slots.busy < this.concurrency && !this.#quarantine.isWatching) {
      const line = this.#nextLine();
      if (!line) break;
      const now = performance.now();
      if (hasStarted && now - this.#turnBeganAt > longestTurnMs) {
        this.#isStarting = false;
        this.#nextTurn();
        return;
      }
      const { receivedAt, jobs, next } = line.parcels[0]!;
      if (this.#leases.hasEnded(jobs[next]!.token, now) && !this.#hasListened) {
        this.#listenFirst();
        return;
      }
      const held = this.#heldOf(this.#take(line, line.registration.size), now);
      if (held.length > 0) this.#start(line, held, receivedAt);
      hasStarted = true;
    }
    this.#isStarting = false;
    this.#hasListened = false;
    if (this.#quarantine.waiting) this.#startSuspect(this.#quarantine.waiting);
  }

  /** A lease that seems to have ended may have been prolonged while the event loop was busy. */
  #listenFirst(): void {
    setTimeout(() => {
      this.#hasListened = true;
      this.#newTurn();
    }, hearingMs);
  }

  /**
   * Those whose lease has not ended. The others may run elsewhere by now: they go back, unless somebody has them
   * already.
   */
  #heldOf(jobs: ClaimedJob[], now: number): ClaimedJob[] {
    const late = jobs.filter(({ token }) => this.#leases.hasEnded(token, now));
    if (late.length === 0) return jobs;
    this.#giveBackUnharmed(late);
    return jobs.filter((job) => !late.includes(job));
  }

  /**
   * Only when nothing would be lost with it: nothing runs or waits, and every outcome is in the database. No claim is
   * on its way, since none is wanted.
   */
  #startSuspect({ job, receivedAt }: { readonly job: ClaimedJob; readonly receivedAt: number }): void {
    const line = this.#lines.get(job.type)!;
    const hasSlot =
      this.slots.busy < this.concurrency && line.running.calls < (line.registration.concurrency ?? Infinity);
    const isAlone = this.isIdle && this.#outbox.onTheirWay === 0 && this.slots.isLeftTo(this);
    if (!hasSlot || !(isAlone || this.#quarantine.isOverdue)) return;
    if (this.#leases.hasEnded(job.token, performance.now())) return this.#giveBackUnharmed(this.#quarantine.dismiss());
    this.#quarantine.watch();
    this.#start(line, [job], receivedAt);
  }

  /** Start when the event loop has turned. */
  #nextTurn(): void {
    if (this.#isStarting) return;
    this.#isStarting = true;
    setImmediate(() => this.#newTurn());
  }

  #newTurn(): void {
    this.#turnBeganAt = performance.now();
    this.#isStarting = false;
    this.startWaiting();
  }

  /** Of the lines that may start one more call, the one whose jobs have been here for longest. */
  #nextLine(): Line | undefined {
    let next: Line | undefined;
    for (const line of this.#lines.values()) {
      if (line.waiting === 0 || line.running.calls >= (line.registration.concurrency ?? Infinity)) continue;
      if (!next || line.parcels[0]!.place < next.parcels[0]!.place) next = line;
    }
    return next;
  }

  #start(line: Line, jobs: ClaimedJob[], receivedAt: number): void {
    this.slots.busy += 1;
    line.running.calls += 1;
    const run = new Run(
      line.registration,
      jobs,
      this.engine,
      this,
      this.#journal,
      this.stepObserver,
      this.middlewares,
      this.#liveLogs,
    );
    this.#runs.add(run);
    for (const job of jobs) {
      this.metrics?.move(metricNames.busy, { worker: this.settings.name, type: job.type }, 1);
      this.hooks.onStart(job);
    }
    run.start(this.tracing, run.startedAt - receivedAt);
  }

  #take(line: Line, most: number): ClaimedJob[] {
    const jobs: ClaimedJob[] = [];
    for (let parcel = line.parcels[0]; parcel && jobs.length < most; parcel = line.parcels[0]) {
      const taken = parcel.jobs.slice(parcel.next, parcel.next + most - jobs.length);
      jobs.push(...taken);
      parcel.next += taken.length;
      if (parcel.next === parcel.jobs.length) line.parcels.shift();
    }
    line.waiting -= jobs.length;
    this.#waiting -= jobs.length;
    return jobs;
  }

  onOutcome(run: Run, job: ClaimedJob, outcome: Outcome): void {
    const seconds = (performance.now() - run.startedAt) / 1000;
    if (this.metrics) {
      this.metrics.observe(
        metricNames.duration,
        { worker: this.settings.name, type: job.type, outcome: outcome.kind },
        seconds,
      );
      this.metrics.move(metricNames.busy, { worker: this.settings.name, type: job.type }, -1);
      this.metrics.move(metricNames.leases, { worker: this.settings.name }, -1);
    }
    this.#outbox.add(job, outcome);
    this.hooks.onOutcome(job, outcome, seconds);
    if (!run.hasReturned && run.openJobs.length === 0) this.#abandonLater(run);
    this.hooks.onChange();
  }

  onEnded(run: Run): void {
    clearTimeout(this.#lingering.get(run));
    this.#lingering.delete(run);
    this.#freeSlot(run);
  }

  /**
   * A handler that goes on although its jobs have ended keeps its slot for a while; then the slot is given to others.
   */
  #abandonLater(run: Run): void {
    this.#lingering.set(run, setTimeout(() => this.abandon(run), abandonAfterMs).unref());
  }

  /** Wait no longer for a handler. */
  abandon(run: Run): void {
    if (!this.#runs.has(run)) return;
    this.#lingering.delete(run);
    this.hooks.onAbandoned(run);
    this.#freeSlot(run);
  }

  #freeSlot(run: Run): void {
    const line = this.#lines.get(run.registration.definition.type);
    if (!line || !this.#runs.delete(run)) return;
    this.#callMs += smoothing * ((performance.now() - run.startedAt) / run.jobs.length - this.#callMs);
    this.slots.busy -= 1;
    line.running.calls -= 1;
    this.#quarantine.ended(run.jobs[0]);
    this.#changed();
  }

  #changed(): void {
    if (this.slots.isShared) return this.slots.freed();
    this.startWaiting();
    this.hooks.onChange();
  }

  /** Outcomes to report now; when there are any, `reported` must be told how it went. */
  takeSettlements(): Settlement[] {
    return this.#outbox.take();
  }

  /** A report has ended, but for what is left and must be sent again. */
  reported(left: readonly Settlement[] = []): void {
    this.#outbox.returned(left);
    if (this.#quarantine.waiting) this.startWaiting();
    this.slots.recorded(this);
  }

  /** Jobs that were taken away: tell their handlers, and report nothing on them. Returns those that had not started. */
  lose(lost: ReadonlySet<JobId>): ClaimedJob[] {
    for (const run of this.#runs) {
      for (const job of run.openJobs) {
        // One that its handler completed itself is not held any more either.
        if (lost.has(job.id) && !run.hasCompleted(job)) run.end(job, { kind: "lost" }, new LeaseLostError([job.id]));
      }
    }
    const waiting: ClaimedJob[] = [];
    for (const line of this.#lines.values()) {
      for (const parcel of line.parcels) {
        const kept = parcel.jobs.slice(parcel.next).filter((job) => !lost.has(job.id) || (waiting.push(job), false));
        line.waiting -= parcel.jobs.length - parcel.next - kept.length;
        parcel.jobs.splice(0, parcel.jobs.length, ...kept);
        parcel.next = 0;
      }
      line.parcels = line.parcels.filter((parcel) => parcel.jobs.length > 0);
    }
    this.#waiting -= waiting.length;
    waiting.push(...this.#quarantine.dismiss(lost));
    this.metrics?.move(metricNames.leases, { worker: this.settings.name }, -waiting.length);
    if (waiting.length > 0) this.#changed();
    return waiting;
  }

  /** Start nothing more; jobs that have not started go back unharmed. */
  stop(): void {
    this.#stopped = true;
    this.#releaseWaiting();
    this.hooks.onChange();
  }

  /** As `stop`, until `resume`. */
  hold(): void {
    this.#isHeld = true;
    this.#releaseWaiting();
    this.hooks.onChange();
  }

  /** Start again what can start. */
  resume(): void {
    this.#isHeld = false;
    this.#changed();
  }

  #releaseWaiting(): void {
    for (const line of this.#lines.values()) this.#giveBackUnharmed(this.#take(line, Infinity));
    this.#giveBackUnharmed(this.#quarantine.dismiss());
  }

  #giveBackUnharmed(jobs: readonly ClaimedJob[]): void {
    for (const [token, { ids }] of byToken(jobs)) this.#outbox.addUnstarted(token, ids);
    this.metrics?.move(metricNames.leases, { worker: this.settings.name }, -jobs.length);
  }

  /** The database has prolonged these. */
  prolonged(tokens: Iterable<string>, leaseMs: number, askedAt: number): void {
    for (const token of tokens) this.#leases.confirm(token, leaseMs, askedAt);
  }

  /** Tokens of everything held here. */
  tokens(): Map<string, HeldClaim> {
    const held: ClaimedJob[] = [];
    for (const run of this.#runs) held.push(...run.openJobs);
    for (const line of this.#lines.values()) for (const { jobs, next } of line.parcels) held.push(...jobs.slice(next));
    if (this.#quarantine.waiting) held.push(this.#quarantine.waiting.job);
    const tokens = byToken(held);
    this.#leases.keep(tokens);
    return tokens;
  }
}

const leaseMsOf = ({ leaseEndsAt, claimedAt }: ClaimedJob): number => leaseEndsAt.getTime() - claimedAt.getTime();

export function byToken(jobs: readonly ClaimedJob[]): Map<string, HeldClaim> {
  const tokens = new Map<string, HeldClaim>();
  for (const job of jobs) {
    const claim = tokens.get(job.token);
    if (claim) claim.ids.push(job.id);
    else tokens.set(job.token, { ids: [job.id], leaseMs: leaseMsOf(job) });
  }
  return tokens;
}
