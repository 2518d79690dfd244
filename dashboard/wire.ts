/** What travels between the server and the page: the client's own records, as JSON writes them. */
import type {
  AlertEvent,
  AlertRecord,
  AlertRuleRecord,
  AttemptRecord,
  AuditRecord,
  BreakerRecord,
  CellGroup,
  ChildRecord,
  DecisionRecord,
  DefinitionRecord,
  Depth,
  FailureGroup,
  FlowGraph as FlowRecord,
  GroupDepth,
  HookRecord,
  GroupRecord,
  JobLog,
  JobRecord,
  JobStep,
  Json,
  LimitRecord,
  PauseRecord,
  ProcessRecord,
  QueueEvent,
  QueueRecord,
  Reason as WhyReason,
  RunningJob as RunningRecord,
  StageRecord,
  TypeDepth,
  UnhandledType,
  WorkerRecord,
} from "../src/db/types.js";
import type { ScheduleEvent, ScheduleRecord, ScheduleRunRecord } from "../src/db/schedule-engine.js";
import type { Role } from "../src/server/auth/roles.js";
import type { Point as LivePoint } from "../src/server/live/history.js";
import type { LiveQueue, Moment } from "../src/server/live/moment.js";

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
export type Definition = Wire<DefinitionRecord>;
export type Failure = Wire<FailureGroup>;
export type Breaker = Wire<BreakerRecord>;
export type Limit = Wire<LimitRecord>;
export type Pause = Wire<PauseRecord>;
export type GroupOverAll = Wire<CellGroup>;
export type Reason = WhyReason;
export type Stage = Wire<StageRecord>;
export type Group = Wire<GroupDepth> & {
  /** What was set for the group itself. */
  readonly settings: Wire<Pick<GroupRecord, "weight" | "maxRunning" | "rate">> | null;
};
export type TypeOfQueue = Wire<TypeDepth>;
export type Unhandled = Wire<UnhandledType>;
export type EventOfQueue = Wire<QueueEvent>;
export type Queue = Wire<QueueRecord> & { readonly depth?: Wire<Depth>; readonly pauses: readonly Pause[] };
export type Schedule = Wire<ScheduleRecord> & { /** The rule in words. */ readonly description: string | null };
export type ScheduleRun = Wire<ScheduleRunRecord>;
export type EventOfSchedule = Wire<ScheduleEvent>;

export type RunningJob = Wire<RunningRecord>;
export type Worker = Wire<WorkerRecord> & { readonly host: string | null };
export type Process = Wire<ProcessRecord>;
export type Alert = Wire<AlertRecord>;
export type AlertRule = Wire<AlertRuleRecord>;
export type EventOfAlert = Wire<AlertEvent>;
export type Hook = Wire<HookRecord>;
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

/** One of several cells, by itself. */
export interface Cell {
  readonly name: string;
  readonly state: "member" | "joining" | "known" | "missing";
  readonly because?: string;
  readonly schemaVersion: number | null;
  readonly schemaState: "current" | "missing" | "older" | "newer" | null;
  readonly workers: number | null;
  readonly overview: Overview | null;
  readonly moves: readonly {
    readonly queue: string;
    readonly direction: "leaving" | "arriving";
    readonly other: string;
    readonly held: boolean;
    readonly jobs: number;
    readonly beganAt: string;
    readonly by: string | null;
  }[];
}

export interface Session {
  /** Names of several cells; none where there is one. */
  readonly cells: readonly string[];
  readonly name: string;
  readonly role: Role;
  readonly version: string;
  readonly schema: string;
  /** No tokens are configured: everybody on this machine may do everything. */
  readonly isOpen: boolean;
  /** An application has mounted the dashboard, and signed its user in. */
  readonly isMounted: boolean;
}

export interface JobDetails {
  readonly job: Job;
  readonly attempts: readonly Attempt[];
  readonly progress: Json;
  readonly decisions: readonly Decision[];
  /** The kind of its last error; jobs with the same failed alike. */
  readonly failure: string | null;
}

/** The newest lines that a job has logged. */
export type Log = Wire<JobLog>;

/** Steps of a run, and what it waits for. */
export type Run = List<Step> & Pick<Job, "state" | "parent" | "waits" | "suspendedAt">;

export interface Finding {
  readonly name: string;
  readonly state: "ok" | "wrong" | "skipped";
  readonly message: string;
  readonly remedy?: string;
  readonly cell?: string;
}

/** A page of a list, and where the next one begins. */
export interface List<T> {
  readonly items: readonly T[];
  readonly next?: string;
}

/** How many jobs an act has touched, or would touch; at least so many, perhaps none yet, where that is not exact. */
export interface Touch {
  readonly count: number;
  readonly isExact: boolean;
  /** The body of the request that goes on. */
  readonly next?: object;
}
