import type { JobId, Json } from "./job.js";
import type { Defaults, Rate } from "./options.js";

/** What code knows of a type: its definition. */
export interface DeclaredType {
  readonly type: string;
  /** Of the input. Default 1. */
  readonly version?: number;
  readonly queue?: string;
  readonly defaults: Defaults;
  /** JSON Schema of the input. Default none. */
  readonly inputSchema?: unknown;
}

/** What workers have declared of a type. */
export interface DefinitionRecord {
  readonly type: string;
  readonly version: number;
  readonly queue: string | null;
  /** Defaults of its jobs, beside the queue; in seconds, as SQL has them. */
  readonly defaults: Defaults;
  readonly inputSchema: Json;
  readonly declaredBy: string | null;
  readonly declaredAt: Date;
}

/** A queue as the view `queues` shows it. */
export interface QueueRecord {
  readonly name: string;
  /** `finished`, `paused`, `waiting` for other queues, `closed` for new jobs, or `active`: the first that holds. */
  readonly state: QueueState;
  readonly options: Json;
  readonly pausedAt: Date | null;
  readonly pausedBy: string | null;
  readonly pausedBecause: string | null;
  readonly createdAt: Date;
  /** What could start as far as its time goes: ready and blocked together. */
  readonly waiting: number;
  /** Of the waiting ones, those that nothing holds but limits and rates. */
  readonly ready: number;
  /** Of the waiting ones, those behind a pause, an open breaker, or a queue that this one waits for. */
  readonly blocked: number;
  /** Staged ones among them. */
  readonly delayed: number;
  readonly running: number;
  readonly staged: number;
  /** How many of the delayed ones are suspended: they have begun, and wait for something. */
  readonly suspended: number;
  /** The queues it waits for: those of `waitsFor` that have not finished. */
  readonly waitsFor: readonly string[];
  readonly closedAt: Date | null;
  readonly closedBy: string | null;
  readonly closedBecause: string | null;
  readonly finishedAt: Date | null;
  /** With several cells: those that have something of it. */
  readonly cell?: string;
}

/** The states of a queue. */
export type QueueState = "active" | "paused" | "waiting" | "closed" | "finished" | "moved";

/** What can happen to a queue; see docs/queue-states.md. */
export const queueEventNames = [
  "paused",
  "resumed",
  "closed",
  "opened",
  "finished",
  "released",
  "stageReleased",
  "stageCancelled",
  "recounted",
  "moved",
  "drained",
  "arriving",
  "arrived",
] as const;

/** Something that happened to a queue. */
export interface QueueEvent {
  readonly at: Date;
  readonly queue: string;
  readonly event: (typeof queueEventNames)[number];
  /** Who did it; `millrace` when nobody did. */
  readonly by?: string;
  readonly because?: string;
  /** The part of the queue that was paused or resumed. */
  readonly type?: string;
  readonly group?: string;
  /** The job whose failure paused the queue. */
  readonly jobId?: JobId;
  readonly stage?: string;
  /** How many jobs were released or cancelled with their stage. */
  readonly jobs?: number;
  /** With several cells: the one it is in. */
  readonly cell?: string;
}

/** A stage of a queue that holds jobs, as the view `stages` shows it. */
export interface StageRecord {
  readonly queue: string;
  readonly stage: string;
  readonly jobs: number;
  /** When the oldest of them was enqueued. */
  readonly since: Date;
  /** With several cells: the one it is in. */
  readonly cell?: string;
}

/** Where a purge in steps goes on: what the step before has answered. Nothing begins one. */
export interface PurgeStep {
  /** The time of the first step. What is enqueued after it stays. */
  readonly before?: string;
  /** The number of a transaction: those below it had ended by then. */
  readonly since?: string;
  /** The last lane that is done. */
  readonly after?: string;
}

/** How many jobs a step has dropped, and what to ask for next: null when that was all. */
export interface PurgeStepped {
  readonly jobs: number;
  readonly next: PurgeStep | null;
}

/** A part of a queue: a type, a group, or a group's jobs of a type. */
export interface QueuePart {
  readonly type?: string;
  readonly group?: string;
}

/** Something that is paused, as the view `pauses` shows it; without a type and a group, a whole queue. */
export interface PauseRecord {
  readonly queue: string;
  readonly type: string | null;
  readonly group: string | null;
  readonly pausedAt: Date;
  readonly pausedBy: string | null;
  readonly pausedBecause: string | null;
  /** The job whose failure paused the queue; see `onFailure`. */
  readonly jobId: JobId | null;
  /** With several cells: the one it is in. */
  readonly cell?: string;
}

/** A group that something was set for, as the view `groups` shows it. */
export interface GroupRecord {
  readonly queue: string;
  readonly group: string;
  readonly weight: number;
  readonly maxRunning: number | null;
  readonly rate: Rate | null;
}

/** A limit that was set, as the view `limits` shows it. */
export interface LimitRecord {
  readonly kind: "queue" | "each group" | "group" | "type" | "resource";
  readonly queue: string | null;
  /** Of the group, the type or the resource. */
  readonly name: string | null;
  readonly maxRunning: number | null;
  readonly rate: Rate | null;
  /** Jobs, or units of a resource. Null for groups. */
  readonly inUse: number | null;
  /** With several cells: the one that it holds in. */
  readonly cell?: string;
}

/** How much a queue holds. */
export interface Depth {
  readonly ready: number;
  readonly blocked: number;
  readonly delayed: number;
  readonly running: number;
  /** How many of the delayed ones are staged. */
  readonly staged: number;
  readonly oldestReadyAt: Date | null;
  readonly oldestAgeSeconds: number | null;
}

/** What one group has in all queues together. */
export interface CellGroup {
  readonly group: string;
  /** Where it has jobs. */
  readonly queues: readonly string[];
  /** Ready or blocked. */
  readonly waiting: number;
  readonly ready: number;
  /** What a pause, a breaker, or a queue that its queue waits for holds back. */
  readonly blocked: number;
  readonly delayed: number;
  readonly running: number;
  /** For how long the oldest waiting one could have run; null when none waits. */
  readonly oldestAgeSeconds: number | null;
  /** So much waits that all but `running` was estimated from a sample. */
  readonly estimated: boolean;
}

/** What one group has in a queue. */
export interface GroupDepth {
  /** Null for jobs without a group. */
  readonly group: string | null;
  /** Ready or blocked. */
  readonly waiting: number;
  readonly ready: number;
  /** What a pause, a breaker, or a queue that its queue waits for holds back. */
  readonly blocked: number;
  readonly delayed: number;
  readonly running: number;
  /** For how long the oldest waiting one could have run; null when none waits. */
  readonly oldestAgeSeconds: number | null;
  /** Its part of all that waits in the queue, from 0 to 1. */
  readonly share: number;
  /** So much waits that `waiting`, `delayed` and `share` were estimated from a sample. */
  readonly estimated: boolean;
}

/** What one type has in a queue. */
export interface TypeDepth {
  readonly type: string;
  /** Ready or blocked. */
  readonly waiting: number;
  readonly ready: number;
  /** What a pause, a breaker, or a queue that its queue waits for holds back. */
  readonly blocked: number;
  readonly delayed: number;
  readonly running: number;
  /** For how long the oldest ready one could have run; null when none is ready. */
  readonly oldestAgeSeconds: number | null;
}
