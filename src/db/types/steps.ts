import type { JobError, JobId, Json } from "./job.js";

/**
 * What a run remembers: a step that is `done`, a failed `try` of one, when a sleep or a wait is `due`, a signal that it
 * `got`, children that were `started`, one of them that has `ended`, a `signal` that was sent, a `rewind`.
 */
export type StepKind = "done" | "try" | "due" | "got" | "started" | "ended" | "signal" | "rewind";

/** One thing that a run remembers. */
export interface StepRecord {
  /** The step: its name, with a number when the name is used again. Of a signal: its name. */
  readonly key: string;
  readonly kind: StepKind;
  /** When it was noted. */
  readonly at: Date;
  /** Which try, child or signal it is. */
  readonly n?: string;
  /** What a step gave, a child returned, or a signal said. */
  readonly value?: Json;
  /** What a step, a try of it or a child failed with. */
  readonly error?: JobError;
  /** When a sleep or a wait ends, or the next try begins. */
  readonly until?: Date;
  /** How long a step took. */
  readonly seconds?: number;
  /** Of a child its state, of a signal its id, of a signal that was got the step that waited. */
  readonly about?: string;
  /** The child that has ended. */
  readonly other?: JobId;
  /** The children that were started. */
  readonly jobs?: readonly JobId[];
}

/** What a callback token has told, and whom. */
export interface Answered {
  readonly job: JobId;
  /** The name of the signal. */
  readonly name: string;
}

/** A step as a worker tells of it. */
export interface NewStep {
  readonly key: string;
  readonly kind: "done" | "try" | "due" | "got";
  readonly n?: number | string;
  /** Its value, as JSON text. Absent: undefined. */
  readonly json?: string;
  readonly error?: JobError;
  readonly ms?: number;
  readonly about?: string;
  /** How long until it is due, or tried again. */
  readonly seconds?: number;
  /** Or the time itself. */
  readonly until?: string;
}

/** Something that a suspended job waits for. */
export interface Wait {
  /** The step that waits. */
  readonly key: string;
  /** From now, by the database's clock. */
  readonly seconds?: number;
  /** What an earlier wait for the same has noted. */
  readonly until?: string;
  /** The first signal of one of these names. */
  readonly signals?: readonly string[];
  /** The end of as many children of that step. */
  readonly children?: number;
  /** It waits for its next try, which was noted as such. */
  readonly retry?: boolean;
}

/** Steps of one run. */
export interface RunSteps {
  readonly token: string;
  readonly job: JobId;
  readonly steps: readonly NewStep[];
}

/** What a run remembers, and how many bytes of JSON that was. */
export interface RunRead {
  readonly records: readonly StepRecord[];
  readonly bytes: number;
}
