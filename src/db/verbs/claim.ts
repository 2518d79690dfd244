import { type ClaimColumns, type Claimed, decodeClaims } from "../decode.js";
import { checkKeys } from "../encode.js";
import type { CallOptions } from "../foreign.js";
import type { ClaimOptions, ClaimedJob } from "../types.js";
import { EnqueueVerbs } from "./enqueue.js";

/**
 * A claim that promoted or reaped does not wait for busy lanes, because it holds what others may wait for; the next one
 * does. One that met lanes without jobs only, of very many, looks elsewhere the next time.
 */
const maxClaimTries = 10;
export const claimKeys = new Set<string>([
  "queues",
  "types",
  "limit",
  "groupLimit",
  "maxBytes",
  "worker",
  "leaseSeconds",
  "leaseFactor",
  "leaseCapSeconds",
  "trackStart",
] satisfies (keyof ClaimOptions)[]);

/** Jobs are handed out (`sql/claim`). */
export abstract class ClaimVerbs extends EnqueueVerbs {
  /**
   * Claim jobs. An empty array when there is nothing to do, or, inside a transaction of yours, when others are claiming
   * just now.
   */
  async claim(options: ClaimOptions = {}, call?: CallOptions): Promise<ClaimedJob[]> {
    checkKeys(options, claimKeys);
    for (let tries = 1; ; tries += 1) {
      const { jobs, busy, more } = await this.claimOnce(options, call);
      const mayHaveMore = more || (busy && !call?.tx);
      if (jobs.length > 0 || !mayHaveMore || tries === maxClaimTries) return jobs;
    }
  }

  protected async claimOnce(options: ClaimOptions, call: CallOptions | undefined): Promise<Claimed> {
    const [row] = await this.db.rows(
      "job_claim_json",
      "select :job_claim_json($1::text[], $2::text[], $3::int, $4::text, $5::float8, $6::float8, $7::float8, $8::bigint, $9::boolean, $10::boolean, $11::int) as claims",
      [
        options.queues ?? ["default"],
        options.types ?? null,
        options.limit ?? 1,
        options.worker ?? null,
        options.leaseSeconds ?? null,
        options.leaseFactor ?? null,
        options.leaseCapSeconds ?? null,
        options.maxBytes ?? 67_108_864,
        options.trackStart ?? false,
        call?.tx === undefined,
        options.groupLimit ?? null,
      ],
      call,
    );
    return decodeClaims((row?.["claims"] ?? []) as ClaimColumns[]);
  }
}
