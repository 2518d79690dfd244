import type * as T from "../../db/types.js";
import { handOut } from "../ask.js";
import type { Cell } from "../cell.js";
import { isForeign, withHandles } from "../ways.js";
import { CellsEnqueueVerbs } from "./enqueue.js";
import type { Call } from "./verbs.js";

/** Jobs are handed out, to those who are no workers of the library. */
export abstract class CellsClaimVerbs extends CellsEnqueueVerbs {
  #turn = 0;

  override async claim(options: T.ClaimOptions = {}, call?: Call): Promise<T.ClaimedJob[]> {
    return this.#claimFrom(options, call, (cell, own, its) => cell.engine.claim(own, its));
  }

  /** From one cell after another, each time another one first, until there are enough. */
  async #claimFrom(
    { queues = ["default"], limit = 1, ...rest }: T.ClaimOptions,
    call: Call,
    claim: (cell: Cell, options: T.ClaimOptions, call: Call) => Promise<readonly T.ClaimedJob[]>,
  ): Promise<T.ClaimedJob[]> {
    await this.router.ready();
    const cells = this.router.list;
    const first = (this.#turn += 1) % cells.length;
    const jobs: T.ClaimedJob[] = [];
    const known = new Set<string>();
    let failure: unknown;
    let hasAnswered = false;
    for (const cell of [...cells.slice(first), ...cells.slice(0, first)]) {
      if (jobs.length >= limit) return jobs;
      try {
        const here = await this.ways.look(cell, queues);
        for (const queue of here) known.add(queue);
        if (here.length === 0) continue;
        const own = { ...rest, queues: here, limit: limit - jobs.length };
        for (const job of await this.#claimIn(cell, call, (at, its) => claim(at, own, its)))
          jobs.push(withHandles(cell, job, "id", "parent"));
        hasAnswered = true;
      } catch (error) {
        failure = error; // the others go on
      }
    }
    if (failure !== undefined && !hasAnswered) throw failure;
    if (jobs.length === 0 && failure === undefined && known.size < new Set(queues).size) await this.queuesCheck(queues);
    return jobs;
  }

  async #claimIn(
    cell: Cell,
    call: Call,
    claim: (cell: Cell, call: Call) => Promise<readonly T.ClaimedJob[]>,
  ): Promise<readonly T.ClaimedJob[]> {
    if (isForeign(call)) return this.ways.to(cell, call, claim);
    return handOut(cell, (isLate) =>
      this.ways.to(cell, call, async (at, own) => {
        const jobs = await claim(at, own);
        if (isLate()) for (const job of jobs) await at.engine.release(job, 0, own);
        return jobs;
      }),
    );
  }
}
