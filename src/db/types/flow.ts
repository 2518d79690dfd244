import type { EnqueueOptions } from "./enqueue.js";
import type { JobId, JobState, Json } from "./job.js";

/** When a job of a flow begins: all that it waited for has succeeded, some of it has not, or all has ended somehow. */
export type FlowWhen = "succeeded" | "failed" | "ended";

/** A job of a flow. */
export interface NewFlowJob {
  readonly type: string;
  readonly input?: unknown;
  readonly options?: Omit<EnqueueOptions, "payload">;
  /** What it waits for: places of jobs before it in the list, counted from 0, or ids of jobs that are there. */
  readonly after?: readonly (number | JobId)[];
  /** Default `succeeded`. */
  readonly when?: FlowWhen;
}

/** The flow: a new one, with a name and a queue, or one to add to. */
export interface FlowTarget {
  readonly name?: string;
  readonly queue?: string;
  readonly flow?: JobId;
}

/** What was stored. */
export interface EnqueuedFlow {
  /** The flow itself, which is a job that ends with the last of its jobs. */
  readonly id: JobId;
  /** Its jobs, in the order in which they were given. */
  readonly jobs: readonly JobId[];
}

/** A flow as a graph. */
export interface FlowGraph {
  readonly id: JobId;
  readonly name: string | null;
  readonly state: JobState;
  readonly createdAt: Date;
  readonly finishedAt: Date | null;
  /** How many jobs it has; `jobs` may be fewer. */
  readonly total: number;
  readonly jobs: readonly {
    readonly id: JobId;
    readonly type: string;
    readonly queue: string;
    readonly state: JobState;
    /** What it waits for: jobs of the flow, and of `others`. */
    readonly after: readonly JobId[];
    /** How that has to end for it to begin. */
    readonly when: FlowWhen;
  }[];
  /** Jobs outside of the flow that its jobs wait for. */
  readonly others: readonly {
    readonly id: JobId;
    /** Null of one that is no longer known. */
    readonly type: string | null;
    readonly queue: string | null;
    readonly state: JobState | null;
    /** The flow that it is a job of. */
    readonly flow: JobId | null;
  }[];
}

/** A job that was waited for, and how it has ended. */
export interface WaitedJob {
  readonly id: JobId;
  readonly type: string;
  readonly state: string;
  readonly result: Json;
  readonly error: Json;
}
