import type { Held } from "./claim.js";
import type { JobError, JobId, JobState, Json } from "./job.js";
import type { StepKind } from "./steps.js";

/** Something that a run has done, was sent, or waits for, as people look at it. */
export interface JobStep {
  /** Rises with time within a job. */
  readonly id: string;
  /** The step: its name, with a number when the name is used again. Of a signal: its name. */
  readonly key: string;
  readonly kind: StepKind;
  /** Which try, child or signal it is. */
  readonly n: string | null;
  /** When it was noted. */
  readonly at: Date;
  /** When a sleep or a wait ends, or the next try begins. */
  readonly until: Date | null;
  /** How long a step took. */
  readonly seconds: number | null;
  /** How often it was tried until then. */
  readonly tries: number | null;
  /** Of a child its state, of a signal its id, of a signal that was got the step that waited. */
  readonly about: string | null;
  /** The child that has ended. */
  readonly other: JobId | null;
  /** How many children were started. */
  readonly children: number | null;
  /** What a step gave, a child returned, or a signal said; null also when it is longer than was asked for. */
  readonly value: Json;
  /** How long the value is, as JSON. Null when there is none. */
  readonly valueBytes: number | null;
  /** What a step, a try of it or a child failed with. */
  readonly error: JobError | null;
}

/** Which steps of a run to look at. */
export interface JobStepsFilter {
  /** Only of this step, or signals of this name. Default all. */
  readonly key?: string;
  /** Go on after this one: the id of the last that was seen. Default from the beginning. */
  readonly after?: string;
  /** How many, up to 10,000. Default 100. */
  readonly limit?: number;
  /** Values that are longer are left out. Default 1 MiB, which is as long as they get. */
  readonly valueBytes?: number;
  /** The newest first. Default false. */
  readonly newest?: boolean;
}

/** A job that another one has started. What is not there any more has no queue, type, state and times. */
export interface ChildRecord {
  readonly id: JobId;
  /** The step that started it. */
  readonly step: string;
  readonly queue: string | null;
  readonly type: string | null;
  readonly state: JobState | null;
  readonly createdAt: Date | null;
  readonly finishedAt: Date | null;
  /** It goes on when its parent ends without success. */
  readonly detached: boolean;
}

/** What a running job has logged lately, for whoever follows it. */
export interface RunningLog extends Held {
  readonly lines: readonly string[];
}

/** The newest lines that a job has logged. */
export interface JobLog {
  /** It runs, and more may come; else they are those of its last attempt. */
  readonly isRunning: boolean;
  /** Each begins with its time. */
  readonly lines: readonly string[];
  /** When they were told; null when there are none. */
  readonly updatedAt: Date | null;
}
