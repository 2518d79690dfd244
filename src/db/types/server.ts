import type { JobId, Json } from "./job.js";
import type { QueueState } from "./queue.js";

/** A job that somebody holds, as the view `claims` shows it. */
export interface RunningJob {
  readonly id: JobId;
  readonly queue: string;
  readonly type: string;
  readonly priority: number;
  readonly attempt: number;
  readonly worker: string | null;
  /** When it was claimed. */
  readonly startedAt: Date;
  readonly elapsedSeconds: number;
  readonly leaseEndsAt: Date;
  /** False while it waits in its worker; see `ClaimOptions.trackStart`. */
  readonly isStarted: boolean;
  readonly progress: Json;
  /** With several cells: the one it is in. */
  readonly cell?: string;
}

/** Somebody who holds jobs. Workers that hold none are not known to the database. */
export interface WorkerRecord {
  /** As it calls itself: by default the name of its host and its process id. Null for claims without a name. */
  readonly name: string | null;
  readonly held: number;
  /** Of those held, how many have started. */
  readonly running: number;
  readonly types: readonly string[];
  readonly queues: readonly string[];
  /** The oldest of its claims. */
  readonly since: Date;
  /** With several cells: the one it is in. */
  readonly cell?: string;
}

/** A worker of a process, as the process declares it. */
export interface DeclaredWorker {
  readonly name: string;
  readonly queues: readonly string[];
  /** The types it has handlers for; null when there are too many to tell, which stands for any. */
  readonly types: readonly string[] | null;
  readonly concurrency: number;
  /** Handlers that run. Absent while a process of several workers has not told it, as one of an older release. */
  readonly running?: number;
  /**
   * It takes no jobs, as it was ordered: `draining` while handlers run, then `drained`. Absent when it takes jobs, or
   * has not heard of the order yet.
   */
  readonly held?: "paused" | "draining" | "drained";
}

/**
 * Which workers an order is for: those of a process (its id, as `mill.workers.list()` tells it), those of a name
 * (`worker`) in all processes, or those of a name in one process. One of the two is needed.
 */
export type WorkerTarget =
  | { readonly process: string; readonly worker?: string }
  | { readonly process?: string; readonly worker: string };

/** What somebody ordered workers to do. */
export interface WorkerOrder {
  /** The process it is for; null for all. */
  readonly process: string | null;
  /** The name it is for; null for all workers of the process. */
  readonly worker: string | null;
  /** To take no jobs; null when it says nothing of that. */
  readonly hold: "pause" | "drain" | null;
  /** So many handlers at once; null when it says nothing of that. */
  readonly concurrency: number | null;
  readonly at: Date;
  readonly by: string | null;
  readonly because: string | null;
}

/** What a worker has to obey, of all orders that name it: the closest. */
export interface ObeyedOrder {
  readonly worker: string;
  readonly hold: "pause" | "drain" | null;
  readonly concurrency: number | null;
  /** Who ordered it, and why, where that was said. */
  readonly by: string | null;
  readonly because: string | null;
}

/** What a process that runs workers tells of itself. */
export interface ProcessFacts {
  readonly host: string;
  readonly pid: number;
  /** The release of the application (option of `new Millrace`); null when it has not said. */
  readonly release: string | null;
  readonly workers: readonly DeclaredWorker[];
}

/** How a process does. */
export interface ProcessState {
  /** Handlers that run, of all its workers. */
  readonly running: number;
  readonly memoryBytes: number;
  /** For how long its event loop has stood still. */
  readonly stalledSeconds: number;
}

/** A process that runs workers, written by its heartbeat. */
export interface ProcessRecord extends ProcessFacts, ProcessState {
  readonly id: string;
  /** `lost` when its heartbeat is late, `stalled` when its event loop stands still. */
  readonly state: "idle" | "busy" | "stalled" | "lost";
  /** What its workers were ordered to do, the closest order first. */
  readonly orders: readonly WorkerOrder[];
  readonly startedAt: Date;
  readonly seenAt: Date;
  /** When its next heartbeat is there at the latest. */
  readonly expectedAt: Date;
  /** With several cells: the one that it told. */
  readonly cell?: string;
}

/** A type of which something is ready, and that no worker takes. */
export interface UnhandledType {
  readonly queue: string;
  readonly type: string;
  readonly waiting: number;
  /** Since when the oldest waits; null when no claim and no upkeep has met it. */
  readonly oldestReadyAt: Date | null;
  readonly oldestAgeSeconds: number | null;
  /** With several cells: the one it is in. */
  readonly cell?: string;
}

/** What a sample is to tell beside counts. */
export interface LiveSampleOptions {
  /** What was enqueued and ended since then, which is the `to` of an earlier sample. Default nothing of it. */
  readonly from?: Date;
  /** The `ends` of a sample that was taken before `from`. Default only the last pages of the logs are read. */
  readonly ends?: readonly number[];
  /** Since when the oldest ready jobs wait. Default true. */
  readonly ages?: boolean;
  /** How often jobs failed for good within the last hour. Default true. */
  readonly failures?: boolean;
}

/** All queues at one moment, and what happened to them since another; see `Engine.liveSample`. */
export interface LiveSample {
  readonly now: Date;
  /** The time that `made` and `ended` are about; `from` is null when no time was given. `to` is for the next call. */
  readonly from: Date | null;
  readonly to: Date;
  /** Where the logs end: for a later call. */
  readonly ends: readonly number[];
  /** Jobs enqueued, by queue; null when no time was given. */
  readonly made: { readonly [queue: string]: number } | null;
  /** What ended, by queue; `""` is all of them. Null when no time was given. */
  readonly ended: {
    readonly [queue: string]: {
      readonly ended: number;
      /** Attempts that failed, whatever became of the job. */
      readonly failed: number;
      /** Jobs that failed for good, those that were seen; all of them unless `isSample`. */
      readonly failedJobs: number;
      readonly isSample: boolean;
      readonly p50: number | null;
      readonly p95: number | null;
    };
  } | null;
  /** How often jobs failed for good in the hour before `to`, whatever was decided on them since. */
  readonly failedLastHour: {
    readonly count: number;
    /** False when at least so many: older jobs were not looked at. */
    readonly isExact: boolean;
  } | null;
  /** Workers of processes whose heartbeat is not late, idle ones too. */
  readonly workers: number;
  /** Who holds jobs, by the names of their claims. */
  readonly holders: number;
  /** Alerts that fire and are not silenced. */
  readonly alerts: number;
  readonly queues: readonly {
    readonly queue: string;
    readonly state: QueueState;
    readonly waiting: number;
    /** Of the waiting ones. */
    readonly blocked: number;
    readonly delayed: number;
    readonly suspended: number;
    readonly running: number;
    readonly oldestReadyAt: Date | null;
    /** It is where jobs of another queue or type, or of all, go when they fail for good. */
    readonly deadLetters: boolean;
  }[];
}

/** Something that was done through the server, as the view `audits` shows it. */
export interface AuditRecord {
  readonly id: string;
  readonly at: Date;
  /** The name of the token. */
  readonly who: string;
  /** The route, such as `POST /queues/{queue}/pause`. */
  readonly action: string;
  readonly object: string;
  /** `done`, or the code of the error. */
  readonly result: string;
  /** How many jobs it touched, where that is known. */
  readonly count?: number | null;
  readonly address?: string | null;
  readonly requestId?: string | null;
  readonly because?: string | null;
  /** Of settings, those that it has changed. */
  readonly before?: Json;
  readonly after?: Json;
  /** With several cells: the one it is in. */
  readonly cell?: string;
}

/** Which entries of the audit. */
export interface AuditFilter {
  readonly before?: string;
  readonly limit?: number;
  readonly who?: string;
  /** A part of the route, whatever the case. */
  readonly action?: string;
  /** A part of the name of what it was done to, or of the reason. */
  readonly object?: string;
  readonly result?: "done" | "refused";
  readonly since?: Date;
  readonly until?: Date;
}

/**
 * Something that has settings: its kind and its name; of a group, its queue and its name; of orders to workers, the
 * process and the worker, empty for any.
 */
export type SettingsName = readonly [
  kind: "queue" | "group" | "type" | "resource" | "schedule" | "calendar" | "alertRule" | "hook" | "worker",
  name: string,
  part?: string,
];
