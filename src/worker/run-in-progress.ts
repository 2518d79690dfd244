import { AsyncLocalStorage } from "node:async_hooks";
import type { ClaimedJob } from "../db/types.js";

/** What is known of a run to code that it has called. Apart from the run, so that producers need not load that. */
export interface RunInProgress {
  /** Jobs of it that have no outcome yet. */
  readonly openJobs: readonly ClaimedJob[];
  fail(error: unknown): void;
}

/** Set in a handler's own thread or process, where all that is done is a handler's. */
const hostMark = Symbol.for("millrace.host");

/** Whether a handler has called this. */
export const isInHandler = (): boolean => runInProgress.getStore() !== undefined || Reflect.has(globalThis, hostMark);

/** Which run a call comes from, and whose an error is that was thrown by a timer or an unheard promise. */
export const runInProgress = new AsyncLocalStorage<RunInProgress>();
