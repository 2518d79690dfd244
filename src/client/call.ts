import { checkObject } from "../db/check-options.js";
import { checkId, checkKeys } from "../db/encode.js";
import type { Transaction } from "../db/foreign.js";
import type { DecisionNote, Enqueued, JobId } from "../db/types.js";

/** In which transaction a call happens. */
export interface TxOptions {
  /** The transaction to use, and only it. Default: the call commits by itself. */
  readonly tx?: Transaction;
}

/** The transaction of a call. An option nobody knows is refused: a misspelt `tx` would commit by itself. */
export function callOf(
  options: { readonly tx?: Transaction | undefined },
  others: readonly string[] = [],
): { tx: Transaction } | undefined {
  checkKeys(options, new Set(["tx", ...others]));
  return options.tx === undefined ? undefined : { tx: options.tx };
}

/** Who decided it, and why, where they were given. */
export function noteOf(note: DecisionNote): DecisionNote {
  checkObject(note, "options");
  const { by, because } = note;
  return { ...(by === undefined ? {} : { by }), ...(because === undefined ? {} : { because }) };
}

/** A job by its id, or as an enqueue answered it. */
export const idOf = (job: JobId | Pick<Enqueued, "id">): JobId =>
  checkId(typeof job === "object" && job !== null ? job.id : job);

/** So many jobs go into one statement. */
export const batchSize = 1000;
