import type { ClaimedJob, Wait } from "../db/types.js";
import type { ChildOptions } from "./step.js";

/** What a step does here and now: its work, children that it starts, or what undoes it. */
export type StepWork = "run" | "transaction" | "start" | "undo";

/** One try of a step. */
export interface StepTry {
  /** Its name, with a number when the name was used before. */
  readonly step: string;
  readonly kind: StepWork;
  /** Which try it is, from 1 on. */
  readonly attempt: number;
}

/** How a try of a step ended. `retried`: another one follows, by the step's own retries. */
export interface StepEnd extends StepTry {
  readonly outcome: "done" | "failed" | "retried";
  readonly durationSeconds: number;
  readonly error?: unknown;
}

/** Who is told what the steps of runs do. Without one nothing is measured, and nothing is paid. */
export interface StepObserver {
  /** Do the work of a try, and tell how long it takes. */
  during<T>(job: ClaimedJob, one: StepTry, work: () => T | PromiseLike<T>): T | PromiseLike<T>;
  /** It has ended, and that is stored. */
  onEnd(job: ClaimedJob, end: StepEnd): void;
  /** The run remembers what it did before: this call of its handler is not the first. */
  onResumed(job: ClaimedJob): void;
  /** The run is given back, and waits for the first of these. */
  onSuspended(job: ClaimedJob, waits: readonly Wait[]): void;
  /** Options of children, with the trace that they belong to. */
  traced(options: ChildOptions): ChildOptions;
}
