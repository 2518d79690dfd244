import type { Engine } from "../db/engine.js";
import { DatabaseUnavailableError, InvalidArgumentError, MillraceError } from "../db/errors.js";
import type { ClaimOptions, ClaimedJob, JobId, Settlement } from "../db/types.js";
import { type Metrics, metricNames } from "../observe/metrics.js";
import type { Dispatcher } from "./dispatcher.js";
import type { WorkerSettings } from "./worker-options.js";

export interface FetcherHooks {
  /** Claimed jobs, before they are handed out. */
  readonly onClaimed: (jobs: readonly ClaimedJob[]) => void;
  /** Reports that were refused, because the job was no longer ours. */
  readonly onRefused: (ids: readonly JobId[]) => void;
  readonly onError: (error: unknown) => void;
}

const roundTripsAtOnce = 2;
const busyPauseMs = 5;
const reportDelayMs = 5;
const firstErrorPauseMs = 100;
const longestErrorPauseMs = 5000;

/**
 * The one that talks to the database: reports outcomes and claims more, both in the same round trip, two of them at a time at most,
 * so that the handlers work while the database does. When nothing is found it sleeps until somebody wakes it, or until the next poll.
 */
export class Fetcher {
  #stopping = false;
  #nextPollAt = 0;
  #claiming = false;
  #errorPauseMs = firstErrorPauseMs;
  #sleepers: (() => void)[] = [];
  #running: Promise<unknown> | undefined;

  constructor(
    readonly engine: Engine,
    readonly dispatcher: Dispatcher,
    readonly settings: WorkerSettings,
    readonly metrics: Metrics | undefined,
    readonly hooks: FetcherHooks,
  ) {}

  start(): void {
    this.#running = Promise.all(Array.from({ length: roundTripsAtOnce }, () => this.#loop()));
  }

  /** There may be jobs: look now. */
  wake(): void {
    this.#nextPollAt = 0;
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

  async #loop(): Promise<void> {
    while (!(this.#stopping && this.dispatcher.isIdle)) {
      // Two claims at once would only meet on the same lanes.
      const mayClaim = !this.#stopping && !this.#claiming && performance.now() >= this.#nextPollAt;
      const claims = mayClaim ? this.dispatcher.wanted(this.#base()) : [];
      const settlements = claims.length > 0 || this.dispatcher.isReportDue ? this.dispatcher.takeSettlements() : [];
      if (claims.length === 0 && settlements.length === 0) await this.#sleep();
      else await this.#roundTrip(settlements, claims);
    }
    this.changed();
  }

  #base(): Omit<ClaimOptions, "types" | "limit"> {
    return { queues: this.settings.queues, worker: this.settings.name, leaseSeconds: this.settings.leaseMs / 1000 };
  }

  async #roundTrip(settlements: readonly Settlement[], wanted: readonly { readonly claim: ClaimOptions; readonly release: () => void }[]): Promise<void> {
    const startedAt = performance.now();
    if (wanted.length > 0) this.#claiming = true;
    try {
      const { refused, claims } = await this.engine.settleAndClaim(
        settlements,
        wanted.map(({ claim }) => claim),
      );
      this.#errorPauseMs = firstErrorPauseMs;
      if (refused.length > 0) this.hooks.onRefused(refused);
      const jobs = claims.flatMap((claim) => claim.jobs);
      this.#claimed(wanted);
      this.#plan(wanted, claims);
      if (jobs.length > 0) {
        this.hooks.onClaimed(jobs);
        this.dispatcher.accept(jobs);
      }
      this.#measure(startedAt, wanted.length, jobs.length);
    } catch (error) {
      this.#claimed(wanted);
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

  /** When every claim was answered in full there may be more; otherwise there is nothing left to ask for until the next poll. */
  #plan(wanted: readonly { readonly claim: ClaimOptions }[], claims: readonly { readonly jobs: readonly ClaimedJob[]; readonly busy: boolean }[]): void {
    if (wanted.length === 0) return;
    const isFull = wanted.some(({ claim }, i) => (claims[i]?.jobs.length ?? 0) > 0 && claims[i]!.jobs.length >= (claim.limit ?? 1));
    if (isFull) return;
    const foundSome = claims.some(({ jobs }) => jobs.length > 0);
    const pause = claims.some(({ busy }) => busy) ? busyPauseMs : foundSome ? 0 : this.settings.pollMs;
    if (pause > 0) this.#nextPollAt = performance.now() + pause;
  }

  #measure(startedAt: number, claims: number, jobs: number): void {
    const ms = performance.now() - startedAt;
    this.dispatcher.noteRoundTrip(ms);
    if (!this.metrics) return;
    this.metrics.observe(metricNames.fetch, { worker: this.settings.name }, ms / 1000);
    if (claims > 0) this.metrics.count(metricNames.polls, { worker: this.settings.name, found: jobs > 0 ? "jobs" : "nothing" });
  }

  /**
   * A report that failed is sent again: what was recorded the first time is refused the second, which changes nothing.
   * One that the database will never accept is sent job by job, so that it does not hold up the others.
   */
  async #recover(error: unknown, settlements: readonly Settlement[]): Promise<void> {
    const isHopeless = error instanceof MillraceError && !(error instanceof DatabaseUnavailableError);
    if (isHopeless && settlements.length > 0) {
      for (const settlement of settlements) await this.#reportAlone(settlement);
      return;
    }
    this.dispatcher.giveBack(settlements);
    await new Promise((resolve) => setTimeout(resolve, this.#errorPauseMs));
    this.#errorPauseMs = Math.min(this.#errorPauseMs * 2, longestErrorPauseMs);
  }

  async #reportAlone(settlement: Settlement): Promise<void> {
    for (const job of settlement.jobs) {
      const { refused } = await this.#settleOne({
        ...settlement,
        jobs: [job],
        ...("results" in settlement ? { results: [settlement.results?.[settlement.jobs.indexOf(job)]] } : {}),
      } as Settlement);
      if (refused.length > 0) this.hooks.onRefused(refused);
    }
  }

  async #settleOne(settlement: Settlement): Promise<{ refused: JobId[] }> {
    try {
      return await this.engine.settle([settlement]);
    } catch (error) {
      if (!(error instanceof InvalidArgumentError)) throw error;
      const failure = { message: `the outcome could not be stored: ${error.message}` };
      return this.engine.settle([{ token: settlement.token, outcome: "retry", jobs: settlement.jobs, error: failure }]);
    }
  }

  /** Until something changes, or the next poll is due. */
  #sleep(): Promise<void> {
    return new Promise((resolve) => {
      const untilPoll = Math.max(1, Math.min(this.#nextPollAt - performance.now(), this.settings.pollMs));
      const due = this.dispatcher.hasOutcomes ? reportDelayMs : this.#stopping || this.#claiming ? this.settings.pollMs : untilPoll;
      const timer = setTimeout(resolve, due);
      this.#sleepers.push(() => (clearTimeout(timer), resolve()));
    });
  }
}
