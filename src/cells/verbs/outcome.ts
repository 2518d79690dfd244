import type { Claimed } from "../../db/decode.js";
import { CellError } from "../../db/errors.js";
import type * as T from "../../db/types.js";
import { leaveOut, partial } from "../ask.js";
import type { Cell } from "../cell.js";
import { handleOf } from "../handle.js";
import { sum } from "../merge.js";
import { promptly } from "../promptly.js";
import { CellsClaimVerbs } from "./claim.js";
import type { Call } from "./verbs.js";

/** What became of claimed jobs is told to the cell that handed them out. */
export abstract class CellsOutcomeVerbs extends CellsClaimVerbs {
  /** What one that does not answer holds is unknown and not lost: where some token is nowhere else, that is told. */
  override async claimExtend(
    tokens: readonly string[],
    seconds?: number,
    call?: Call,
  ): Promise<Map<string, { leaseEndsAt: Date; jobIds: T.JobId[] }>> {
    const extended = new Map<string, { leaseEndsAt: Date; jobIds: T.JobId[] }>();
    const { answer: found, missing } = await partial(() =>
      this.ways.all(call, (at, own) => promptly(at.engine).claimExtend(tokens, seconds, own)),
    );
    for (const { cell, answer } of found)
      for (const [token, { leaseEndsAt, jobIds }] of answer)
        extended.set(token, { leaseEndsAt, jobIds: jobIds.map((id) => handleOf(cell.name, id)) });
    if (!tokens.every((token) => extended.has(token))) leaveOut(missing);
    return extended;
  }

  async #held<R>(job: T.Held, call: Call, ask: (cell: Cell, job: T.Held, call: Call) => Promise<R>): Promise<R> {
    return this.ways.job(job?.id, call, (cell, id, own) => ask(cell, { token: job.token, id }, own));
  }

  override async start(job: T.Held, call?: Call): Promise<void> {
    return this.#held(job, call, (cell, held, own) => cell.engine.start(held, own));
  }

  override async complete(job: T.Held, result?: unknown, call?: Call): Promise<void> {
    return this.#held(job, call, (cell, held, own) => cell.engine.complete(held, result, own));
  }

  override async completeMany(
    token: string,
    handles: readonly T.JobId[],
    results?: readonly unknown[],
    call?: Call,
  ): Promise<T.JobId[]> {
    const done = await this.ways.jobs(handles, call, (cell, ids, own) =>
      cell.engine.completeMany(
        token,
        ids,
        results && ids.map((id) => results[handles.indexOf(handleOf(cell.name, id))]),
        own,
      ),
    );
    return done.flatMap(({ cell, answer }) => answer.map((id) => handleOf(cell.name, id)));
  }

  override async fail(job: T.Held, error?: T.JobError, call?: Call): Promise<void> {
    return this.#held(job, call, (cell, held, own) => cell.engine.fail(held, error, own));
  }

  override async retryLater(job: T.Held, error?: T.JobError, delaySeconds?: number, call?: Call): Promise<void> {
    return this.#held(job, call, (cell, held, own) => cell.engine.retryLater(held, error, delaySeconds, own));
  }

  override async release(job: T.Held, delaySeconds = 0, call?: Call): Promise<void> {
    return this.#held(job, call, (cell, held, own) => cell.engine.release(held, delaySeconds, own));
  }

  override async deadLetter(job: T.Held, queue: string, error?: T.JobError, call?: Call): Promise<void> {
    return this.#held(job, call, (cell, held, own) => cell.engine.deadLetter(held, queue, error, own));
  }

  override async setVisibility(job: T.Held, seconds: number, call?: Call): Promise<Date> {
    return this.#held(job, call, (cell, held, own) => cell.engine.setVisibility(held, seconds, own));
  }

  override async settle(
    settlements: readonly T.Settlement[],
    claim?: T.ClaimOptions,
    call?: Call,
  ): Promise<{ refused: T.JobId[]; claimed: T.ClaimedJob[] }> {
    const parts = new Map<Cell, T.Settlement[]>();
    for (const settlement of settlements) {
      const { cell } = await this.router.jobAt(settlement.jobs[0] ?? "");
      const jobs = await Promise.all(settlement.jobs.map((handle) => this.#idIn(cell, handle)));
      parts.set(cell, [...(parts.get(cell) ?? []), { ...settlement, jobs } as T.Settlement]);
    }
    const refused = await Promise.all(
      [...parts].map(async ([cell, own]) => {
        const answer = await this.ways.to(cell, call, (at, its) => at.engine.settle(own, undefined, its));
        return answer.refused.map((id) => handleOf(cell.name, id));
      }),
    );
    return { refused: refused.flat(), claimed: claim ? await this.claim(claim, call) : [] };
  }

  async #idIn(cell: Cell, handle: T.JobId): Promise<T.JobId> {
    const at = await this.router.jobAt(handle);
    if (at.cell === cell) return at.id;
    throw new CellError(
      `job ${handle} is not one of cell "${cell.name}"`,
      "a claim holds jobs of one cell: report those of each by themselves",
      undefined,
      "foreign",
      at.cell.name,
    );
  }

  override async settleAndClaim(
    settlements: readonly T.Settlement[],
    claims: readonly T.ClaimOptions[],
    call?: Call,
  ): Promise<{ refused: T.JobId[]; claims: Claimed[]; delivered: boolean }> {
    const { refused } = await this.settle(settlements, undefined, call);
    const claimed: Claimed[] = [];
    for (const options of claims)
      claimed.push({ jobs: await this.claim(options, call), more: false, busy: false, limited: false });
    return { refused, claims: claimed, delivered: false };
  }

  override async progressPut(job: T.Held, value: unknown, call?: Call): Promise<void> {
    return this.#held(job, call, (cell, held, own) => cell.engine.progressPut(held, value, own));
  }

  override async breakerReset(
    which: { readonly queue?: string; readonly type?: string } = {},
    call?: Call,
  ): Promise<number> {
    return which.queue === undefined
      ? sum(await this.ways.all(call, (cell, own) => cell.engine.breakerReset(which, own)))
      : sum(await this.ways.everywhere(which.queue, call, (cell, own) => cell.engine.breakerReset(which, own)));
  }
}
