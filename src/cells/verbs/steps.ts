import { unknownToken } from "../../db/encode.js";
import type { CallOptions } from "../../db/foreign.js";
import type * as T from "../../db/types.js";
import { actMs, atMost, isAway } from "../ask.js";
import { CellsTransaction } from "../transaction.js";
import { withHandles } from "../ways.js";
import { CellsAccessVerbs } from "./access.js";
import type { Call } from "./verbs.js";

/** What runs wait for, and what they are told. Their steps are noted in one cell, by its worker. */
export abstract class CellsStepVerbs extends CellsAccessVerbs {
  /** The token does not tell its cell. In the caller's transaction it must be one of that database's cell. */
  override async answer(token: string, value?: unknown, call?: Call): Promise<T.Answered> {
    let away: unknown;
    for (const cell of await this.ways.mayKnow(call)) {
      try {
        const answered = await atMost(actMs, () =>
          this.ways.to(cell, call, async (at, own) => {
            const told = await at.engine.answerOurs(token, value, own);
            return told && withHandles(at, told, "job");
          }),
        );
        if (answered) return answered;
      } catch (error) {
        if (!isAway(error)) throw error; // it was given out there
        // what it has done there is gone
        if (call?.tx instanceof CellsTransaction && call.tx.hasBegunIn(cell)) throw error;
        away ??= error; // another one may have given it out
      }
    }
    throw away ?? unknownToken();
  }

  override async tell(
    handle: T.JobId,
    name: string,
    value?: unknown,
    call: CallOptions & { readonly id?: string } = {},
  ): Promise<boolean> {
    return this.ways.job(handle, call, (cell, id, own) => cell.engine.tell(id, name, value, own));
  }

  override async rewind(handle: T.JobId, to: string, call: CallOptions & T.DecisionNote = {}): Promise<string> {
    return this.ways.job(handle, call, (cell, id, own) => cell.engine.rewind(id, to, own));
  }

  override async rewindMany(
    handles: readonly T.JobId[],
    to: string,
    call: CallOptions & T.DecisionNote & { readonly dryRun?: boolean } = {},
  ): Promise<{ readonly count: number; readonly queues: readonly string[] }> {
    const done = await this.ways.jobs(handles, call, (cell, ids, own) => cell.engine.rewindMany(ids, to, own));
    return {
      count: done.reduce((total, { answer }) => total + answer.count, 0),
      queues: [...new Set(done.flatMap(({ answer }) => answer.queues))],
    };
  }

  override async noticesDeliver(): Promise<{ notices: number; resumed: number }> {
    // signals of the other cells are waited for by somebody
    const all = (await this.ways.eachThatIsThere((cell) => cell.engine.noticesDeliver())).map(({ answer }) => answer);
    return {
      notices: all.reduce((total, { notices }) => total + notices, 0),
      resumed: all.reduce((total, { resumed }) => total + resumed, 0),
    };
  }
}
