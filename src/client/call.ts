import { checkObject } from "../db/check-options.js";
import { checkIdOrHandle, checkKeys } from "../db/encode.js";
import { InvalidArgumentError } from "../db/errors.js";
import type { Transaction } from "../db/foreign.js";
import type { DecisionNote, Enqueued, JobId } from "../db/types.js";

/** In which transaction a call happens. */
export interface TxOptions {
  /** The transaction to use, and only it. Default: the call commits by itself. */
  readonly tx?: Transaction;
  /**
   * On Citus: an anchor of the tenant (`millrace cells anchor`), as `schema.table`. The call is done in the cell of the
   * node that the tenant lives on, in your `tx`. Default: where the connection is.
   */
  readonly near?: string;
}

/** The transaction of a call. An option nobody knows is refused: a misspelt `tx` would commit by itself. */
export function callOf(
  options: { readonly tx?: Transaction | undefined; readonly near?: string | undefined },
  others: readonly string[] = [],
): { tx: Transaction; near?: string } | undefined {
  checkKeys(options, new Set(["tx", "near", ...others]));
  if (options.near !== undefined && options.tx === undefined)
    throw new InvalidArgumentError("near needs a transaction", "give the transaction of the tenant's rows as tx");
  if (options.tx === undefined) return undefined;
  return options.near === undefined ? { tx: options.tx } : { tx: options.tx, near: options.near };
}

/** Who decided it, and why, where they were given. */
export function noteOf(note: DecisionNote): DecisionNote {
  checkObject(note, "options");
  const { by, because } = note;
  return { ...(by === undefined ? {} : { by }), ...(because === undefined ? {} : { because }) };
}

/** A job by its id, or as an enqueue answered it. */
export const idOf = (job: JobId | Pick<Enqueued, "id">): JobId =>
  checkIdOrHandle(typeof job === "object" && job !== null ? job.id : job);

/** So many jobs go into one statement. */
export const batchSize = 1000;
