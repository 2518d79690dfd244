import type { Engine } from "../../db/engine.js";
import { QueueNotFoundError } from "../../db/errors.js";
import type { CallOptions } from "../../db/foreign.js";
import type { LeftFilter } from "../../db/move-engine.js";
import type * as T from "../../db/types.js";
import { chosen } from "../ask.js";
import { type Carrying, type InCell, carryLeft, countLeft } from "../carry.js";
import type { Cell } from "../cell.js";
import { handleOf, splitHandle } from "../handle.js";
import { sum } from "../merge.js";
import { isForeign } from "../ways.js";
import { CellsOutcomeVerbs } from "./outcome.js";
import type { Call } from "./verbs.js";

/** What is decided on jobs, wherever they are. */
export abstract class CellsHoldVerbs extends CellsOutcomeVerbs {
  override async cancel(
    handles: readonly T.JobId[],
    because?: string,
    call: CallOptions & Pick<T.DecisionNote, "by"> = {},
  ): Promise<number> {
    return sum(await this.ways.jobs(handles, call, (cell, ids, own) => cell.engine.cancel(ids, because, own)));
  }

  override async cancelWhere(filter: T.CancelFilter, call?: Call): Promise<number> {
    return sum(await this.ways.lookFor(filter?.queue, call, (cell, own) => cell.engine.cancelWhere(filter, own)));
  }

  override async retry(
    attempts: number,
    which: ({ readonly ids: readonly T.JobId[] } | { readonly type: string; readonly queue?: string }) &
      T.DecisionNote & {
        readonly perSecond?: number;
        readonly startAt?: Date | string;
        readonly skipFinished?: boolean;
      },
    call?: Call,
  ): Promise<number> {
    const done =
      "ids" in which
        ? await this.ways.jobs(which.ids, call, (cell, ids, own) =>
            this.#retryIn(cell, attempts, { ...which, ids }, own, call),
          )
        : await this.ways.lookFor(which.queue, call, (cell, own) => this.#retryIn(cell, attempts, which, own, call));
    return sum(done);
  }

  /** One that was carried before is left alone, as one that was discarded. */
  async #retryIn(
    cell: Cell,
    attempts: number,
    which: Parameters<Engine["retry"]>[1],
    own: Call,
    given: Call,
  ): Promise<number> {
    if (isForeign(given)) return cell.engine.retry(attempts, which, own);
    const hasMoved = (await cell.engine.moves.list()).some(({ drainedAt }) => drainedAt !== null);
    const skipFinished = which.skipFinished === true || hasMoved;
    const retried = await cell.engine.retry(attempts, { ...which, skipFinished }, own);
    return retried + (hasMoved ? await this.#carry(cell, which, { ...which, attempts }, given) : 0);
  }

  /** Failed jobs that a queue has left behind in a cell, into the one that it has moved to. */
  async #carry(cell: Cell, filter: LeftFilter, how: Carrying, call: Call): Promise<number> {
    // in our own transaction: it may have locks that another connection would wait for
    const inCell: InCell = (at, ask) => this.ways.to(at, call, (_, own) => ask(own));
    return carryLeft(cell, (name, queue) => this.router.moved(queue, name), inCell, filter, how);
  }

  /** Cell after cell: where one has no more, the next page begins with the next cell. */
  override async failureRetry(which: T.FailureRetry, call?: Call): Promise<T.FailuresRetried> {
    const { jobs, next } = await this.#inTurn(which, (cell, own) =>
      this.ways.to(cell, call, async (at, its) => {
        const answer = await at.engine.failureRetry(own, its);
        if (answer.next !== null || isForeign(call)) return answer;
        const carried = which.dryRun
          ? await countLeft(at, which)
          : await this.#carry(at, which, { ...which, attempts: which.attempts ?? 1 }, call);
        return { ...answer, jobs: answer.jobs + carried };
      }),
    );
    return { jobs, next };
  }

  override async replay(which: T.Replay, call?: Call): Promise<T.Replayed> {
    const { jobs, next } = await this.#inTurn(which, (cell, own) =>
      this.ways.to(cell, call, (at, its) => at.engine.replay(own, its)),
    );
    return { jobs, next };
  }

  async #inTurn<W extends { readonly after?: T.JobId; readonly queue?: string }>(
    which: W,
    ask: (cell: Cell, which: W) => Promise<{ readonly jobs: number; readonly next: W | null }>,
  ): Promise<{ readonly jobs: number; readonly next: W | null }> {
    await this.router.ready();
    const cells = chosen(this.router.list).toSorted((a, b) => (a.name < b.name ? -1 : 1));
    const from = which.after === undefined ? undefined : splitHandle(which.after);
    const at = from?.cell === undefined ? 0 : cells.findIndex(({ name }) => name === from.cell);
    const cell = cells[Math.max(at, 0)]!;
    const { after: _after, ...rest } = which;
    const own = { ...rest, ...(from === undefined || from.id === "0" ? {} : { after: from.id }) } as W;
    const { jobs, next } = await ask(cell, own).catch((error: unknown) => {
      if (error instanceof QueueNotFoundError) return { jobs: 0, next: null };
      throw error;
    });
    if (next !== null) return { jobs, next: { ...next, after: handleOf(cell.name, next.after ?? "0") } };
    const following = cells[cells.indexOf(cell) + 1];
    return { jobs, next: following ? ({ ...rest, after: handleOf(following.name, "0") } as W) : null };
  }

  override async discard(handles: readonly T.JobId[], note: T.DecisionNote = {}, call?: Call): Promise<number> {
    return sum(await this.ways.jobs(handles, call, (cell, ids, own) => cell.engine.discard(ids, note, own)));
  }

  override async runNow(handles: readonly T.JobId[], call?: Call): Promise<number> {
    return sum(await this.ways.jobs(handles, call, (cell, ids, own) => cell.engine.runNow(ids, own)));
  }

  override async stageRelease(queue: string, stage: string, note: T.DecisionNote = {}, call?: Call): Promise<number> {
    return sum(
      await this.ways.everywhere(queue, call, (cell, own) => cell.engine.stageRelease(queue, stage, note, own)),
    );
  }

  override async stageCancel(queue: string, stage: string, note: T.DecisionNote = {}, call?: Call): Promise<number> {
    return sum(
      await this.ways.everywhere(queue, call, (cell, own) => cell.engine.stageCancel(queue, stage, note, own)),
    );
  }
}
