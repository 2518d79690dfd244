import { checkList } from "../check-options.js";
import { type ClaimColumns, type Claimed, asDate, decodeClaims } from "../decode.js";
import {
  checkId,
  checkKeys,
  checkSeconds,
  checkToken,
  encodeError,
  encodeHeld,
  encodeIds,
  encodeSettlements,
  toJson,
  toJsonList,
} from "../encode.js";
import { LeaseLostError } from "../errors.js";
import type { CallOptions } from "../foreign.js";
import { bounds } from "../limits.js";
import type { ClaimOptions, ClaimedJob, Held, JobError, JobId, RunningLog, Settlement } from "../types.js";
import { ClaimVerbs, claimKeys } from "./claim.js";

const settlementKeys = new Set([
  "token",
  "outcome",
  "jobs",
  "results",
  "logs",
  "error",
  "delaySeconds",
  "waits",
  "steps",
]);

/** What becomes of a job that somebody holds (`sql/outcome`). */
export abstract class OutcomeVerbs extends ClaimVerbs {
  /** Prolong leases. Returns the ids of the jobs each token still holds; a missing token or job is lost. */
  async claimExtend(
    tokens: readonly string[],
    seconds = 30,
    call?: CallOptions,
  ): Promise<Map<string, { leaseEndsAt: Date; jobIds: JobId[] }>> {
    const rows = await this.db.rows(
      "claim_extend",
      "select token, lease_ends_at, to_json(job_ids::text[]) as job_ids from :claim_extend($1::uuid[], $2::float8)",
      [tokens.map(checkToken), seconds],
      call,
    );
    return new Map(
      rows.map((row) => [
        String(row["token"]),
        { leaseEndsAt: asDate(row["lease_ends_at"])!, jobIds: row["job_ids"] as JobId[] },
      ]),
    );
  }

  /** Say that work on a job has begun; see `ClaimOptions.trackStart`. */
  async start(job: Held, call?: CallOptions): Promise<void> {
    await this.#report(
      "job_start",
      "select to_json(:job_start($1::uuid, $2::bigint[])::text[]) as refused",
      job,
      [],
      call,
    );
  }

  /** Record success. Throws LeaseLostError when the token no longer holds the job. */
  async complete(job: Held, result?: unknown, call?: CallOptions): Promise<void> {
    await this.#report(
      "job_complete",
      "select to_json(:job_complete($1::uuid, $2::bigint[], $3::json)::text[]) as refused",
      job,
      [result === undefined ? null : `[${toJson(result, "result", bounds.resultBytes)}]`],
      call,
    );
  }

  /** Record success for many jobs of one claim. Returns the ids that the token no longer held. */
  async completeMany(
    token: string,
    ids: readonly JobId[],
    results?: readonly unknown[],
    call?: CallOptions,
  ): Promise<JobId[]> {
    const [row] = await this.db.rows(
      "job_complete",
      "select to_json(:job_complete($1::uuid, $2::bigint[], $3::json)::text[]) as refused",
      [checkToken(token), encodeIds(ids), results ? toJsonList(results, "results", bounds.resultBytes) : null],
      call,
    );
    return (row?.["refused"] ?? []) as JobId[];
  }

  /** The job failed for good. */
  async fail(job: Held, error?: JobError, call?: CallOptions): Promise<void> {
    await this.#report(
      "job_fail",
      "select to_json(:job_fail($1::uuid, $2::bigint[], $3::json)::text[]) as refused",
      job,
      [encodeError(error)],
      call,
    );
  }

  /** The attempt failed; try again after the policy's delay, or an explicit one. */
  async retryLater(job: Held, error?: JobError, delaySeconds?: number, call?: CallOptions): Promise<void> {
    await this.#report(
      "job_retry_later",
      "select to_json(:job_retry_later($1::uuid, $2::bigint[], $3::json, $4::float8)::text[]) as refused",
      job,
      [encodeError(error), delaySeconds === undefined ? null : checkSeconds("delaySeconds", delaySeconds)],
      call,
    );
  }

  /** Give the job back unharmed: the same attempt again. */
  async release(job: Held, delaySeconds = 0, call?: CallOptions): Promise<void> {
    await this.#report(
      "job_release",
      "select to_json(:job_release($1::uuid, $2::bigint[], $3::float8)::text[]) as refused",
      job,
      [checkSeconds("delaySeconds", delaySeconds)],
      call,
    );
  }

  /** Close the job as failed and put a copy into another queue, in one transaction. */
  async deadLetter(job: Held, queue: string, error?: JobError, call?: CallOptions): Promise<void> {
    await this.#report(
      "job_dead_letter",
      "select to_json(:job_dead_letter($1::uuid, $2::bigint[], $3::text, $4::json)::text[]) as refused",
      job,
      [queue, encodeError(error)],
      call,
    );
  }

  /** Give one job of a claim its own end of lease; 0 ends it at once. */
  async setVisibility(job: Held, seconds: number, call?: CallOptions): Promise<Date> {
    const [row] = await this.db.rows(
      "job_set_visibility",
      "select :job_set_visibility($1::uuid, $2::bigint, $3::float8) as until",
      [...encodeHeld(job), seconds],
      call,
    );
    if (!row?.["until"]) throw new LeaseLostError([job.id]);
    return asDate(row["until"])!;
  }

  /** Report several outcomes, and claim more in the same round trip if asked. */
  async settle(
    settlements: readonly Settlement[],
    claim?: ClaimOptions,
    call?: CallOptions,
  ): Promise<{ refused: JobId[]; claimed: ClaimedJob[] }> {
    const { refused, claims } = await this.settleAndClaim(settlements, claim ? [claim] : [], call);
    return { refused, claimed: claims.flatMap(({ jobs }) => jobs) };
  }

  /**
   * Report several outcomes and make several claims, all in one round trip. Busy lanes are not waited for. `delivered`:
   * what waited for these jobs was told of their ends in the same transaction.
   */
  async settleAndClaim(
    settlements: readonly Settlement[],
    claims: readonly ClaimOptions[],
    call?: CallOptions,
  ): Promise<{ refused: JobId[]; claims: Claimed[]; delivered: boolean }> {
    checkList(settlements, "settlements");
    for (const claim of claims) checkKeys(claim, claimKeys);
    const [only] = claims;
    if (settlements.length === 0 && claims.length === 1 && only)
      return { refused: [], claims: [await this.claimOnce(only, call)], delivered: false };
    for (const settlement of settlements) {
      checkKeys(settlement, settlementKeys);
      checkToken(settlement.token);
      checkList(settlement.jobs, "jobs");
      settlement.jobs.forEach(checkId);
      if ("delaySeconds" in settlement && settlement.delaySeconds !== undefined)
        checkSeconds("delaySeconds", settlement.delaySeconds);
    }
    const [row] = await this.db.rows(
      "job_settle",
      "select :job_settle($1::json, $2::json, $3::boolean) as settled",
      [encodeSettlements(settlements), toJson(claims, "claims"), call?.tx === undefined],
      call,
    );
    const settled = row?.["settled"] as { refused: JobId[]; claims: ClaimColumns[][]; delivered: boolean };
    return { ...settled, claims: settled.claims.map(decodeClaims) };
  }

  /** Leave a value for others, and for the job's next attempt. */
  async progressPut(job: Held, value: unknown, call?: CallOptions): Promise<void> {
    const [row] = await this.db.rows(
      "progress_put",
      "select :progress_put($1::uuid, $2::bigint, $3::json) as held",
      [...encodeHeld(job), toJson(value, "progress", bounds.progressBytes)],
      call,
    );
    if (!row?.["held"]) throw new LeaseLostError([job.id]);
  }

  /** Tell what running jobs have logged lately. Those that their tokens do not hold are left out. */
  async logPut(logs: readonly RunningLog[], call?: CallOptions): Promise<void> {
    await this.db.rows(
      "log_put",
      "select :log_put($1::json)",
      [JSON.stringify(logs.map(({ token, id, lines }) => ({ token, job: id, lines })))],
      call,
    );
  }

  /**
   * Close circuit breakers and forget what they have counted: all, or those of a queue, a type, or both. Returns how
   * many.
   */
  async breakerReset(
    which: { readonly queue?: string; readonly type?: string } = {},
    call?: CallOptions,
  ): Promise<number> {
    checkKeys(which, new Set(["queue", "type"]));
    return this.db.count(
      "breaker_reset",
      "select :breaker_reset($1::text, $2::text) as n",
      [which.queue ?? null, which.type ?? null],
      call,
    );
  }

  async #report(name: string, text: string, job: Held, rest: unknown[], call: CallOptions | undefined): Promise<void> {
    const [token, id] = encodeHeld(job);
    const [row] = await this.db.rows(name, text, [token, `{${id}}`, ...rest], call);
    const refused = (row?.["refused"] ?? []) as JobId[];
    if (refused.length > 0) throw new LeaseLostError(refused);
  }
}
