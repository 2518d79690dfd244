import type { RetryPolicy } from "./options.js";

/** A value JSON can carry. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** A job's id: 64 bits with its creation time inside, always a string in JavaScript. */
export type JobId = string;

/** The one vocabulary of states. */
export type JobState =
  | "delayed"
  | "ready"
  | "running"
  | "suspended"
  | "blocked"
  | "succeeded"
  | "failed"
  | "expired"
  | "cancelled";

/** A job as the view `jobs` shows it. */
export interface JobRecord {
  readonly id: JobId;
  readonly queue: string;
  readonly type: string;
  readonly state: JobState;
  readonly reason: "permanent" | "exhausted" | "lost" | "purged" | null;
  readonly priority: number;
  readonly group: string | null;
  readonly tenant: string | null;
  readonly attempts: number;
  readonly maxAttempts: number;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly runAt: Date;
  readonly expiresAt: Date | null;
  readonly deadline: Date | null;
  readonly lastAttemptAt: Date | null;
  readonly finishedAt: Date | null;
  readonly worker: string | null;
  readonly leaseEndsAt: Date | null;
  readonly leaseEnded: boolean;
  /** When somebody decided that nobody will retry it; see `Engine.discard`. */
  readonly discardedAt: Date | null;
  readonly lastError: JobError | null;
  readonly result: Json;
  readonly attemptTimeoutSeconds: number | null;
  readonly retry: RetryPolicy | null;
  readonly fingerprint: string | null;
  readonly schedule: string | null;
  readonly scheduleSlot: Date | null;
  readonly source: Json;
  readonly headers: Json;
  readonly input: Json;
  readonly payloadSize: number | null;
  readonly contentType: string | null;
  /** The stage it waits in; null when it is in none, or was released. */
  readonly stage: string | null;
  /** How much of its group's turns it takes. */
  readonly cost: number;
  /** The job that has started it. */
  readonly parent: JobId | null;
  /** What it waits for, when it is suspended. The first that comes lets it go on. */
  readonly waits: JobWaits | null;
  /** Since when it is suspended. */
  readonly suspendedAt: Date | null;
  /** What it needs while it runs, so much of each; null when it needs nothing. */
  readonly resources: { readonly [resource: string]: number } | null;
  /** With several cells: the one it is in. */
  readonly cell?: string;
}

/** What a suspended job waits for. */
export interface JobWaits {
  /** The steps that wait. */
  readonly steps: readonly string[];
  /** When a sleep, a timeout or the pause before a step's next try ends. */
  readonly until: Date | null;
  /** Names of signals, each of which would do. */
  readonly signals: readonly string[];
  /** Steps whose children are waited for: how many have not ended (null: nobody has counted yet), of how many. */
  readonly children: readonly { readonly step: string; readonly left: number | null; readonly of: number }[];
  /** Of a job of a flow that has not begun: how many of the jobs that it waits for have not ended, and of how many. */
  readonly after: {
    readonly left: number;
    readonly of: number;
    readonly when: "succeeded" | "failed" | "ended";
  } | null;
}

/** A finished attempt as the view `attempts` shows it. */
export interface AttemptRecord {
  readonly jobId: JobId;
  readonly attempt: number;
  readonly outcome: "succeeded" | "failed" | "lost" | "expired" | "cancelled";
  readonly finalState: JobState | null;
  readonly reason: string | null;
  readonly worker: string | null;
  readonly startedAt: Date;
  readonly finishedAt: Date;
  readonly error: JobError | null;
  readonly result: Json;
  /** What its handler noted, each line with its time. */
  readonly log: readonly string[] | null;
}

/** A job with its finished attempts and its latest progress. */
export interface JobDetails {
  readonly job: JobRecord;
  readonly attempts: readonly AttemptRecord[];
  readonly progress: Json;
}

/** How a job ended. */
export interface JobOutcome {
  readonly id: JobId;
  readonly state: "succeeded" | "failed" | "expired" | "cancelled" | "unknown";
  readonly reason: string | null;
  readonly result: Json;
  readonly error: JobError | null;
}

/** What an attempt died of; anything JSON can carry beside the message. */
export interface JobError {
  readonly message: string;
  readonly stack?: string;
  readonly name?: string;
  readonly code?: string;
  readonly [key: string]: Json | undefined;
}
