import type { Claimed } from "../db/decode.js";
import { encodeSettlements } from "../db/encode.js";
import type { Engine } from "../db/engine.js";
import { DatabaseUnavailableError, InvalidArgumentError, JobNotFoundError, PayloadError } from "../db/errors.js";
import type { ClaimOptions, ClaimedJob, JobId, Settlement } from "../db/types.js";
import { type Metrics, metricNames } from "../observe/metrics.js";
import type { Dispatcher } from "./dispatcher.js";
import { describeError } from "./outcome.js";
import type { Watch } from "./watch.js";
import type { WorkerSettings } from "./worker-options.js";

export interface FetcherHooks {
  /** Claimed jobs, before they are handed out. */
  readonly onClaimed: (jobs: readonly ClaimedJob[]) => void;
  /** Reports that were refused, because the job was no longer ours. */
  readonly onRefused: (ids: readonly JobId[]) => void;
  /** Outcomes that are in the database now. `delivered`: and who waits for these jobs knows. */
  readonly onReported: (settlements: readonly Settlement[], delivered: boolean) => void;
  readonly onError: (error: unknown) => void;
}

const roundTripsAtOnce = 2;
/** So many outcomes are worth a round trip of their own: the next claim is on its way meanwhile. */
const ownTripFrom = 200;
const busyPauseMs = 5;
const firstErrorPauseMs = 100;
const longestErrorPauseMs = 2000;

/**
 * The one that talks to the database: reports outcomes and claims more, both in the same round trip, two of them at a
 * time at most, so that the handlers work while the database does. When nothing is found it sleeps until somebody wakes
 * it, or until the next poll; of polls in vain the watch relieves it.
 */
export class Fetcher {
  #stopping = false;
  #hasGivenUp = false;
  #nextPollAt = 0;
  /** The next claim is one that others may relieve us of: nothing is known to wait. */
  #isPoll = false;
  #wakes = 0;
  #claiming = false;
  /** The last claim was not in vain. */
  #foundSome = false;
  /** The last claim met a limit that the end of a job may lift. */
  #isLimited = false;
  #errorPauseMs = firstErrorPauseMs;
  #sleepers: (() => void)[] = [];
  #running: Promise<unknown> | undefined;

  constructor(
    readonly engine: Engine,
    /** The engine for round trips that claim; there is never more than one of those. */
    readonly claiming: Engine,
    readonly dispatcher: Dispatcher,
    readonly settings: WorkerSettings,
    readonly metrics: Metrics | undefined,
    readonly watch: Pick<Watch, "relievedUntil">,
    readonly hooks: FetcherHooks,
    /** Queues to claim from, where not all of the settings are in this cell. */
    readonly queuesHere?: () => readonly string[],
  ) {}

  /**
   * Let the connection that claims plan its statements, by a claim of nothing. What fails here fails again, and is told
   * then.
   */
  async warmUp(): Promise<void> {
    await this.claiming.settleAndClaim([], [{ ...this.#base(), types: [], limit: 1000 }]).catch(() => {});
  }

  start(): void {
    this.#running = Promise.all(Array.from({ length: roundTripsAtOnce }, () => this.#loop()));
  }

  /** There may be jobs: look now. */
  wake(): void {
    this.#wakes += 1;
    this.#nextPollAt = 0;
    this.#isPoll = false;
    this.changed();
  }

  /** A slot is free, or an outcome is to be reported. */
  changed(): void {
    const sleepers = this.#sleepers;
    this.#sleepers = [];
    for (const wakeUp of sleepers) wakeUp();
  }

  /** Claim nothing more, report what is left, and end when everything has been reported. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.changed();
    await this.#running;
  }

  /** A report that fails from now on is not sent again: its lease will end, and somebody else gets the job. */
  giveUp(): void {
    this.#hasGivenUp = true;
  }

  async #loop(): Promise<void> {
    while (!(this.#stopping && this.dispatcher.isIdle)) {
      // Two claims at once would only meet on the same lanes. One that shares a round trip with a report costs next to
      // nothing.
      const isDue = performance.now() >= this.#dueAt || (this.#foundSome && this.dispatcher.reportDueInMs === 0);
      const mayClaim = !this.#stopping && !this.#claiming && isDue && this.queuesHere?.().length !== 0;
      const claims = mayClaim ? this.dispatcher.wanted(this.#base()) : [];
      const sharesTrip = claims.length > 0 && this.dispatcher.unreported < ownTripFrom;
      const settlements =
        sharesTrip || (claims.length === 0 && this.dispatcher.reportDueInMs === 0)
          ? this.dispatcher.takeSettlements()
          : [];
      if (claims.length === 0 && settlements.length === 0) await this.#sleepUntilDue();
      else await this.#roundTrip(settlements, claims);
    }
    this.changed();
  }

  get #dueAt(): number {
    return this.#isPoll ? Math.max(this.#nextPollAt, this.watch.relievedUntil) : this.#nextPollAt;
  }

  #base(): Omit<ClaimOptions, "types" | "limit"> {
    const { name, leaseMs } = this.settings;
    const queues = this.queuesHere?.() ?? this.settings.queues;
    return { queues, worker: name, ...(leaseMs === undefined ? {} : { leaseSeconds: leaseMs / 1000 }) };
  }

  async #roundTrip(
    settlements: readonly Settlement[],
    wanted: readonly { readonly claim: ClaimOptions; readonly release: () => void }[],
  ): Promise<void> {
    const startedAt = performance.now();
    const wakes = this.#wakes;
    if (wanted.length > 0) this.#claiming = true;
    try {
      const engine = wanted.length > 0 ? this.claiming : this.engine;
      const { refused, claims, delivered } = await engine.settleAndClaim(
        settlements,
        wanted.map(({ claim }) => claim),
      );
      this.#errorPauseMs = firstErrorPauseMs;
      if (refused.length > 0) this.hooks.onRefused(refused);
      const jobs = claims.flatMap((claim) => claim.jobs);
      this.#claimed(wanted);
      if (wanted.length > 0) this.dispatcher.claimEnded(jobs, isFull(wanted, claims), startedAt);
      if (settlements.length > 0) {
        this.dispatcher.reported();
        this.hooks.onReported(settlements, delivered);
      }
      if (settlements.length > 0 && this.#isLimited) this.wake(); // what has ended made room
      else if (wakes === this.#wakes) this.#plan(wanted, claims);
      if (jobs.length > 0) {
        this.hooks.onClaimed(jobs);
        this.dispatcher.accept(jobs, startedAt);
      }
      this.#measure(startedAt, wanted.length, jobs.length);
    } catch (error) {
      this.#claimed(wanted);
      if (wanted.length > 0) this.dispatcher.claimEnded([], false, startedAt);
      this.metrics?.count(metricNames.errors, { worker: this.settings.name });
      this.hooks.onError(error);
      await this.#recover(error, settlements);
    }
  }

  #claimed(wanted: readonly { readonly release: () => void }[]): void {
    if (wanted.length === 0) return;
    this.#claiming = false;
    for (const { release } of wanted) release();
    this.changed();
  }

  /**
   * When a claim was answered in full there may be more. When it found a few, the next one goes with the report on
   * them, so that a stream of jobs is not claimed one by one. When it found nothing, there is nothing to ask for until
   * the next poll. Whoever wakes us ends any pause.
   */
  #plan(wanted: readonly { readonly claim: ClaimOptions }[], claims: readonly Claimed[]): void {
    if (wanted.length === 0) return;
    this.#isLimited = claims.some(({ limited }) => limited);
    this.#foundSome = claims.some(({ jobs }) => jobs.length > 0);
    if (isFull(wanted, claims)) return;
    const untilTokensMs = Math.min(...claims.map(({ waitSeconds = Infinity }) => waitSeconds * 1000));
    const isBusy = claims.some(({ busy }) => busy);
    this.#isPoll = !isBusy && !this.#isLimited && untilTokensMs > this.settings.pollMs;
    this.#nextPollAt =
      performance.now() + (isBusy ? busyPauseMs : Math.min(this.settings.pollMs, Math.max(untilTokensMs, busyPauseMs)));
  }

  #measure(startedAt: number, claims: number, jobs: number): void {
    const ms = performance.now() - startedAt;
    this.dispatcher.noteRoundTrip(ms);
    if (!this.metrics) return;
    this.metrics.observe(metricNames.fetch, { worker: this.settings.name }, ms / 1000);
    if (claims > 0)
      this.metrics.count(metricNames.polls, { worker: this.settings.name, found: jobs > 0 ? "jobs" : "nothing" });
  }

  /**
   * A report that failed is sent again: what was recorded the first time is refused the second, which changes nothing.
   * Unless the database was absent it is sent job by job, so that one it will never accept does not hold up the others.
   */
  async #recover(error: unknown, settlements: readonly Settlement[]): Promise<void> {
    const left = error instanceof DatabaseUnavailableError ? settlements : await this.#reportEach(settlements);
    if (settlements.length > 0) this.dispatcher.reported(this.#hasGivenUp ? [] : left);
    await this.#pause(this.#errorPauseMs * (0.5 + Math.random() / 2)); // not all workers at the same moment
    this.#errorPauseMs = Math.min(this.#errorPauseMs * 1.5, longestErrorPauseMs);
  }

  /** Until the time has passed, or the heartbeat, which connects by itself, says that the database is there again. */
  async #pause(ms: number): Promise<void> {
    const wakes = this.#wakes;
    for (const end = performance.now() + ms; performance.now() < end && wakes === this.#wakes;)
      await this.#sleep(end - performance.now());
  }

  /** Returns what could not be reported, and may be later. */
  async #reportEach(settlements: readonly Settlement[]): Promise<Settlement[]> {
    const left: Settlement[] = [];
    for (const settlement of settlements.flatMap(oneByOne)) {
      try {
        await this.#reportOne(settlement);
      } catch (error) {
        this.hooks.onError(error);
        left.push(settlement);
      }
    }
    return left;
  }

  async #reportOne(settlement: Settlement): Promise<void> {
    try {
      const { refused } = await this.engine.settle([settlement]);
      if (refused.length > 0) this.hooks.onRefused(refused);
    } catch (error) {
      if (error instanceof JobNotFoundError) this.hooks.onRefused(settlement.jobs);
      else if (isStorable(settlement, error)) throw error;
      else await this.engine.settle([unstorable(settlement, error)]);
    }
  }

  /** Until something changes, the next poll is due, or outcomes have waited for others long enough. */
  #sleepUntilDue(): Promise<void> {
    const now = performance.now();
    const untilPoll = !this.#stopping && this.#dueAt > now ? this.#dueAt - now : this.settings.pollMs;
    return this.#sleep(Math.min(untilPoll, this.dispatcher.reportDueInMs));
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#sleepers.push(() => (clearTimeout(timer), resolve()));
    });
  }
}

/** There may be more. */
function isFull(wanted: readonly { readonly claim: ClaimOptions }[], claims: readonly Claimed[]): boolean {
  return wanted.some(({ claim }, i) => (claims[i]?.jobs.length ?? 0) >= (claim.limit ?? 1) || claims[i]?.more === true);
}

function oneByOne(settlement: Settlement): Settlement[] {
  return settlement.jobs.map((job, i) => ({
    ...settlement,
    jobs: [job],
    ...("results" in settlement ? { results: [settlement.results?.[i]] } : {}),
    ...("logs" in settlement ? { logs: [settlement.logs?.[i] ?? null] } : {}),
  }));
}

/** Whether sending it again may help: not when something is wrong with a value, such as a result that is not JSON. */
function isStorable(settlement: Settlement, refusal: unknown): boolean {
  try {
    encodeSettlements([settlement]);
    return !(refusal instanceof InvalidArgumentError || refusal instanceof PayloadError);
  } catch {
    return false;
  }
}

/** What cannot be stored is a failure of its handler; one that returns too much would do so again. */
function unstorable({ token, jobs, outcome }: Settlement, refusal: unknown): Settlement {
  const error = describeError(refusal);
  const isFinal = outcome === "failed" || refusal instanceof PayloadError;
  return {
    token,
    jobs,
    outcome: isFinal ? "failed" : "retryLater",
    error: { ...error, message: `the outcome could not be stored: ${error.message}` },
  };
}
