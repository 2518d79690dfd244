import { Combine } from "../../db/combine.js";
import type { Claimed } from "../../db/decode.js";
import type { Engine } from "../../db/engine.js";
import { DatabaseUnavailableError } from "../../db/errors.js";
import type { ClaimOptions, ClaimedJob, Enqueued, JobId, NewJob, Settlement } from "../../db/types.js";
import { NoRoomError } from "../http/shares.js";

/** Several may be under way: a large one, or one that finds nothing at first, is not in the way of all that follow. */
const together = {
  maxRuns: 3,
  maxCalls: 500,
  maxSize: 4_000_000,
  isForAll: (error: unknown) => error instanceof DatabaseUnavailableError || error instanceof NoRoomError,
};

/** What claims in one statement may bring, in bytes; each may bring as much as it says. */
const maxClaimedBytes = 134_217_728;

/** A claim, and whether somebody still waits for it. */
interface WantedClaim {
  readonly options: ClaimOptions & { readonly maxBytes: number };
  readonly signal: AbortSignal;
}

/**
 * What the requests of one token have in common: those that come at the same time are one statement. One alone is what
 * it would be without this; and since whatever is refused is tried alone in the end, so are its errors.
 */
export class Calls {
  readonly #enqueues: Combine<NewJob, Enqueued>;
  readonly #claims: Combine<WantedClaim, Claimed>;
  readonly #settlements: Combine<readonly Settlement[], readonly JobId[]>;

  constructor(private readonly engine: Engine) {
    this.#enqueues = new Combine((jobs) => this.#enqueue(jobs), together);
    this.#claims = new Combine((claims) => this.#claim(claims), { ...together, maxSize: maxClaimedBytes });
    this.#settlements = new Combine((reports) => this.#settle(reports), together);
  }

  /** Append a job that waits for nobody: without a fingerprint and without a payload. */
  enqueue(job: NewJob, bytes: number): Promise<Enqueued> {
    return this.#enqueues.add(job, bytes);
  }

  async #enqueue(jobs: readonly NewJob[]): Promise<readonly Enqueued[]> {
    return jobs.length === 1 ? [await this.engine.enqueue(jobs[0]!)] : this.engine.enqueueEach(jobs);
  }

  /** Claim jobs. Each claim has tokens of its own, so that nobody prolongs the leases of others. */
  async claim(options: WantedClaim["options"], signal: AbortSignal): Promise<ClaimedJob[]> {
    const { jobs, more, busy } = await this.#claims.add({ options, signal }, options.maxBytes);
    // Somebody was at the same lanes for a moment; `engine.claim` has the patience to ask again.
    return jobs.length > 0 || !(more || busy) || signal.aborted ? [...jobs] : this.engine.claim(options);
  }

  async #claim(claims: readonly WantedClaim[]): Promise<readonly Claimed[]> {
    const wanted = claims.filter(({ signal }) => !signal.aborted).map(({ options }) => options);
    const got = wanted.length === 0 ? [] : (await this.engine.settleAndClaim([], wanted)).claims;
    let next = 0;
    return claims.map(({ options }) => (options === wanted[next] ? got[next++]! : nothing));
  }

  /** Report outcomes, all of them or none. Returns the ids that were no longer held. */
  settle(settlements: readonly Settlement[], bytes: number): Promise<readonly JobId[]> {
    return this.#settlements.add(settlements, bytes);
  }

  async #settle(reports: readonly (readonly Settlement[])[]): Promise<readonly (readonly JobId[])[]> {
    const ids = reports.map((report) => new Set(report.flatMap(({ jobs }) => jobs)));
    // Of one job in two of them it could not be told which was refused: they are tried apart.
    if (new Set(ids.flatMap((own) => [...own])).size < ids.reduce((sum, { size }) => sum + size, 0))
      throw new Error("two reports name the same job");
    const { refused } = await this.engine.settle(reports.flat());
    return ids.map((own) => refused.filter((id) => own.has(id)));
  }
}

const nothing: Claimed = { jobs: [], more: false, busy: false, limited: false };
