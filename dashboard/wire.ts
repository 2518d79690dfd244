/** What travels between the server and the page: the client's own records, as JSON writes them. */
import type {
  AttemptRecord,
  AuditRecord,
  BreakerRecord,
  ChildRecord,
  DecisionRecord,
  Depth,
  FailureGroup,
  FlowGraph as FlowRecord,
  GroupDepth,
  JobRecord,
  JobStep,
  Json,
  LimitRecord,
  PauseRecord,
  QueueEvent,
  QueueRecord,
  RunningJob as RunningRecord,
  StageRecord,
  TypeDepth,
  WorkerRecord,
} from "../src/db/types.js";
import type { ScheduleEvent, ScheduleRecord, ScheduleRunRecord } from "../src/db/schedule-engine.js";
import type { Role } from "../src/server/auth/roles.js";
import type { Point as LivePoint } from "../src/server/live/history.js";
import type { LiveQueue, Moment } from "../src/server/live/live.js";

export type { JobState, Json, QueueState, Rate } from "../src/db/types.js";

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
export type Step = Wire<JobStep>;
export type Child = Wire<ChildRecord>;
export type FlowGraph = Wire<FlowRecord>;
export type FlowJob = FlowGraph["jobs"][number];
export type Decision = Wire<DecisionRecord>;
export type Failure = Wire<FailureGroup>;
export type Breaker = Wire<BreakerRecord>;
export type Limit = Wire<LimitRecord>;
export type Pause = Wire<PauseRecord>;
export type Stage = Wire<StageRecord>;
export type Group = Wire<GroupDepth>;
export type TypeOfQueue = Wire<TypeDepth>;
export type EventOfQueue = Wire<QueueEvent>;
export type Queue = Wire<QueueRecord> & { readonly depth?: Wire<Depth>; readonly pauses: readonly Pause[] };
export type Schedule = Wire<ScheduleRecord> & { /** The rule in words. */ readonly description: string | null };
export type ScheduleRun = Wire<ScheduleRunRecord>;
export type EventOfSchedule = Wire<ScheduleEvent>;

export type RunningJob = Wire<RunningRecord>;
export type Worker = Wire<WorkerRecord> & { readonly host: string | null };
export type AuditEntry = Wire<AuditRecord>;

/** What the live stream tells: all queues at one moment, and each of them. */
export type Sample = Wire<Moment>;
export type Overview = Sample["overview"];
export type QueueSample = Wire<LiveQueue>;
/** One moment of a chart, in milliseconds. */
export type Point = LivePoint;

export interface History {
  readonly step: number;
  readonly points: readonly (Omit<Point, "at"> & { readonly at: string })[];
}

export interface Session {
  readonly name: string;
  readonly role: Role;
  readonly version: string;
  readonly schema: string;
  /** No tokens are configured: everybody on this machine may do everything. */
  readonly isOpen: boolean;
}

export interface JobDetails {
  readonly job: Job;
  readonly attempts: readonly Attempt[];
  readonly progress: Json;
  readonly decisions: readonly Decision[];
}

/** Steps of a run, and what it waits for. */
export type Run = List<Step> & Pick<Job, "state" | "parent" | "waits" | "suspendedAt">;

export interface Finding {
  readonly name: string;
  readonly state: "ok" | "wrong" | "skipped";
  readonly message: string;
  readonly remedy?: string;
}

/** A page of a list, and where the next one begins. */
export interface List<T> {
  readonly items: readonly T[];
  readonly next?: string;
}

/** How many jobs an act has touched, or would touch. */
export interface Touch {
  readonly count: number;
  readonly isExact: boolean;
}
