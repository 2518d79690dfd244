/** What travels between the server and the page: the client's own records, as JSON writes them. */
import type {
  AttemptRecord,
  BreakerRecord,
  DecisionRecord,
  Depth,
  FailureGroup,
  GroupDepth,
  GroupRecord,
  JobRecord,
  Json,
  LimitRecord,
  PauseRecord,
  QueueEvent,
  QueueRecord,
  QueueState,
  StageRecord,
  TypeDepth,
} from "../src/db/types.js";
import type { ScheduleEvent, ScheduleRecord, ScheduleRunRecord } from "../src/db/schedule-engine.js";

export type { JobError, JobState, Json, QueueState, Rate } from "../src/db/types.js";

/** A record after its way through JSON: dates are texts. */
type Wire<T> = Json extends T
  ? T
  : T extends Date
    ? string
    : T extends readonly (infer Item)[]
      ? readonly Wire<Item>[]
      : T extends object
        ? { readonly [Key in keyof T]: Wire<T[Key]> }
        : T;

export type Job = Wire<Omit<JobRecord, "maxAttempts">> & { readonly maxAttempts: number | "unlimited" };
export type Attempt = Wire<AttemptRecord>;
export type Decision = Wire<DecisionRecord>;
export type Failure = Wire<FailureGroup>;
export type Breaker = Wire<BreakerRecord>;
export type Limit = Wire<LimitRecord>;
export type Pause = Wire<PauseRecord>;
export type Stage = Wire<StageRecord>;
export type Group = Wire<GroupDepth> & Partial<Wire<GroupRecord>>;
export type TypeOfQueue = Wire<TypeDepth>;
export type EventOfQueue = Wire<QueueEvent>;
export type Queue = Wire<QueueRecord> & { readonly depth?: Wire<Depth>; readonly pauses: readonly Pause[] };
export type Schedule = Wire<ScheduleRecord>;
export type ScheduleRun = Wire<ScheduleRunRecord>;
export type EventOfSchedule = Wire<ScheduleEvent>;

/** A page of a list, and where the next one begins. */
export interface List<T> {
  readonly items: readonly T[];
  readonly next?: string;
}

export type Role = "reader" | "producer" | "worker" | "admin";

export interface Session {
  readonly name: string;
  readonly role: Role;
  readonly version: string;
  readonly schema: string;
  /** No tokens are configured: everybody on this machine may do everything. */
  readonly isOpen: boolean;
}

/** All queues at one moment; rates are per second, null while nothing is known. */
export interface Overview {
  readonly at: string;
  readonly queues: number;
  readonly ready: number;
  readonly delayed: number;
  readonly running: number;
  readonly failedLastHour: number;
  readonly oldestReadySeconds: number | null;
  readonly rates: { readonly enqueuedPerSecond: number | null; readonly finishedPerSecond: number | null; readonly failedPerSecond: number | null };
  readonly latency: { readonly p50: number | null; readonly p95: number | null };
  readonly workers: number;
  readonly warnings: number;
}

/** One queue at one moment. */
export interface QueueSample {
  readonly queue: string;
  readonly state: QueueState;
  readonly ready: number;
  readonly delayed: number;
  readonly running: number;
  readonly oldestReadySeconds: number | null;
  readonly in: number | null;
  readonly out: number | null;
  readonly failed: number | null;
}

/** What the live stream tells. */
export interface Sample {
  readonly overview: Overview;
  readonly queues: readonly QueueSample[];
}

export interface Point extends Omit<QueueSample, "queue" | "state"> {
  /** Milliseconds, for charts. */
  readonly at: number;
  readonly p50: number | null;
  readonly p95: number | null;
}

export interface History {
  readonly step: number;
  readonly points: readonly (Omit<Point, "at"> & { readonly at: string })[];
}

export interface JobDetails {
  readonly job: Job;
  readonly attempts: readonly Attempt[];
  readonly progress: Json;
  readonly decisions: readonly Decision[];
}

export interface RunningJob {
  readonly id: string;
  readonly queue: string;
  readonly type: string;
  readonly priority: number;
  readonly attempt: number;
  readonly worker: string | null;
  readonly startedAt: string;
  readonly elapsedSeconds: number;
  readonly leaseEndsAt: string;
  /** False while it waits in its worker. */
  readonly isStarted: boolean;
  readonly progress: Json;
}

export interface Worker {
  readonly name: string | null;
  readonly host: string | null;
  readonly held: number;
  readonly running: number;
  readonly types: readonly string[];
  readonly queues: readonly string[];
  readonly since: string;
}

export interface Finding {
  readonly name: string;
  readonly state: "ok" | "wrong" | "skipped";
  readonly message: string;
  readonly remedy?: string;
}

export interface AuditEntry {
  readonly id: string;
  readonly at: string;
  readonly who: string;
  readonly action: string;
  readonly object: string;
  /** `done`, or the code of the error. */
  readonly result: string;
  readonly count?: number | null;
  readonly address?: string | null;
  readonly requestId?: string | null;
}

/** How many jobs an act would touch. */
export interface Touch {
  readonly count: number;
  readonly isExact: boolean;
}
